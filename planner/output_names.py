"""The names of an answer's columns."""

from __future__ import annotations

from sqlglot import exp

from planner.scope import fold


def output_name(item: exp.Expr) -> str:
    """The name of an item of the select list: its alias, or PostgreSQL's own."""
    return fold(item.args["alias"]) if isinstance(item, exp.Alias) else default_name(item)


def default_name(node: exp.Expr) -> str:
    """The name that PostgreSQL gives to a column without an alias."""
    node = node.unnest()
    if isinstance(node, exp.Filter):
        return default_name(node.this)
    if isinstance(node, exp.Column):
        return fold(node.this)
    if isinstance(node, exp.Cast):
        inner = default_name(node.this)
        return inner if inner != "?column?" else node.args["to"].this.name.lower()
    if isinstance(node, exp.TimestampTrunc):
        return "date_trunc"
    if isinstance(node, (exp.Func, exp.Case)) and not isinstance(node, (exp.And, exp.Or)):
        return node.key.lower()
    return "?column?"
