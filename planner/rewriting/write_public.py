"""A query over public tables as the text that a database gets."""

from __future__ import annotations

from planner.dialect import Dialect
from planner.public.query import PublicQuery, PublicStatement
from planner.rewriting.dialects.dialect_table import DIALECTS
from planner.rules.read_nan_as_null import read_nan_as_null


def write_public(query: PublicQuery, *, dialect: Dialect = "postgres") -> PublicStatement:
    """The text for a database. Raises: UnsupportedSQL for what the dialect cannot say with the same meaning."""
    tree = read_nan_as_null(query.statement, query.tables)
    text = DIALECTS[dialect].public(tree, query.tables)
    return PublicStatement(text, tuple(kind for _, kind in query.columns), query.fingerprint)
