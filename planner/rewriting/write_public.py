"""A query over public tables as the text that a database gets."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sqlglot import exp

from planner.public.query import PublicQuery, PublicStatement
from planner.rewriting.dialects.duckdb_public import duckdb_public_sql
from planner.rewriting.rewrite import to_sql
from planner.sql.dialect import Dialect


def write_public(query: PublicQuery, *, dialect: Dialect = "postgres") -> PublicStatement:
    """The text for a database. Raises: UnsupportedSQL for what the dialect cannot say with the same meaning."""
    write: Callable[[exp.Expr], str] = to_sql
    if dialect == "duckdb":
        write = partial(duckdb_public_sql, tables=query.tables)
    return PublicStatement(write(query.statement), tuple(kind for _, kind in query.columns), query.fingerprint)
