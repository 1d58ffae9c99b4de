"""Casts, texts and datetimes for Spark. No cast fails for a row, and all give PostgreSQL's values.

The session's `TIMESTAMP` has no time zone, while Spark's functions of timestamps take one with a time zone, which is
UTC; the conversion loses nothing. A timestamp has 64 bits of microseconds, and becomes NULL beyond them.

Fields and steps that are not listed are refused, and so are other time zones. LOWER, UPPER, INITCAP and to_char are
refused, since Java's letters and names differ from the C library's. So are places before the first character and
negative lengths, which the two read differently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.rewriting.dialects.duckdb_and_spark import (
    Handler,
    Handlers,
    Typed,
    Write,
    aligned,
    as_exact,
    far_literals_as_doubles,
    is_moment,
    moments_of_difference,
)
from planner.rewriting.guard_weight import UNITS, WEIGHT
from planner.sql.literals import interval_of
from planner.sql.sql_types import REAL, Family, SqlType
from planner.sql.trees import cast_sql, has_fraction, is_type


def call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    """Build a call of a Spark function by its name.

    >>> call("TRY_DIVIDE", exp.column("x"), number(2)).sql("spark")
    'TRY_DIVIDE(x, 2)'
    """
    return exp.Anonymous(this=name, expressions=list(arguments))


def number(value: int) -> exp.Expr:
    """Build the literal of a whole number."""
    return exp.Literal.number(value)


def double(text: str) -> exp.Cast:
    """The nearest double of a literal; Spark reads 0.1 as a decimal."""
    return cast_sql(exp.Literal.string(text), "DOUBLE")


def try_cast(sql: exp.Expr, kind: str) -> exp.TryCast:
    """A cast that returns NULL instead of failing, since a failure would reveal a row.

    >>> try_cast(exp.column("x"), "BIGINT").sql("spark")
    'TRY_CAST(x AS BIGINT)'
    """
    return exp.TryCast(this=sql, to=exp.DataType.build(kind), safe=True)  # without it the library writes CAST


def where_known(condition: exp.Expr, value: exp.Expr) -> exp.Case:
    """The value where a condition holds, else NULL. It is not computed for other rows."""
    return exp.Case().when(condition, value, copy=False)


_MOMENT = SqlType(Family.TIMESTAMP)
_DAYS = 106_751_990
"""No timestamp of Spark is more days before or after 1970."""

_MICROS_PER_DAY = 86_400_000_000
_MOST_MICROS = 9_190_000_000_000_000_000
"""The start of the year is also a timestamp for all of these, with a thousand years to spare."""

_FIELDS = {"YEAR": "YEAR", "QUARTER": "QUARTER", "MONTH": "MONTH", "DAY": "DAY", "WEEK": "WEEK", "DOY": "DOY",
           "ISODOW": "DAYOFWEEK_ISO", "ISOYEAR": "YEAROFWEEK"}  # fmt: skip
_TIMES = {"HOUR": "HOUR", "MINUTE": "MINUTE"}
_STEPS = frozenset({"YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"})
_UNITS = dict.fromkeys(("YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"), 10**9)


def as_moment(value: Typed) -> exp.Expr:
    """A date as a timestamp, or NULL beyond the years of timestamps, where a plain cast would fail.

    >>> as_moment(Typed(exp.column("d"), SqlType(Family.DATE))).sql("spark")
    'CASE WHEN UNIX_DATE(d) BETWEEN -106751990 AND 106751990 THEN CAST(d AS TIMESTAMP) END'
    """
    if value.type.family is not Family.DATE:
        return value.sql
    days = call("UNIX_DATE", value.sql.copy())
    inside = exp.Between(this=days, low=exp.Neg(this=number(_DAYS)), high=number(_DAYS))
    return where_known(inside, cast_sql(value.sql, "TIMESTAMP"))


def moment_plus(node: exp.Expr, write: Write) -> Typed:
    """A date or timestamp plus an interval; NULL beyond the range. Raises: UnsupportedSQL."""
    interval = node.args["expression"]
    moment = write(node.this)
    if not isinstance(interval, exp.Interval) or moment.type.family not in (Family.DATE, Family.TIMESTAMP):
        raise UnsupportedSQL("this arithmetic with intervals is not supported on Spark")
    name = "TRY_ADD" if isinstance(node, exp.Add) else "TRY_SUBTRACT"
    count, unit = interval_of(interval, _UNITS)
    step = exp.Interval(this=exp.Literal.string(str(count)), unit=exp.var(unit))
    return Typed(call(name, as_moment(moment), step), _MOMENT)


def _extract(node: exp.Expr, write: Write) -> Typed:
    """Fields that both databases number alike. Sunday is DOW 1 in Spark and 0 in PostgreSQL."""
    assert isinstance(node, exp.Extract)
    field = node.this.name.upper()
    micros = _micros_between(node.args["expression"], write)
    if micros is not None:
        return _of_difference(field, micros)
    value = write(node.args["expression"])
    if value.type.family not in (Family.DATE, Family.TIMESTAMP):
        raise _refused(field)
    if field == "EPOCH" or (field == "SECOND" and has_fraction(node)):
        return _seconds(field, value)
    if field == "DOW":
        sunday_is_1 = call("DAYOFWEEK", value.sql)
        return Typed(exp.Paren(this=exp.Sub(this=sunday_is_1, expression=number(1))), SqlType(Family.INTEGER, 4))
    if field == "SECOND":  # of a moment truncated to whole seconds
        return Typed(call("SECOND", value.sql), SqlType(Family.INTEGER, 4))
    known = _FIELDS if value.type.family is Family.DATE else {**_FIELDS, **_TIMES}
    if field not in known:
        raise _refused(field)
    sql = exp.Extract(this=exp.var(known[field]), expression=value.sql)
    return Typed(sql, SqlType(Family.INTEGER, 6))


def _refused(field: str) -> UnsupportedSQL:
    return UnsupportedSQL(f"EXTRACT({field}) of this is not supported on Spark")


def _seconds(field: str, value: Typed) -> Typed:
    """Seconds with their fraction, from whole microseconds."""
    micros = _micros(as_moment(value))
    if field == "EPOCH":
        return _of_micros(micros)
    minute = call("PMOD", micros, cast_sql(number(60_000_000), "BIGINT"))
    return _of_micros(minute)


def _of_difference(field: str, micros: exp.Expr) -> Typed:
    """All seconds of a difference of timestamps, or its days of 24 hours, as in PostgreSQL."""
    if field == "EPOCH":
        return _of_micros(micros)
    if field != "DAY":
        raise _refused(field)
    days = exp.IntDiv(this=micros, expression=cast_sql(number(_MICROS_PER_DAY), "BIGINT"))
    return Typed(exp.Paren(this=days), SqlType(Family.INTEGER, 9))


def _of_micros(micros: exp.Expr) -> Typed:
    """Seconds with six digits, from an exact product of decimals."""
    whole, millionth = cast_sql(micros, "DECIMAL(19, 0)"), cast_sql(exp.Literal.string("0.000001"), "DECIMAL(7, 6)")
    product = exp.Paren(this=exp.Mul(this=whole, expression=millionth))
    return Typed(cast_sql(product, "DECIMAL(20, 6)"), SqlType(Family.NUMERIC, 20, 6))


def _micros(moment: exp.Expr) -> exp.Expr:
    return call("UNIX_MICROS", cast_sql(moment, "TIMESTAMPLTZ"))


def _micros_between(operand: exp.Expr, write: Write) -> exp.Expr | None:
    """SQL of the microseconds between two timestamps, NULL beyond 64 bits; None for anything else."""
    sides = moments_of_difference(operand, write)
    return None if sides is None else call("TRY_SUBTRACT", *(_micros(side.sql) for side in sides))


def _truncated(node: exp.Expr, write: Write) -> Typed:
    step, value = node.args["unit"].name.upper(), write(node.this)
    if step not in _STEPS or value.type.family not in (Family.DATE, Family.TIMESTAMP):
        raise UnsupportedSQL(f"date_trunc to {step.lower()} is not supported on Spark")
    moment = as_moment(value)
    start = call("DATE_TRUNC", exp.Literal.string(step), cast_sql(moment.copy(), "TIMESTAMPLTZ"))
    low, high = exp.Neg(this=number(_MOST_MICROS)), number(_MOST_MICROS)
    inside = exp.Between(this=_micros(moment), low=low, high=high)
    return Typed(where_known(inside, cast_sql(start, "TIMESTAMP")), _MOMENT)


MOMENTS: Handlers = {
    exp.Extract: _extract,
    exp.TimestampTrunc: _truncated,
}


_TEXT = SqlType(Family.TEXT)
_COUNT = SqlType(Family.INTEGER, 10)


def _text(node: exp.Expr, write: Write) -> exp.Expr:
    value = write(node)
    if value.type.family is not Family.TEXT:
        raise UnsupportedSQL("a function of texts of another type is not supported on Spark", hint="write a cast")
    return value.sql


def _place(node: exp.Expr | None, least: int) -> exp.Expr:
    """A whole literal of at least `least`."""
    if not (isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit() and int(node.name) >= least):
        raise UnsupportedSQL(f"this function of texts on Spark needs a whole literal of at least {least}")
    return node.copy()


def _of_texts(
    name: str, *parts: str, least: Mapping[str, int] = MappingProxyType({}), kind: SqlType = _TEXT
) -> Handler:
    """A handler of a function of texts, and of whole literals with a `least` value. Absent parts are left out."""

    def handler(node: exp.Expr, write: Write) -> Typed:
        given = [(part, node.args.get(part)) for part in parts]
        arguments = [
            _place(value, least[part]) if part in least else _text(value, write)
            for part, value in given
            if value is not None
        ]
        return Typed(call(name, *arguments), kind)

    return handler


def _hash(node: exp.Expr, write: Write) -> Typed:
    return Typed(call("HASH", *(_text(text, write) for text in node.expressions)), _COUNT)


def _position(node: exp.Expr, write: Write) -> Typed:
    if any(value for name, value in node.args.items() if name not in ("this", "substr")):
        raise UnsupportedSQL("this search in a text is not supported on Spark")
    return _of_texts("LOCATE", "substr", "this", kind=_COUNT)(node, write)


def _letters(node: exp.Expr | None, write: Write) -> exp.Expr:
    return exp.Literal.string(" ") if node is None else _text(node, write)


def _trimmed(node: exp.Expr, write: Write) -> Typed:
    side = str(node.args.get("position") or "BOTH").upper()
    if side not in ("BOTH", "LEADING", "TRAILING"):
        raise UnsupportedSQL("this TRIM is not supported on Spark")
    letters, value = _letters(node.args.get("expression"), write), _text(node.this, write)
    if side == "BOTH":
        return Typed(call("BTRIM", value, letters), _TEXT)
    return Typed(call("LTRIM" if side == "LEADING" else "RTRIM", letters, value), _TEXT)


def _joined(node: exp.Expr, write: Write) -> Typed:
    left, right = (_text(part, write) for part in (node.this, node.args["expression"]))
    return Typed(exp.DPipe(this=left, expression=right, safe=True), _TEXT)


def _split(node: exp.Expr, write: Write) -> Typed:
    delimiter = node.args["delimiter"]
    if not (isinstance(delimiter, exp.Literal) and delimiter.name):
        raise UnsupportedSQL("split_part on Spark needs a literal separator that is not empty")
    return _of_texts("SPLIT_PART", "this", "delimiter", "part_index", least={"part_index": 1})(node, write)


def _padded(node: exp.Expr, write: Write) -> Typed:
    letters, width = _letters(node.args.get("fill_pattern"), write), _place(node.args["expression"], 0)
    return Typed(call("LPAD" if node.args.get("is_left") else "RPAD", _text(node.this, write), width, letters), _TEXT)


TEXTS: Handlers = {
    exp.FarmFingerprint: _hash,
    exp.Length: _of_texts("CHAR_LENGTH", "this", kind=_COUNT),
    exp.StrPosition: _position,
    exp.Trim: _trimmed,
    exp.Substring: _of_texts("SUBSTRING", "this", "start", "length", least={"start": 1, "length": 0}),
    exp.Left: _of_texts("LEFT", "this", "expression", least={"expression": 0}),
    exp.Right: _of_texts("RIGHT", "this", "expression", least={"expression": 0}),
    exp.DPipe: _joined,
    exp.Replace: _of_texts("REPLACE", "this", "expression", "replacement"),
    exp.SplitPart: _split,
    exp.Pad: _padded,
}


_WHOLE = {"SMALLINT": 5, "INT": 10, "BIGINT": 19}
_CHOOSABLE = (
    {Family.INTEGER, Family.NUMERIC, Family.FLOAT}, {Family.TEXT}, {Family.BOOL}, {Family.DATE}, {Family.TIMESTAMP},
    {Family.TIMESTAMPTZ},
)  # fmt: skip
"""Families that may meet in one choice."""

SAME_TEXT = frozenset({Family.INTEGER, Family.TEXT, Family.BOOL, Family.DATE, Family.TIMESTAMP})
"""Types whose text is the same in both databases, in the years 1 to 9999; no key of a domain leaves these years."""

LITERALS = {"date": Family.DATE, "timestamp": Family.TIMESTAMP}


def chosen(values: Sequence[Typed]) -> list[exp.Expr]:
    """The values of a choice, cast to one type. Spark would choose a type of its own for texts beside numbers."""
    families = {value.type.family for value in values} - {Family.OTHER}
    if not any(families <= together for together in _CHOOSABLE):
        raise UnsupportedSQL("a choice between values of these types is not supported on Spark")
    return aligned(values)


def weight(node: exp.Expr, write: Write) -> Typed | None:
    """Write what `guard_weight` makes, with FLOOR outside of its whole bounds; None for another cast.

    So FLOOR applies to a small number, for which Spark returns a bigint.
    """
    if WEIGHT not in node.meta:
        return None
    number = write(node.this.expressions[0].expressions[0].this.this)  # CAST, GREATEST, LEAST, COALESCE, FLOOR
    if number.type.family is not Family.FLOAT:
        return None
    known = call("COALESCE", number.sql, double("0"))
    clamped = call("GREATEST", double("0"), call("LEAST", double(str(UNITS)), known))
    return Typed(call("FLOOR", clamped), SqlType(Family.INTEGER))


def spark_cast(value: Typed, target: exp.DataType) -> Typed | None:
    """CAST(value AS target) where Spark and DuckDB differ; else None. Raises: UnsupportedSQL.

    PostgreSQL rounds to a whole number: halves of a decimal away from zero, of a double to even. Spark truncates.

    >>> column = Typed(exp.column("x"), SqlType(Family.FLOAT))
    >>> spark_cast(column, exp.DataType.build("BIGINT")).sql.sql("spark")
    'TRY_CAST(RINT(x) AS BIGINT)'
    """
    family = value.type.family
    if isinstance(value.sql, exp.Null):
        return _null_of(value, target)
    if value.type == REAL and is_type(target, "decimal"):
        raise UnsupportedSQL("a real as numeric is not supported on Spark", hint="write x::double precision")
    for name, digits in _WHOLE.items():
        if is_type(target, name) and (value.type.is_number or family is Family.BOOL):
            return Typed(_whole(value, name, digits), SqlType(Family.INTEGER, digits))
    if isinstance(value.sql, exp.Literal) or family not in (Family.DATE, Family.TIMESTAMP):
        return None
    if is_type(target, "timestamp"):
        return Typed(as_moment(value), SqlType(Family.TIMESTAMP))
    if is_type(target, "date"):
        return Typed(value.sql if family is Family.DATE else cast_sql(value.sql, "DATE"), SqlType(Family.DATE))
    return None


def _null_of(value: Typed, target: exp.DataType) -> Typed:
    for name in ("DOUBLE", "BIGINT", "TEXT", "BOOLEAN", "DATE"):
        if is_type(target, name) and not target.expressions:
            families = {"DOUBLE": Family.FLOAT, "BIGINT": Family.INTEGER, "TEXT": Family.TEXT}
            family = families.get(name, Family.BOOL if name == "BOOLEAN" else Family.DATE)
            return Typed(cast_sql(value.sql, name), SqlType(family))
    raise UnsupportedSQL(f"NULL as {target.sql('postgres').lower()} is not supported on Spark")


def _whole(value: Typed, name: str, digits: int) -> exp.Expr:
    family = value.type.family
    if family is Family.BOOL or (value.is_literal and not value.scale and value.whole < digits):
        return cast_sql(value.sql, name)
    if family is Family.INTEGER:
        narrower = (value.type.precision or 19) <= digits
        return cast_sql(value.sql, name) if narrower else try_cast(value.sql, name)
    if family is Family.FLOAT:
        return try_cast(call("RINT", value.sql), name)
    return try_cast(call("ROUND", as_exact(value), number(0)) if value.scale else value.sql, name)


_COMPARABLE = frozenset(Family) - {Family.UUID, Family.ENUM, Family.CHAR, Family.TIME, Family.INET}


def compared(operands: Sequence[Typed]) -> list[exp.Expr]:
    """The sides of a comparison, in a common type. Raises: UnsupportedSQL if no type holds every value.

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
    operands = far_literals_as_doubles(operands)
    if any(is_moment(operand) for operand in operands):
        return [as_moment(operand) for operand in operands]
    return aligned(operands)
