"""The databases that statements are written for; a mirror is a DuckDB file with the rows of a PostgreSQL."""

from __future__ import annotations

from typing import Literal

Dialect = Literal["postgres", "duckdb", "mirror", "spark"]
