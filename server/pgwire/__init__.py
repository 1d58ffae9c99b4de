"""The PostgreSQL wire protocol, version 3, for psql, drivers and BI tools."""
