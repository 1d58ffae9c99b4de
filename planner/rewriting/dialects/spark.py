"""The rewritten SQL for Spark: the same rows and the same whole numbers as on PostgreSQL, or a refusal.

Conditions for Spark: texts are equal by their bytes, and ordered by them, as under PostgreSQL's collation C.

LIKE reads its pattern's backslashes as PostgreSQL does, but fails for one before an ordinary letter: it is left out.
ILIKE is refused: which letters are one is Java's to say here.

Aggregates for Spark. Its sum of bigints fails beyond a bigint, which would tell of a row: here it saturates.

The rewritten SQL for Spark: the same rows and the same whole numbers as on PostgreSQL, or a refusal.

What the two read differently, and what is written instead, stands in the files beside this one. Everything runs under
`spark.sql.ansi.enabled`, where a value that does not fit is an error and never another value; so that no such error
tells of a row, what could fail is written as a function that is NULL instead, and never reached where PostgreSQL has
a value. The session's settings, which are a part of what a statement means, are in server/backends/spark_session.py.

A construct that is not listed here has not been compared on both databases and is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import ErrorLevel, exp

from planner.errors import UnsupportedSQL
from planner.rewriting.compact_tuples import SATURATION
from planner.rewriting.dialects import spark_casts, spark_numbers
from planner.rewriting.dialects.duckdb import CLAUSES, Writer
from planner.rewriting.dialects.duckdb_and_spark import (
    CONNECTIVES,
    Handler,
    Typed,
    Write,
    aligned,
    as_double,
    is_out_of_reach,
    numeric,
    truth,
)
from planner.rewriting.dialects.spark_casts import as_moment, call, chosen_value, double
from planner.rewriting.sample_rows import bernoulli_percent
from planner.schema import Schema, Table
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import cast_sql, is_type, tables_by_alias

_MOMENTS = (Family.TIMESTAMP, Family.TIMESTAMPTZ)
_COMPARABLE = frozenset(Family) - {Family.UUID, Family.ENUM, Family.CHAR, Family.TIME, Family.INET}
_SPECIAL = frozenset("%_\\")


def compared(operands: Sequence[Typed]) -> list[exp.Expr]:
    """The sides of a comparison. Raises: UnsupportedSQL where they have no common type that holds every value.

    >>> day = Typed(exp.column("d"), SqlType(Family.DATE))
    >>> moment = Typed(exp.column("t"), SqlType(Family.TIMESTAMPTZ))
    >>> compared([day, moment])
    Traceback (most recent call last):
    ...
    planner.errors.UnsupportedSQL: a timestamp with time zone beside another type is not supported on Spark
    """
    families = {operand.type.family for operand in operands} - {Family.OTHER}
    if not families <= _COMPARABLE:
        raise UnsupportedSQL("a comparison of this type is not supported on Spark")
    if Family.TIMESTAMPTZ in families and len(families) > 1:
        raise UnsupportedSQL("a timestamp with time zone beside another type is not supported on Spark")
    if families & {Family.TEXT} and families - {Family.TEXT}:
        raise UnsupportedSQL("a text beside another type is not supported on Spark", hint="write a cast")
    if Family.FLOAT not in families:
        operands = [
            Typed(as_double(operand), SqlType(Family.OTHER)) if is_out_of_reach(operand) else operand
            for operand in operands
        ]
    if any(operand.type.family in _MOMENTS for operand in operands):
        return [as_moment(operand) for operand in operands]
    return aligned(operands)


def _compared(node: exp.Expr, write: Write) -> Typed:
    value, other = write(node.this), node.args["expression"]
    if isinstance(other, exp.Literal) and other.is_string and value.type.is_number:
        return _no_nan(node, value)
    left, right = compared([value, write(other)])
    return truth(type(node)(this=left, expression=right))


def _no_nan(node: exp.Expr, value: Typed) -> Typed:
    """`x <> 'NaN'`, the only quoted number that rules write; a decimal is never NaN, so it is only not NULL."""
    if not isinstance(node, exp.NEQ) or node.expression.name != "NaN":
        raise UnsupportedSQL("a number beside a text is not supported on Spark")
    if value.type.family is Family.FLOAT:
        return truth(exp.NEQ(this=value.sql, expression=double("NaN")))
    return truth(exp.Is(this=value.sql, expression=exp.Null(), negate=True))


def _between(node: exp.Expr, write: Write) -> Typed:
    value, low, high = compared([write(node.args[part]) for part in ("this", "low", "high")])
    return truth(exp.Between(this=value, low=low, high=high))


def _listed(node: exp.Expr, write: Write) -> Typed:
    if node.args.get("query") is not None:
        raise UnsupportedSQL("IN with a query is not supported on Spark", hint="write EXISTS, or a join")
    value, *items = compared([write(node.this), *map(write, node.args["expressions"])])
    return truth(exp.In(this=value, expressions=items))


def _tested(node: exp.Expr, write: Write) -> Typed:
    test = node.args["expression"].copy()
    return truth(exp.Is(this=write(node.this).sql, expression=test, negate=node.args.get("negate")))


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


def _found(node: exp.Expr, write: Write) -> Typed:
    return truth(exp.Exists(this=write(node.this).sql))


CONDITIONS: dict[type[exp.Expr], Handler] = {
    **CONNECTIVES,
    exp.EQ: _compared,
    exp.NEQ: _compared,
    exp.LT: _compared,
    exp.LTE: _compared,
    exp.GT: _compared,
    exp.GTE: _compared,
    exp.NullSafeEQ: _compared,
    exp.NullSafeNEQ: _compared,
    exp.Between: _between,
    exp.In: _listed,
    exp.Is: _tested,
    exp.Like: _like,
    exp.Exists: _found,
}


_MOST_DIGITS = 38
_ROW_DIGITS = 10
"""Spark's sum of a decimal has as many digits more: of no more rows than these it is exact."""

_OTHER = SqlType(Family.OTHER)


def _count(node: exp.Expr, write: Write) -> Typed:
    """COUNT(*), and the rows that a condition holds for: COUNT(CASE WHEN condition THEN 1 END)."""
    if isinstance(node.this, exp.Star):
        return Typed(exp.Count(this=exp.Star()), SqlType(Family.INTEGER))
    if isinstance(node.this, exp.Distinct):
        raise UnsupportedSQL("COUNT(DISTINCT) here is not supported on Spark")
    return Typed(exp.Count(this=write(node.this).sql), SqlType(Family.INTEGER))


def total(node: exp.Expr, write: Write) -> Typed | None:
    """LEAST(SUM(weight), SATURATION), what totals of weights are; None for any other LEAST.

    Weights are never negative or NULL. Whatever is added first, a part that leaves 64 bits is of a total that is over
    SATURATION, where totals stop.
    """
    summed, others = node.this, node.args["expressions"]
    if not isinstance(summed, exp.Sum) or others != [exp.Literal.number(SATURATION)]:
        return None
    weight = write(summed.this)
    assert weight.type.family is Family.INTEGER, "weights are whole numbers"
    known = call("COALESCE", call("TRY_SUM", weight.sql), exp.Literal.number(SATURATION))
    return Typed(call("LEAST", known, exp.Literal.number(SATURATION)), SqlType(Family.INTEGER))


def _least(node: exp.Expr, write: Write) -> Typed:
    return total(node, write) or chosen_value(node, write)


def _extreme(node: exp.Expr, write: Write) -> Typed:
    inner = write(node.this)
    return Typed(type(node)(this=inner.sql), inner.type)


AGGREGATES: dict[type[exp.Expr], Handler] = {
    exp.Count: _count,
    exp.Least: _least,
    exp.Max: _extreme,
}
"""Of a question's own statements: counts, totals of weights, and the greatest weight."""


def _aggregate(node: exp.Expr, write: Write) -> Typed:
    """An aggregate with its FILTER."""
    aggregate = node.this if isinstance(node, exp.Filter) else node
    argument = aggregate.this
    distinct = isinstance(argument, exp.Distinct)
    if isinstance(argument, exp.Star):
        value = Typed(exp.Star(), _OTHER)
    elif distinct and len(argument.expressions) != 1:
        raise UnsupportedSQL("DISTINCT of several values is not supported on Spark")
    else:
        value = write(argument.expressions[0] if distinct else argument)
    sql, kind = _of(aggregate, value, distinct)
    if isinstance(node, exp.Filter):
        sql = exp.Filter(this=sql, expression=exp.Where(this=write(node.expression.this).sql))
    return Typed(sql, kind)


def _of(aggregate: exp.Expr, value: Typed, distinct: bool) -> tuple[exp.Expr, SqlType]:
    if isinstance(aggregate, exp.Sum):
        if value.type.family not in (Family.INTEGER, Family.NUMERIC) or value.whole + value.scale > 28:
            raise UnsupportedSQL("SUM of this type is not supported on Spark", hint="narrow the column's type")
        exact = cast_sql(value.sql, f"DECIMAL({value.whole + value.scale}, {value.scale})")
        taken: exp.Expr = exp.Distinct(expressions=[exact]) if distinct else exact
        return exp.Sum(this=taken), numeric(value.whole + _ROW_DIGITS, value.scale)
    taken = exp.Distinct(expressions=[value.sql]) if distinct else value.sql
    if isinstance(aggregate, exp.Count):
        return exp.Count(this=taken), SqlType(Family.INTEGER)
    return type(aggregate)(this=taken), value.type


INNER_HANDLERS: dict[type[exp.Expr], Handler] = {
    **dict.fromkeys((exp.Count, exp.Sum, exp.Min, exp.Max, exp.Filter), _aggregate),
    exp.Least: _least,
}
"""Of subqueries that are tables of their own, and of statements over public tables."""


FILES = "main"
"""The schema of tables that are files: views of the session, whose names Spark knows without one."""

SEED = "seed"
"""The parameter of a statement that samples: whoever runs it draws it anew."""

_VALUES: dict[type[exp.Expr], Handler] = {
    **CONDITIONS,
    **spark_numbers.HANDLERS,
    **spark_casts.VALUES,
    **spark_casts.TEXTS,
    **spark_casts.MOMENTS,
}


def spark_sql(tree: exp.Expr, schema: Schema | None) -> str:
    """Write a statement for Spark.

    Args:
      tree: what the rules built: generated aliases, bound columns.
      schema: the catalog, for the columns' types.
    Raises: UnsupportedSQL where Spark would answer differently or could fail for some row.
    """
    assert schema is not None, "Spark's statements depend on the columns' types"
    tables = dict(tables_by_alias(tree, schema))
    writer = Writer(
        tables,
        {**_VALUES, **AGGREGATES, **_TABLES},
        CLAUSES,
        schema,
        name="Spark",
        aggregates=INNER_HANDLERS,
        declared=_declared,
    )
    return written(writer.write(tree).sql)


def spark_loads_sql(tree: exp.Expr) -> str:
    """What stands around the loads of all units: whole numbers alone, whose totals saturate instead of failing."""

    def saturating(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Sum):
            return node
        total = call("TRY_SUM", node.this)
        return call("COALESCE", total, exp.Literal.number(SATURATION))

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


_TABLES: dict[type[exp.Expr], Handler] = {exp.Table: _table}


def spark_public_sql(tree: exp.Expr, tables: Mapping[str, Table]) -> str:
    """Write a statement over public tables. Raises: UnsupportedSQL where Spark would answer differently."""
    handlers = {**_VALUES, **INNER_HANDLERS, **_TABLES}
    writer = Writer(tables, handlers, (*CLAUSES, exp.Having), name="Spark")
    return written(writer.write(tree).sql)
