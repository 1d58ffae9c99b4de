"""The names of an answer's columns: an alias, or the name that PostgreSQL gives."""

from __future__ import annotations

from sqlglot import exp

from planner.parsing.postgres_parser import WRITTEN
from planner.sql.trees import fold

UNNAMED = "?column?"

_LIBRARY: dict[str, str] = {
    "timestamp_trunc": "date_trunc",
    "group_concat": "string_agg",
    "variance_pop": "var_pop",
}
"""The parser library's names of functions that a rewriting has made, and PostgreSQL's."""

_TYPES = {
    exp.DType.SMALLINT: "int2",
    exp.DType.INT: "int4",
    exp.DType.BIGINT: "int8",
    exp.DType.FLOAT: "float4",
    exp.DType.DOUBLE: "float8",
    exp.DType.DECIMAL: "numeric",
    exp.DType.BOOLEAN: "bool",
    exp.DType.CHAR: "bpchar",
}
"""PostgreSQL's names of types that are spelled otherwise."""


def output_name(item: exp.Expr) -> str:
    """Return the name of an item of the select list: its alias, or PostgreSQL's default."""
    return fold(item.args["alias"]) if isinstance(item, exp.Alias) else default_name(item)


def default_name(node: exp.Expr) -> str:
    """Return PostgreSQL's name for a column without an alias.

    >>> from sqlglot import parse_one
    >>> texts = ("sum(x)", "sum(x)::int", "(x / 2)::bigint", "CASE WHEN x > 1 THEN 1 ELSE n END", "x + 1")
    >>> [default_name(parse_one(text, dialect="postgres")) for text in texts]
    ['sum', 'sum', 'int8', 'n', '?column?']
    """
    return _own_name(node) or _weak_name(node) or UNNAMED


def construct_name(node: exp.Expr) -> str:
    """Return the name of a construct for messages.

    >>> from sqlglot import parse_one
    >>> [construct_name(parse_one(text, dialect="postgres")) for text in ("stddev_pop(x)", "date_trunc('day', x)")]
    ['STDDEV_POP', 'DATE_TRUNC']
    """
    if isinstance(node, exp.Query):
        return "a subquery"
    name = default_name(node)
    return type(node).__name__.upper() if name == UNNAMED else name.upper()


def _own_name(node: exp.Expr) -> str:
    """The name of a column or function, which CASE and a cast around it keep; empty if there is none."""
    node = node.unnest()
    if WRITTEN in node.meta:
        return str(node.meta[WRITTEN])
    match node:
        case exp.Filter() | exp.Window() | exp.IgnoreNulls() | exp.RespectNulls() | exp.WithinGroup() | exp.Cast():
            return _own_name(node.this)
        case exp.Column():
            return fold(node.this)
        case exp.Case():
            otherwise = node.args.get("default")
            return "" if otherwise is None else _own_name(otherwise)
        case exp.Anonymous():
            return node.name.lower()
        case exp.AtTimeZone():
            return "timezone"
        case exp.Exists():
            return "exists"
        case exp.SetOperation():
            return _own_name(node.left)
        case exp.Select():
            return output_name(node.expressions[0]) if node.expressions else ""
        case exp.And() | exp.Or():
            return ""
        case exp.Func():
            name = node.sql_name().lower()
            return _LIBRARY.get(name, name)
    return ""


def _weak_name(node: exp.Expr) -> str:
    """The name of CASE, or of a cast's type, around something without a name; empty if there is none."""
    node = node.unnest()
    if isinstance(node, exp.Case):
        return "case"
    if isinstance(node, exp.Cast):
        return _TYPES.get(node.to.this, "") or node.to.this.name.lower()
    return "interval" if isinstance(node, exp.Interval) else ""
