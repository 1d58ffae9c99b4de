"""Bound columns, `alias.name`: as trees and as pairs."""

from __future__ import annotations

from sqlglot import exp

from planner.sql.trees import over_leaves, quoted


def bound_column(alias: str, name: str) -> exp.Column:
    """A bound column as a tree: `"alias"."name"`."""
    return over_leaves(exp.Column, this=quoted(name), table=quoted(alias))


def column_ref(column: exp.Column) -> tuple[str, str]:
    """(alias, name) of a bound column."""
    return column.args["table"].args["this"], column.args["this"].args["this"]


ColumnRef = tuple[str, str]
"""(alias, column)"""
