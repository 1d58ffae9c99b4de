"""Reads LIMIT, OFFSET and FETCH, and names the columns of an answer."""

from __future__ import annotations

from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.parsing.postgres_parser import DATE_PART
from planner.sql.literals import constant
from planner.sql.trees import fold

_MAX_ROWS = 1 << 62


def row_count(query: exp.Query, part: str) -> int | None:
    """Return the row count of `limit` or `offset`; None for NULL and ALL. Raises: UnsupportedSQL."""
    clause = query.args.get(part)
    fetch = query.args.get("limit") if part == "limit" else None
    if clause is None:
        return None
    node = fetch.args.get("count") if isinstance(fetch, exp.Fetch) else clause.expression
    if node is None:
        return 1  # FETCH FIRST ROW ONLY
    node = constant(node)
    if isinstance(node, exp.Null) or (isinstance(node, exp.Var) and node.name.upper() == "ALL"):
        return None
    if not (isinstance(node, exp.Literal) and node.name.isascii() and node.name.isdigit()):
        raise UnsupportedSQL(f"{part.upper()} takes a whole number", hint="write the number", at=clause)
    return min(int(node.name[:20]), _MAX_ROWS)


def output_name(item: exp.Expr) -> str:
    """Return the name of an item of the select list: its alias, or PostgreSQL's default."""
    return fold(item.args["alias"]) if isinstance(item, exp.Alias) else default_name(item)


def default_name(node: exp.Expr) -> str:
    """Return PostgreSQL's name for a column without an alias."""
    node = node.unnest()
    if isinstance(node, (exp.Filter, exp.Window, exp.IgnoreNulls, exp.RespectNulls)):
        return default_name(node.this)
    if isinstance(node, exp.Column):
        return fold(node.this)
    if isinstance(node, exp.Cast):
        if DATE_PART in node.meta:
            return DATE_PART
        inner = default_name(node.this)
        return inner if inner != "?column?" else node.args["to"].this.name.lower()
    if isinstance(node, exp.TimestampTrunc):
        return "date_trunc"
    if isinstance(node, exp.GroupConcat):
        return "string_agg"
    if isinstance(node, exp.WithinGroup):
        return default_name(node.this)
    if isinstance(node, exp.Anonymous):
        return node.name.lower()
    if isinstance(node, (exp.Func, exp.Case)) and not isinstance(node, (exp.And, exp.Or)):
        name = node.sql_name().lower() if isinstance(node, exp.Func) else node.key.lower()
        return "var_pop" if name == "variance_pop" else name
    return "?column?"


def construct_name(node: exp.Expr) -> str:
    """Return the name of a construct for messages.

    >>> from sqlglot import parse_one
    >>> [construct_name(parse_one(text, dialect="postgres")) for text in ("stddev_pop(x)", "date_trunc('day', x)")]
    ['STDDEV_POP', 'DATE_TRUNC']
    """
    if isinstance(node, exp.Query):
        return "a subquery"
    name = default_name(node)
    return type(node).__name__.upper() if name == "?column?" else name.upper()
