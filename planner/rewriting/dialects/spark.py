"""Write SQL for Spark, with the same rows and whole numbers as on PostgreSQL, or refuse it.

Texts are equal, and ordered, by their bytes, as under PostgreSQL's collation C. LIKE has the same backslashes, but
Spark fails for one before an ordinary letter, so it is dropped. ILIKE, EXP, LN and powers are refused, because Java's
letters and last digits differ from the C library's.

Everything runs under `spark.sql.ansi.enabled`, where a value that does not fit is an error. An error must not depend
on a row, so what could fail is written as a function that returns NULL instead. This concerns quotients by zero,
whole numbers beyond their type, FLOOR of a double beyond a bigint, and sums of bigints, which saturate. The session's
settings, on which a statement's meaning depends, are in server/backends/spark_session.py.

A construct that is not listed here has not been compared on both databases, and is refused.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import ErrorLevel, exp

from planner.errors import UnsupportedSQL
from planner.rewriting.compact_tuples import SATURATION, bernoulli_percent
from planner.rewriting.dialects.duckdb_and_spark import (
    CLAUSES,
    EXACT,
    PUBLIC_CLAUSES,
    Differences,
    Handlers,
    Typed,
    Write,
    Writer,
    as_decimal,
    as_double,
    as_exact,
    exact_sum,
    exact_type,
    floating,
    numeric,
    public_handlers,
    truth,
    window,
)
from planner.rewriting.dialects.spark_casts import (
    LITERALS,
    MOMENTS,
    SAME_TEXT,
    TEXTS,
    call,
    chosen,
    compared,
    double,
    moment_plus,
    number,
    spark_cast,
    try_cast,
    weight,
)
from planner.schema import Schema, Table
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import cast_sql, is_type, tables_by_alias

# Numbers: doubles as they are, decimals within 38 digits, and nothing that fails for a row

_WHOLE_DOUBLES = str(1 << 53)
"""Every double from here on is a whole number, infinity or NaN."""


def _arithmetic(node: exp.Expr, write: Write) -> Typed:
    if isinstance(node.args["expression"], exp.Interval) or isinstance(node.this, exp.Interval):
        return moment_plus(node, write)
    left, right = write(node.this), write(node.args["expression"])
    families = (left.type.family, right.type.family)
    if Family.DATE in families:
        return _days(node, left, right)
    if Family.FLOAT in families and all(side.type.is_number for side in (left, right)):
        return floating(type(node)(this=as_double(left), expression=as_double(right)))
    if not all(family in EXACT for family in families):
        raise UnsupportedSQL("arithmetic with this type is not supported on Spark")
    kind = exact_sum(left, right, node)
    return Typed(type(node)(this=as_exact(left), expression=as_exact(right)), kind)


def _days(node: exp.Expr, left: Typed, right: Typed) -> Typed:
    """date - date is a number of days; date + days is a date. Both are sums of 32 bits and cannot fail."""
    if isinstance(node, exp.Sub) and left.type.family is right.type.family:
        return Typed(call("DATEDIFF", left.sql, right.sql), SqlType(Family.INTEGER, 10))
    day, days = (left, right) if left.type.family is Family.DATE else (right, left)
    fits = days.type.family is Family.INTEGER or (days.is_literal and days.whole <= 7 and not days.scale)
    if not fits or not isinstance(node, exp.Add | exp.Sub) or (isinstance(node, exp.Sub) and day is right):
        raise UnsupportedSQL("this arithmetic with dates is not supported on Spark")
    name = "DATE_SUB" if isinstance(node, exp.Sub) else "DATE_ADD"
    return Typed(call(name, day.sql, try_cast(days.sql, "INT")), SqlType(Family.DATE))


def _whole_quotient(node: exp.Expr, write: Write) -> Typed:
    """PostgreSQL's quotient of integers and Spark's DIV drop the fraction. A quotient by -1 may exceed a bigint."""
    left, right = write(node.this), write(node.args["expression"])
    if not all(_fits_bigint(side) for side in (left, right)):
        raise UnsupportedSQL("this whole quotient is not supported on Spark", hint="divide integers")
    kind = exact_type(left.whole, 0)
    sides = [cast_sql(side.sql, "BIGINT") for side in (left, right)]
    if right.is_literal and int(right.sql.sql()) > 0:
        return Typed(as_decimal(exp.Paren(this=exp.IntDiv(this=sides[0], expression=sides[1])), kind), kind)
    known = call("NULLIF", sides[1], number(0))
    negative = exp.Neg(this=as_decimal(left.sql.copy(), kind))
    quotient = as_decimal(exp.Paren(this=exp.IntDiv(this=sides[0], expression=known)), kind)
    by_minus_one = exp.EQ(this=sides[1].copy(), expression=exp.Neg(this=number(1)))
    return Typed(exp.Case().when(by_minus_one, negative, copy=False).else_(quotient, copy=False), kind)


def _fits_bigint(side: Typed) -> bool:
    return side.type.family in EXACT and not side.scale and (side.type.family is Family.INTEGER or side.whole <= 18)


def _sign(node: exp.Expr, write: Write) -> Typed:
    inner = write(node.this)
    sign = call("SIGN", inner.sql if inner.type.family is Family.FLOAT else as_exact(inner))
    if inner.type.family is Family.FLOAT:
        nan = exp.EQ(this=inner.sql.copy(), expression=double("NaN"))
        return floating(exp.Case().when(nan, double("0"), copy=False).else_(sign, copy=False))
    return Typed(cast_sql(sign, "INT"), SqlType(Family.INTEGER, 1))


def _whole_double(node: exp.Expr, inner: exp.Expr) -> exp.Expr:
    """FLOOR, CEIL or TRUNC. These return bigints in Spark, so they apply only to doubles with a fraction."""

    def by(name: str) -> exp.Expr:
        return cast_sql(call(name, inner.copy()), "DOUBLE")

    if isinstance(node, exp.Trunc):
        below = exp.LT(this=inner.copy(), expression=double("0"))
        cut: exp.Expr = exp.Case().when(below, by("CEIL"), copy=False).else_(by("FLOOR"), copy=False)
    else:
        cut = by("FLOOR" if isinstance(node, exp.Floor) else "CEIL")
    small = exp.LT(this=call("ABS", inner.copy()), expression=double(_WHOLE_DOUBLES))
    return exp.Case().when(small, cut, copy=False).else_(inner.copy(), copy=False)


def _root(node: exp.Expr, write: Write) -> Typed:
    """IEEE 754 requires correct rounding. A negative number gives NaN here, and is guarded against."""
    return floating(call("SQRT", as_double(write(node.this))))


_NUMBERS: Handlers = {
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul), _arithmetic),
    exp.IntDiv: _whole_quotient,
    exp.Sign: _sign,
    exp.Sqrt: _root,
}

# Statements

_OTHER = SqlType(Family.OTHER)
_SPECIAL = frozenset("%_\\")


def _like(node: exp.Expr, write: Write) -> Typed:
    value, pattern = write(node.this), node.args["expression"]
    if value.type.family is not Family.TEXT or not (isinstance(pattern, exp.Literal) and pattern.is_string):
        raise UnsupportedSQL("LIKE of anything but a text and a pattern is not supported on Spark")
    like = exp.Like(this=value.sql, expression=exp.Literal.string(spark_pattern(pattern.name)))
    return truth(exp.Not(this=exp.Paren(this=like)) if node.args.get("negate") else like)


def spark_pattern(pattern: str) -> str:
    r"""Convert a LIKE pattern from PostgreSQL to Spark. Raises: UnsupportedSQL if it ends in its escape character.

    >>> spark_pattern(r"100\% \a\\_"), spark_pattern("a%")
    ('100\\% a\\\\_', 'a%')
    """
    written, letters = "", iter(pattern)
    for letter in letters:
        if letter == "\\":
            escaped = next(letters, None)
            if escaped is None:
                raise UnsupportedSQL("the LIKE pattern ends in its escape character")
            written += f"\\{escaped}" if escaped in _SPECIAL else escaped
        else:
            written += letter
    return written


_ROW_DIGITS = 10
"""Spark's sum of a decimal has this many more digits, so it is exact for up to 10^10 rows."""


def _least(node: exp.Expr, write: Write) -> Typed:
    """Saturate the sum in LEAST(SUM(weight), SATURATION), the form of all totals; write any other LEAST as usual.

    Weights are never negative or NULL. So if a partial sum leaves 64 bits, the total is above SATURATION anyway.
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


def _public_aggregate(call: exp.Expr, value: Typed, distinct: bool) -> Typed:
    """As `_aggregate`; sums and means of doubles differ in the last digits, which needs no exactness here."""
    if isinstance(call, (exp.Sum, exp.Avg)) and value.type.family is Family.FLOAT:
        return floating(type(call)(this=exp.Distinct(expressions=[value.sql]) if distinct else value.sql))
    return _aggregate(call, value, distinct)


FILES = "main"
"""The schema of tables that are files. They are views of the session, which have no schema in Spark."""

SEED = "seed"
"""The parameter of a sampling statement. Each run draws a new seed."""


def spark_sql(tree: exp.Expr, schema: Schema | None) -> str:
    """Write a question for Spark. Raises: UnsupportedSQL where Spark would differ or could fail for a row."""
    assert schema is not None, "Spark's statements depend on the columns' types"
    tables = dict(tables_by_alias(tree, schema))
    writer = Writer(tables, _VALUES, CLAUSES, schema, name="Spark", aggregates=_AGGREGATES, declared=_declared)
    return written(writer.write(tree).sql)


def spark_public_sql(tree: exp.Expr, tables: Mapping[str, Table]) -> str:
    """Write a statement over public tables for Spark. Raises: UnsupportedSQL where Spark would differ."""
    for select in tree.find_all(exp.Select):
        if select.args.get("group") is not None:
            _refuse_of_groups(select)
    handlers = public_handlers(_VALUES, {**_AGGREGATES, **_PUBLIC_AGGREGATES})
    return written(Writer(tables, handlers, PUBLIC_CLAUSES, name="Spark").write(tree).sql)


def _refuse_of_groups(select: exp.Select) -> None:
    """Refuse a subquery about the group of a SELECT, which Spark cannot plan. Raises: UnsupportedSQL."""
    rows = [select.args.get("from_"), *(select.args.get("joins") or ())]
    own = {item.alias for part in rows if part is not None for item in part.find_all(exp.Table, exp.Subquery)}
    having = select.args.get("having")
    for place in (*select.expressions, *([] if having is None else [having])):
        for inner in place.find_all(exp.Subquery):
            if any(column.table in own for column in inner.find_all(exp.Column)):
                hint = "group in a subquery of FROM, and join it with the other tables"
                raise UnsupportedSQL("a subquery about each group is not supported on Spark", hint=hint)


def spark_contributions_sql(tree: exp.Expr) -> str:
    """Write the statement around all contributions, which has only whole numbers and saturating totals."""

    def saturating(node: exp.Expr) -> exp.Expr:
        return _saturating_sum(node.this) if isinstance(node, exp.Sum) else node

    return written(tree.transform(saturating) if isinstance(tree, exp.Query) else tree)


def written(tree: exp.Expr) -> str:
    """The text of a tree whose names are all quoted. Raises: UnsupportedError rather than drop anything."""
    return tree.sql("spark", unsupported_level=ErrorLevel.RAISE, comments=False)


def _table(node: exp.Expr, write: Write) -> Typed:
    """A table; files have no schema. A sample keeps each row by its own draw, at exactly the plan's rate."""
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
    """Public values that a policy declares. Spark's series of numbers has another name, and excludes its end."""
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


def _cast(node: exp.Expr, write: Write) -> Typed:
    return weight(node, write) or SHARED.cast_of(node, write)


def _window(node: exp.Expr, write: Write) -> Typed:
    spec = node.args.get("spec")
    if spec is not None and spec.find(exp.Interval) is not None:
        raise UnsupportedSQL("RANGE with an interval is not supported on Spark", hint="write ROWS")
    return window(node, write)


SHARED = Differences(
    "Spark",
    compared,
    chosen,
    spark_cast,
    lambda kind: kind.family in SAME_TEXT,
    LITERALS,
    remainder=lambda value, unit: call("TRY_MOD", value, unit),
    quotient=lambda left, right: call("TRY_DIVIDE", left, right),
    whole=_whole_double,
    truncates=False,
)
_VALUES: Handlers = {
    **SHARED.handlers(),
    **_NUMBERS,
    **TEXTS,
    **MOMENTS,
    exp.Cast: _cast,
    exp.Least: _least,
    exp.Like: _like,
    exp.Table: _table,
}
_AGGREGATES: Handlers = {
    **dict.fromkeys((exp.Count, exp.Sum, exp.Min, exp.Max, exp.Filter), SHARED.aggregate(_aggregate)),
    exp.Window: _window,
}
_PUBLIC_AGGREGATES: Handlers = dict.fromkeys(
    (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Filter), SHARED.aggregate(_public_aggregate)
)
"""For subqueries that act as tables, and for statements over public tables."""
