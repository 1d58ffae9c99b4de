"""The demonstration: TPC-H and a social graph in an embedded PostgreSQL, asked through a real proxy."""
