"""Functions of Spark, written by their names: the parser library has other ways for some."""

from __future__ import annotations

from sqlglot import exp

from planner.sql.sql_nodes import cast_sql


def call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    """`name(arguments)`.

    >>> call("TRY_DIVIDE", exp.column("x"), number(2)).sql("spark")
    'TRY_DIVIDE(x, 2)'
    """
    return exp.Anonymous(this=name, expressions=list(arguments))


def number(value: int) -> exp.Expr:
    """A whole number as written."""
    return exp.Literal.number(value)


def double(text: str) -> exp.Cast:
    """The nearest double of a number as written: Spark reads 0.1 as a decimal."""
    return cast_sql(exp.Literal.string(text), "DOUBLE")


def try_cast(sql: exp.Expr, kind: str) -> exp.TryCast:
    """A cast that is NULL where it has no value: any other would fail for that row, and tell of it.

    >>> try_cast(exp.column("x"), "BIGINT").sql("spark")
    'TRY_CAST(x AS BIGINT)'
    """
    return exp.TryCast(this=sql, to=exp.DataType.build(kind), safe=True)  # else the library writes CAST


def where_known(condition: exp.Expr, value: exp.Expr) -> exp.Case:
    """The value where a condition holds, else NULL; it is not computed for other rows."""
    return exp.Case().when(condition, value, copy=False)
