"""The rewritten SQL for Spark: the same rows and the same whole numbers as on PostgreSQL, or a refusal.

Texts are equal by their bytes, and ordered by them, as under PostgreSQL's collation C. LIKE reads its pattern's
backslashes as PostgreSQL does, but fails for one before an ordinary letter: it is left out. ILIKE is refused: which
letters are one is Java's to say here. A sum of bigints fails beyond a bigint, which would tell of a row: totals
saturate.

What the two read differently, and what is written instead, stands in the files beside this one. Everything runs under
`spark.sql.ansi.enabled`, where a value that does not fit is an error and never another value; so that no such error
tells of a row, what could fail is written as a function that is NULL instead, and never reached where PostgreSQL has
a value. The session's settings, which are a part of what a statement means, are in server/backends/spark_session.py.

A construct that is not listed here has not been compared on both databases and is refused.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import ErrorLevel, exp

from planner.errors import UnsupportedSQL
from planner.rewriting.compact_tuples import SATURATION, bernoulli_percent
from planner.rewriting.dialects.duckdb_and_spark import (
    CLAUSES,
    Handlers,
    Typed,
    Write,
    Writer,
    count,
    greatest,
    numeric,
    truth,
)
from planner.rewriting.dialects.spark_casts import CASTS, MOMENTS, SHARED, TEXTS, call, double
from planner.rewriting.dialects.spark_numbers import NUMBERS
from planner.schema import Schema, Table
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import cast_sql, is_type, tables_by_alias

_OTHER = SqlType(Family.OTHER)
_SPECIAL = frozenset("%_\\")


def _like(node: exp.Expr, write: Write) -> Typed:
    value, pattern = write(node.this), node.args["expression"]
    if value.type.family is not Family.TEXT or not (isinstance(pattern, exp.Literal) and pattern.is_string):
        raise UnsupportedSQL("LIKE of anything but a text and a pattern is not supported on Spark")
    like = exp.Like(this=value.sql, expression=exp.Literal.string(spark_pattern(pattern.name)))
    return truth(exp.Not(this=exp.Paren(this=like)) if node.args.get("negate") else like)


def spark_pattern(pattern: str) -> str:
    r"""A pattern of PostgreSQL's LIKE as Spark reads it. Raises: UnsupportedSQL for one that ends in its escape.

    >>> spark_pattern(r"100\% \a\\_"), spark_pattern("a%")
    ('100\\% a\\\\_', 'a%')
    """
    written, letters = "", iter(pattern)
    for letter in letters:
        if letter == "\\":
            escaped = next(letters, None)
            if escaped is None:
                raise UnsupportedSQL("a pattern of LIKE that ends in its escape character")
            written += f"\\{escaped}" if escaped in _SPECIAL else escaped
        else:
            written += letter
    return written


_ROW_DIGITS = 10
"""Spark's sum of a decimal has as many digits more: of no more rows than these it is exact."""


def _count(node: exp.Expr, write: Write) -> Typed:
    if isinstance(node.this, exp.Distinct):
        raise UnsupportedSQL("COUNT(DISTINCT) here is not supported on Spark")
    return count(node, write)


def _least(node: exp.Expr, write: Write) -> Typed:
    """Of LEAST(SUM(weight), SATURATION), which totals of weights are, the sum saturates; any other is as everywhere.

    Weights are never negative or NULL. Whatever is added first, a part that leaves 64 bits is of a total that is over
    SATURATION, where totals stop.
    """
    summed, others = node.this, node.args["expressions"]
    if not isinstance(summed, exp.Sum) or others != [exp.Literal.number(SATURATION)]:
        return SHARED.choice(node, write)
    weight = write(summed.this)
    assert weight.type.family is Family.INTEGER, "weights are whole numbers"
    known = _saturating_sum(weight.sql)
    return Typed(call("LEAST", known, exp.Literal.number(SATURATION)), SqlType(Family.INTEGER))


def _saturating_sum(weight: exp.Expr) -> exp.Expr:
    return call("COALESCE", call("TRY_SUM", weight), exp.Literal.number(SATURATION))


def _aggregate(aggregate: exp.Expr, value: Typed, distinct: bool) -> Typed:
    sql, kind = value.sql, value.type
    if isinstance(aggregate, exp.Sum):
        if kind.family not in (Family.INTEGER, Family.NUMERIC) or value.whole + value.scale > 28:
            raise UnsupportedSQL("SUM of this type is not supported on Spark", hint="narrow the column's type")
        sql = cast_sql(sql, f"DECIMAL({value.whole + value.scale}, {value.scale})")
        kind = numeric(value.whole + _ROW_DIGITS, value.scale)
    elif isinstance(aggregate, exp.Count):
        kind = SqlType(Family.INTEGER)
    return Typed(type(aggregate)(this=exp.Distinct(expressions=[sql]) if distinct else sql), kind)


FILES = "main"
"""The schema of tables that are files: views of the session, whose names Spark knows without one."""

SEED = "seed"
"""The parameter of a statement that samples: whoever runs it draws it anew."""


def spark_sql(tree: exp.Expr, schema: Schema | None) -> str:
    """What the rules built, for Spark. Raises: UnsupportedSQL where it answers otherwise or could fail for a row."""
    assert schema is not None, "Spark's statements depend on the columns' types"
    tables = dict(tables_by_alias(tree, schema))
    handlers = {**_VALUES, exp.Count: _count, exp.Least: _least, exp.Max: greatest}
    writer = Writer(tables, handlers, CLAUSES, schema, name="Spark", aggregates=_AGGREGATES, declared=_declared)
    return written(writer.write(tree).sql)


def spark_public_sql(tree: exp.Expr, tables: Mapping[str, Table]) -> str:
    """A statement over public tables, for Spark. Raises: UnsupportedSQL where Spark would answer differently."""
    writer = Writer(tables, {**_VALUES, **_AGGREGATES}, (*CLAUSES, exp.Having), name="Spark")
    return written(writer.write(tree).sql)


def spark_loads_sql(tree: exp.Expr) -> str:
    """What stands around the loads of all units: whole numbers alone, whose totals saturate instead of failing."""

    def saturating(node: exp.Expr) -> exp.Expr:
        return _saturating_sum(node.this) if isinstance(node, exp.Sum) else node

    return written(tree.transform(saturating) if isinstance(tree, exp.Query) else tree)


def written(tree: exp.Expr) -> str:
    """The text of a tree, whose every name is quoted. Raises: UnsupportedError rather than drop anything."""
    return tree.sql("spark", unsupported_level=ErrorLevel.RAISE, comments=False)


def _table(node: exp.Expr, write: Write) -> Typed:
    """A table; of files, without its schema. A sample keeps each row by its own draw, at exactly the plan's rate."""
    table = exp.Table(this=node.this.copy())
    if node.text("db") != FILES:
        table.set("db", node.args["db"].copy())
    others = {name for name, value in node.args.items() if value} - {"this", "db", "alias", "sample"}
    if others:
        raise UnsupportedSQL("this way to read a table is not supported on Spark")
    alias = node.args["alias"].copy()
    sample = node.args.get("sample")
    if sample is None:
        table.set("alias", alias)
        return Typed(table, _OTHER)
    assert sample.args["method"].name == "BERNOULLI", "blocks are never sampled"
    rate = bernoulli_percent(float(sample.args["percent"].name) / 100)[1]
    kept = exp.LT(this=call("RAND", exp.Placeholder(this=SEED)), expression=double(repr(rate)))
    rows = exp.Select(expressions=[exp.Star()], from_=exp.From(this=table), where=exp.Where(this=kept))
    return Typed(exp.Subquery(this=rows, alias=alias), _OTHER)


def _declared(node: exp.Subquery) -> exp.Expr:
    """Public values that a policy declares, whose series of steps has another name, and ends before its end."""
    for part in node.find_all(exp.AtTimeZone, exp.Cast):
        if not isinstance(part, exp.Cast) or not is_type(part.to, *_DECLARED):
            raise UnsupportedSQL("declared values of this type are not supported on Spark")
    return node.transform(_steps)


_DECLARED = ("smallint", "int", "bigint", "decimal", "double", "text", "boolean", "date", "timestamp")


def _steps(node: exp.Expr) -> exp.Expr:
    if not isinstance(node, exp.Anonymous) or node.name.upper() != "GENERATE_SERIES":
        return node
    first, last = (int(end.sql()) for end in node.expressions)
    return call("RANGE", *map(exp.Literal.number, (first, last + 1)))


_VALUES: Handlers = {
    **SHARED.handlers(),
    **NUMBERS,
    **CASTS,
    **TEXTS,
    **MOMENTS,
    exp.Like: _like,
    exp.Table: _table,
}

_AGGREGATES: Handlers = {
    **dict.fromkeys((exp.Count, exp.Sum, exp.Min, exp.Max, exp.Filter), SHARED.aggregate(_aggregate)),
    exp.Least: _least,
}
"""Of subqueries that are tables of their own, and of statements over public tables."""
