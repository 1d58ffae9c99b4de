"""The PostgreSQL wire protocol, version 3: psql, drivers and BI tools ask as they ask any PostgreSQL."""
