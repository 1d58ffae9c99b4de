"""Bound columns, `alias.name`: as trees and as pairs."""

from __future__ import annotations

from sqlglot import exp

from planner.sql.trees import children, over_leaves, quoted


def bound_column(alias: str, name: str) -> exp.Column:
    """A bound column as a tree: `"alias"."name"`."""
    return over_leaves(exp.Column, this=quoted(name), table=quoted(alias))


def column_ref(column: exp.Column) -> tuple[str, str]:
    """(alias, name) of a bound column."""
    return column.args["table"].args["this"], column.args["this"].args["this"]


ColumnRef = tuple[str, str]
"""(alias, column)"""


def computed_from(node: exp.Expr) -> list[exp.Column]:
    """The columns that a value is computed from, not those that it only compares: a condition sees what is there.

    >>> from sqlglot import parse_one
    >>> [column.name for column in computed_from(parse_one("CASE WHEN a > 1 THEN floor(b) ELSE c END + d"))]
    ['d', 'c', 'b']
    """
    found = []
    stack = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, exp.Column):
            found.append(part)
        elif isinstance(part, exp.Case):
            stack += [branch.args["true"] for branch in part.args["ifs"]]
            stack += [] if part.args.get("default") is None else [part.args["default"]]
        elif not isinstance(part, (exp.Predicate, exp.Connector, exp.Not)):
            stack += children(part)
    return found
