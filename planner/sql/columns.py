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


def summed_column(value: exp.Expr) -> ColumnRef | None:
    """The column whose values, or those of some rows, a value is, with either sign; None where it is anything else.

    So what rows have of the value is at most what they have of the column, in size.

    >>> from sqlglot import parse_one
    >>> [summed_column(parse_one(sql)) and "t.a" for sql in ("t.a", "-t.a", "CASE WHEN t.b > 1 THEN (t.a) END")]
    ['t.a', 't.a', 't.a']
    >>> [summed_column(parse_one(sql)) for sql in ("t.a * 2", "CASE WHEN t.b > 1 THEN t.a ELSE t.b END", "0", "1")]
    [None, None, None, None]
    """
    found = _summed(value)
    return next(iter(found)) if found is not None and len(found) == 1 else None


def _summed(value: exp.Expr) -> set[ColumnRef] | None:
    """The columns among those that a value may be; None where it may be neither one of them, 0 nor NULL."""
    if isinstance(value, exp.Column):
        return {column_ref(value)} if value.args.get("table") is not None else None
    if isinstance(value, exp.Paren | exp.Neg):
        return _summed(value.this)
    if isinstance(value, exp.Null) or (isinstance(value, exp.Literal) and value.this == "0"):
        return set()
    parts: list[exp.Expr] = []
    if isinstance(value, exp.Case):
        parts = [branch.args["true"] for branch in value.args["ifs"]]
        parts += [] if value.args.get("default") is None else [value.args["default"]]
    elif isinstance(value, exp.Coalesce):
        parts = [value.this, *value.expressions]
    found = [_summed(part) for part in parts]
    known = [one for one in found if one is not None]
    return set().union(*known) if parts and len(known) == len(found) else None


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
