"""Write SQL for DuckDB, with the same rows and whole numbers as on PostgreSQL, or refuse it.

The two databases differ, and the writer adapts:
* `numeric` has at most 38 digits, and a literal's digits decide its type: digits are counted, literals cast.
* A decimal becomes a double by division, which rounds long decimals twice: those are cast through text.
* No decimal is NaN, and 'NaN' is no decimal.
* `real` beside a literal compares as real: it is widened first.
* LIKE has no default escape character: it is written.
* A date outside the years of timestamps cannot become one: the result is NULL.

A construct that is not listed here has not been compared on both databases, and is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from sqlglot import ErrorLevel, exp

from planner.rewriting.dialects.duckdb_and_spark import (
    MOST_DIGITS,
    PUBLIC_CLAUSES,
    Differences,
    Handlers,
    Typed,
    Write,
    Writer,
    aligned,
    as_decimal,
    as_double,
    as_exact,
    divided,
    exact_sum,
    exact_type,
    far_literals_as_doubles,
    floating,
    is_moment,
    moments_of_difference,
    numeric,
    public_handlers,
    truth,
    window,
)
from planner.schema import Schema, Table
from planner.sql.datetimes import Pattern, longest_text, moment_form, patterns, shows_time, strptime_form
from planner.sql.sql_types import REAL, Family, SqlType
from planner.sql.trees import Age, TextDate, cast_sql, has_fraction, is_type, joined_texts, tables_by_alias

# Casts, texts and datetimes

_TEXT = SqlType(Family.TEXT)
_COUNT = SqlType(Family.INTEGER, 10)


def _text(node: exp.Expr, write: Write) -> Typed:
    """Functions of texts and whole literals. Both databases count characters, not bytes."""
    return Typed(_over_texts(node, write), _TEXT)


def _count(node: exp.Expr, write: Write) -> Typed:
    return Typed(_over_texts(node, write), _COUNT)


def _hash(node: exp.Expr, write: Write) -> Typed:
    """DuckDB's hash has 64 bits without a sign."""
    hashed = exp.Anonymous(this="HASH", expressions=[write(text).sql for text in node.expressions])
    return Typed(cast_sql(exp.Mod(this=hashed, expression=exp.Literal.number(2**31 - 1)), "BIGINT"), _COUNT)


def _trim(node: exp.Expr, write: Write) -> Typed:
    """Trim blanks by default; DuckDB's manual does not name its own default."""
    trimmed = _over_texts(node, write)
    if trimmed.args.get("expression") is None:
        trimmed.set("expression", exp.Literal.string(" "))
    return Typed(trimmed, _TEXT)


def _over_texts(node: exp.Expr, write: Write) -> exp.Expr:
    arguments = {
        name: write(value).sql if isinstance(value, exp.Expr) and not isinstance(value, exp.Var) else value
        for name, value in node.args.items()
    }
    return type(node)(**arguments)


def _extract(node: exp.Expr, write: Write) -> Typed:
    """Fields that both databases number alike: Sunday is DOW 0 and ISODOW 7, weeks follow ISO 8601."""
    assert isinstance(node, exp.Extract)
    if has_fraction(node):
        return _seconds(node, write)
    between = _micros_between(node.args["expression"], write)
    if between is not None:  # days of 24 hours, as in PostgreSQL's difference, and what is left of them
        least, most = _MICROS_OF[node.this.name.upper()]
        left = exp.Paren(this=exp.Mod(this=exp.Paren(this=between), expression=exp.Literal.number(most)))
        passed = left if most else exp.Paren(this=between)
        whole = exp.IntDiv(this=passed, expression=exp.Literal.number(least))
        return Typed(exp.Paren(this=whole), SqlType(Family.INTEGER, 8))
    sql = exp.Extract(this=node.this.copy(), expression=write(node.args["expression"]).sql)
    if node.this.name.upper() == "EPOCH":  # DuckDB returns a double, here of whole seconds
        return Typed(cast_sql(sql, "BIGINT"), SqlType(Family.INTEGER, 12))
    return Typed(sql, SqlType(Family.INTEGER, 4))


_MICROS_OF = {
    "DAY": (86_400_000_000, 0),
    "HOUR": (3_600_000_000, 86_400_000_000),
    "MINUTE": (60_000_000, 3_600_000_000),
}
"""Of each field of a difference: its microseconds, and those of the field above it."""


def _seconds(node: exp.Extract, write: Write) -> Typed:
    """Seconds with their fraction, from whole microseconds; DuckDB's own fields are not exact."""
    operand = node.args["expression"]
    micros = _micros_between(operand, write)
    if micros is None:
        moment = write(operand).sql
        micros = exp.Extract(this=exp.var("MICROSECONDS"), expression=moment)
        if node.this.name.upper() == "EPOCH":
            micros = exp.func("EPOCH_US", moment)
    elif node.this.name.upper() == "SECOND":
        micros = exp.Mod(this=exp.Paren(this=micros), expression=exp.Literal.number(60_000_000))
    whole, millionth = cast_sql(exp.Paren(this=micros), "DECIMAL(18, 0)"), exp.Literal.number("0.000001")
    product = exp.Mul(this=whole, expression=cast_sql(millionth, "DECIMAL(7, 6)"))
    kind = SqlType(Family.NUMERIC, 18, 6)
    return Typed(cast_sql(product, "DECIMAL(18, 6)"), kind)


def _micros_between(operand: exp.Expr, write: Write) -> exp.Expr | None:
    """SQL of the microseconds between two timestamps; None for anything else."""
    sides = moments_of_difference(operand, write)
    if sides is None:
        return None
    later, earlier = (exp.func("EPOCH_US", side.sql) for side in sides)
    return exp.Sub(this=later, expression=earlier)


def _text_date(node: exp.Expr, write: Write) -> Typed:
    """As for PostgreSQL."""
    text, case = write(node.this).sql, exp.Case()
    timed = any(shows_time(form.name) for form in node.expressions)
    for form in node.expressions:
        short = exp.Left(this=text.copy(), expression=exp.Literal.number(longest_text(form.name) + 1))
        known = exp.func("REGEXP_MATCHES", short, exp.Literal.string(moment_form(form.name)))
        read = exp.func("TRY_STRPTIME", text.copy(), exp.Literal.string(strptime_form(form.name)))
        case = case.when(known, read if timed else cast_sql(read, "DATE"), copy=False)
    return Typed(case, SqlType(Family.TIMESTAMP if timed else Family.DATE))


def _date_from_parts(node: exp.Expr, write: Write) -> Typed:
    parts = (cast_sql(write(node.args[name]).sql, "BIGINT") for name in ("year", "month", "day"))
    return Typed(exp.func("MAKE_DATE", *parts), SqlType(Family.DATE))


def _age(node: exp.Expr, write: Write) -> Typed:
    """Both databases borrow years, months and days from the month of the earlier timestamp."""
    return Typed(Age(this=write(node.this).sql, expression=write(node.args["expression"]).sql), SqlType(Family.OTHER))


def _formatted(node: exp.Expr, write: Write) -> Typed:
    """Write to_char by strftime, and patterns that strftime lacks one by one."""
    moment = write(node.this).sql
    found = patterns(node.args["format"].name)
    assert not isinstance(found, str), "formats are checked where they are bound"
    pieces: list[exp.Expr] = []
    for has_one, run in groupby(found, key=lambda pattern: pattern.strftime is not None):
        if has_one:
            text = "".join(pattern.strftime or "" for pattern in run)
            pieces.append(exp.func("STRFTIME", moment.copy(), exp.Literal.string(text)))
        else:
            pieces += [_alone(pattern, moment) for pattern in run]
    if not pieces:
        pieces = [exp.func("STRFTIME", moment, exp.Literal.string(""))]
    return Typed(joined_texts(pieces), _TEXT)


def _alone(pattern: Pattern, moment: exp.Expr) -> exp.Expr:
    """A name in the pattern's case, long ones padded to nine characters; or a number that strftime lacks."""
    if pattern.field is not None:
        number: exp.Expr = exp.Extract(this=exp.var(pattern.field), expression=moment.copy())
        if pattern.written == "D":  # 1 is Sunday
            number = exp.Add(this=number, expression=exp.Literal.number(1))
        if pattern.written != "WW":
            return cast_sql(number, "TEXT")
        begun = exp.Paren(this=exp.Add(this=number, expression=exp.Literal.number(6)))
        weeks = exp.IntDiv(this=begun, expression=exp.Literal.number(7))
        return exp.func("LPAD", cast_sql(weeks, "TEXT"), exp.Literal.number(2), exp.Literal.string("0"))
    name = pattern.written.removeprefix("FM")
    spelled = {"MONTH": "%B", "MON": "%b", "DAY": "%A", "DY": "%a"}[name.upper()]
    text = exp.func("STRFTIME", moment.copy(), exp.Literal.string(spelled))
    if pattern.width > 3 and not pattern.written.startswith("FM"):
        text = exp.func("RPAD", text, exp.Literal.number(pattern.width), exp.Literal.string(" "))
    return exp.Upper(this=text) if name.isupper() else exp.Lower(this=text) if name.islower() else text


def _truncated(node: exp.Expr, write: Write) -> Typed:
    sql = exp.TimestampTrunc(this=write(node.this).sql, unit=node.args["unit"].copy())
    return Typed(sql, SqlType(Family.TIMESTAMP))


def _at_zone(node: exp.Expr, write: Write) -> Typed:
    inner, zone = write(node.this), node.args["zone"].copy()
    family = Family.TIMESTAMP if inner.type.family is Family.TIMESTAMPTZ else Family.TIMESTAMPTZ
    return Typed(exp.AtTimeZone(this=inner.sql, zone=zone), SqlType(family))


_TEXTS_AND_MOMENTS: Handlers = {
    **dict.fromkeys((exp.Length, exp.StrPosition), _count),
    **dict.fromkeys((exp.Lower, exp.Upper, exp.Substring, exp.Left, exp.Right), _text),
    **dict.fromkeys((exp.DPipe, exp.Replace, exp.SplitPart, exp.Pad), _text),
    exp.FarmFingerprint: _hash,
    exp.Trim: _trim,
    exp.ToChar: _formatted,
    Age: _age,
    TextDate: _text_date,
    exp.DateFromParts: _date_from_parts,
    exp.Extract: _extract,
    exp.TimestampTrunc: _truncated,
    exp.AtTimeZone: _at_zone,
}

_SAME_TEXT = frozenset(Family) - {Family.NUMERIC, Family.FLOAT, Family.TIMESTAMPTZ, Family.INET, Family.OTHER}
"""Types whose text is the same in both databases, in the years 1 to 9999; no key of a domain leaves these years."""
_LITERALS = {
    "date": Family.DATE,
    "timestamp": Family.TIMESTAMP,
    "timestamptz": Family.TIMESTAMPTZ,
    "uuid": Family.UUID,
    "time": Family.TIME,
}


def _cast(value: Typed, target: exp.DataType) -> Typed | None:
    if isinstance(value.sql, exp.Null) and is_type(target, "boolean"):  # the unknown condition
        return truth(cast_sql(value.sql, "BOOLEAN"))
    if is_type(target, "double") and not value.type.is_number:  # NULL, or a choice between NULLs
        return floating(cast_sql(value.sql, "DOUBLE"))
    if is_type(target, "decimal") and value.type == REAL:  # PostgreSQL's numeric of a real has six digits
        return floating(cast_sql(exp.func("PRINTF", exp.Literal.string("%.6g"), value.sql), "DOUBLE"))
    if is_type(target, "smallint", "int", "bigint") and (value.type.is_number or value.type.family is Family.BOOL):
        digits = value.type.precision if value.type.family is Family.INTEGER and is_type(target, "bigint") else None
        return Typed(exp.Cast(this=value.sql, to=target.copy()), SqlType(Family.INTEGER, digits))
    if is_type(target, "time") and value.type.family is Family.TIMESTAMP:
        return Typed(exp.TryCast(this=value.sql, to=target.copy()), SqlType(Family.TIME))
    if is_type(target, "date", "timestamp") and value.type.is_moment and not isinstance(value.sql, exp.Literal):
        family = Family.DATE if is_type(target, "date") else Family.TIMESTAMP
        return Typed(exp.TryCast(this=value.sql, to=target.copy()), SqlType(family))
    return None


def compared(operands: Sequence[Typed]) -> list[exp.Expr]:
    """The sides of a comparison, in a common type. Raises: UnsupportedSQL if no type holds every value.

    A date beside a timestamp becomes a timestamp, or NULL beyond its years; a plain cast would fail.

    >>> day = Typed(exp.column("d"), SqlType(Family.DATE))
    >>> moment = Typed(exp.column("t"), SqlType(Family.TIMESTAMP))
    >>> [side.sql("duckdb") for side in compared([day, moment])]
    ['TRY_CAST(d AS TIMESTAMP)', 't']
    >>> huge = Typed(exp.Literal.number("1" + "0" * 50), SqlType(Family.NUMERIC, 51, 0))
    >>> [side.sql("duckdb")[:16] for side in compared([Typed(exp.column("n"), SqlType(Family.INTEGER)), huge])]
    ['n', "CAST('1000000000"]
    """
    operands = far_literals_as_doubles(operands)
    if not any(is_moment(operand) for operand in operands):
        return aligned(operands)
    stamp = exp.DataType.build("TIMESTAMP")
    return [
        exp.TryCast(this=operand.sql, to=stamp.copy()) if operand.type.family is Family.DATE else operand.sql
        for operand in operands
    ]


SHARED = Differences(
    "DuckDB",
    compared,
    aligned,
    _cast,
    lambda kind: kind.has_one_text or kind.family in _SAME_TEXT,
    _LITERALS,
    remainder=lambda value, unit: exp.Mod(this=value, expression=unit),
    quotient=divided,
    whole=lambda node, inner: type(node)(this=inner),
    truncates=True,
)

# Numbers


def _arithmetic(node: exp.Expr, write: Write) -> Typed:
    step = node.args["expression"]
    if isinstance(step, exp.Mul) and isinstance(step.right, exp.Interval):
        count = cast_sql(write(step.left).sql, "BIGINT")
        moved = _times(count, step.right) or exp.Paren(this=exp.Mul(this=count, expression=step.right.copy()))
        return Typed(type(node)(this=write(node.this).sql, expression=moved), SqlType(Family.TIMESTAMP))
    if isinstance(step, exp.Interval):
        return Typed(type(node)(this=write(node.this).sql, expression=step.copy()), SqlType(Family.TIMESTAMP))
    left, right = write(node.this), write(node.args["expression"])
    families = (left.type.family, right.type.family)
    if Family.DATE in families:
        return _days(node, left, right)
    if Family.FLOAT in families:
        return floating(type(node)(this=as_double(left), expression=as_double(right)))
    kind = exact_sum(left, right, node)
    return Typed(type(node)(this=as_exact(left, kind), expression=as_exact(right, kind)), kind)


_MICROSECONDS = {"SECOND": 10**6, "MINUTE": 60 * 10**6, "HOUR": 3600 * 10**6}


def _times(count: exp.Expr, step: exp.Interval) -> exp.Expr | None:
    """Multiply a step of hours, minutes or seconds; None for another. DuckDB's own product takes an INTEGER."""
    one = _MICROSECONDS.get(step.text("unit").upper())
    if one is None:
        return None
    whole = exp.Mul(this=count, expression=cast_sql(exp.Literal.number(int(step.this.name) * one), "BIGINT"))
    return exp.Anonymous(this="to_microseconds", expressions=[whole])


def _days(node: exp.Expr, left: Typed, right: Typed) -> Typed:
    """date - date is a number of days; date + days is a date, for which DuckDB needs an INTEGER."""
    if left.type.family is right.type.family:
        return Typed(exp.Sub(this=left.sql, expression=right.sql), SqlType(Family.INTEGER, 8))
    sides = [side.sql if side.type.family is Family.DATE else cast_sql(side.sql, "INT") for side in (left, right)]
    return Typed(type(node)(this=sides[0], expression=sides[1]), SqlType(Family.DATE))


def _whole_quotient(node: exp.Expr, write: Write) -> Typed:
    """PostgreSQL's div() and DuckDB's // both drop the fraction; the latter takes integers only."""
    left, right = write(node.this), write(node.args["expression"])
    kind = exact_type(left.whole, 0)
    sides = [cast_sql(as_exact(side), "HUGEINT") for side in (left, right)]
    return Typed(as_decimal(exp.Paren(this=exp.IntDiv(this=sides[0], expression=sides[1])), kind), kind)


def _sign(node: exp.Expr, write: Write) -> Typed:
    inner = write(node.this)
    if inner.type.family is Family.FLOAT:
        return floating(cast_sql(exp.Sign(this=inner.sql), "DOUBLE"))
    return Typed(exp.Sign(this=as_exact(inner)), SqlType(Family.INTEGER, 1))


def _of_double(node: exp.Expr, write: Write) -> Typed:
    """SQRT, LN and EXP come from the C library in both databases."""
    return floating(type(node)(this=as_double(write(node.this))))


def _power(node: exp.Expr, write: Write) -> Typed:
    base, exponent = (as_double(write(part)) for part in (node.this, node.args["expression"]))
    return floating(exp.Pow(this=base, expression=exponent))


def _sum(node: exp.Expr, write: Write) -> Typed:
    inner = write(node.this)
    assert inner.type.family is Family.INTEGER, "weights are whole numbers"
    return Typed(exp.Sum(this=inner.sql), numeric(38, 0))


_NUMBERS: Handlers = {
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul), _arithmetic),
    **dict.fromkeys((exp.Sqrt, exp.Ln, exp.Exp), _of_double),
    exp.IntDiv: _whole_quotient,
    exp.Sign: _sign,
    exp.Pow: _power,
    exp.Sum: _sum,
}


# Statements

_ROW_DIGITS = 12
_OTHER = SqlType(Family.OTHER)


def _like(node: exp.Expr, write: Write) -> Typed:
    """DuckDB has no default escape character; PostgreSQL's is the backslash."""
    like = type(node)(this=write(node.this).sql, expression=node.args["expression"].copy())
    escaped = exp.Escape(this=like, expression=exp.Literal.string("\\"))
    return truth(exp.Not(this=escaped) if node.args.get("negate") else escaped)


HANDLERS: Handlers = {
    **SHARED.handlers(),
    **_NUMBERS,
    **_TEXTS_AND_MOMENTS,
    exp.Like: _like,
    exp.ILike: _like,
}


def _aggregate(call: exp.Expr, value: Typed, distinct: bool) -> Typed:
    sql = type(call)(this=exp.Distinct(expressions=[value.sql]) if distinct else value.sql)
    if isinstance(call, exp.Count):
        return Typed(sql, SqlType(Family.INTEGER))
    if not isinstance(call, exp.Sum) or value.type.family is Family.FLOAT:
        return Typed(sql, value.type)
    kind = numeric(min(value.whole + _ROW_DIGITS, MOST_DIGITS - value.scale), value.scale)
    return Typed(as_decimal(sql, kind), kind)


def _elements(node: exp.Expr, write: Write) -> Typed:
    """The elements of a list, or of a text that is split by a separator without a pattern."""
    split = node.this
    if isinstance(split, exp.Column):
        return Typed(exp.Explode(this=write(split).sql), _OTHER)
    text, by = split.expressions if isinstance(split, exp.Anonymous) else (split.this, split.expression)
    parts = exp.Anonymous(this="STRING_SPLIT", expressions=[write(text).sql, by.copy()])
    return Typed(exp.Explode(this=parts), _TEXT)


_AGGREGATES: Handlers = {
    **dict.fromkeys((exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Filter), SHARED.aggregate(_aggregate)),
    exp.Window: window,
    exp.Explode: _elements,
}
"""For subqueries that act as tables, and for statements over public tables."""


def duckdb_sql(tree: exp.Expr, schema: Schema | None, *, handlers: Handlers = HANDLERS) -> str:
    """Write a question for DuckDB. Raises: UnsupportedSQL where DuckDB would differ or could fail for a row."""
    assert schema is not None, "DuckDB's statements depend on the columns' types"
    tables = dict(tables_by_alias(tree, schema))
    return _sql(Writer(tables, handlers, schema=schema, aggregates=_AGGREGATES).write(tree).sql)


def duckdb_public_sql(tree: exp.Expr, tables: Mapping[str, Table]) -> str:
    """Write a statement over public tables for DuckDB. Raises: UnsupportedSQL where DuckDB would differ."""
    return _sql(Writer(tables, public_handlers(HANDLERS, _AGGREGATES), PUBLIC_CLAUSES).write(tree).sql)


def _sql(tree: exp.Expr) -> str:
    return tree.sql("duckdb", unsupported_level=ErrorLevel.RAISE, comments=False)
