"""The table of all scalar functions and operators that an analyst may use.

Each row says what the function takes and returns, and why it fails for no row. Either it cannot fail, or its
rewriting cannot, or the declared ranges prove its argument valid. The tests run examples
(`tests/support/function_examples.py`) on PostgreSQL with hostile values.

`x / y` is NULL where y is zero, as with NULLIF(y, 0). Dates outside the years 1 to 9999, and `infinity`, give NULL in
functions and arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.expressions import arithmetic, casts, conditionals, datetimes, made_dates, predicates, strings
from planner.expressions import numeric_functions as of_number
from planner.expressions.coercion import sample
from planner.expressions.scalar import Binder, Scalar
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import Age, cast_sql, copied

_BOTH = frozenset({"this", "expression"})

_ONE = frozenset({"this"})

_NEGATED = _BOTH | {"negate"}


@dataclass(frozen=True)
class Function:
    """One row of the table.

    Attributes:
      takes: the types of arguments and result.
      total: why it fails for no row.
      bind: checks the arguments and writes the SQL.
      parts: the parts of sqlglot's node that may be present.
    """

    takes: str
    total: str
    bind: Callable[[exp.Expr, Binder], Scalar]
    parts: frozenset[str]


_ARITHMETIC = "numerics: counted digits; doubles: clamped columns, so that no result leaves the range of a double"

_COMPARES = "two numbers, texts, datetimes, times, booleans, uuids or addresses -> boolean"

_EXACT = "types that compare exactly; literals are checked before any row is read"

_CASTS = "whole number -> numeric, double; boolean -> whole number; date <-> timestamp; most -> text; literals"

_CLOCK = Function("-> timestamp or date", "replaced by a literal before anything else", datetimes.refused_clock,
    frozenset())  # fmt: skip


_TIMES = (Family.TIMESTAMP, Family.TIMESTAMPTZ)


_A_DAY = exp.Interval(this=exp.Literal.string("1"), unit=exp.var("DAY"))


def _added_or_multiplied(node: exp.Expr, binder: Binder) -> Scalar:
    """`+`, `-` and `*` of numbers; `+` and `-` of datetimes."""
    assert isinstance(node, exp.Binary), "an operator"
    steps = [datetimes.is_step(part) for part in (node.left, node.right)]
    if any(steps) and not all(steps):
        return datetimes.shifted(node, binder)
    left, right = binder.scalar(node.left), binder.scalar(node.right)
    if isinstance(right.plain, exp.Parameter) and left.type is not None and left.type.family in _TIMES:
        sample(right.plain, SqlType(Family.INTERVAL))  # nothing else subtracted from a time has an answer
        return datetimes.shifted(type(node)(this=node.left, expression=_A_DAY), binder)
    if left.is_interval and right.is_interval and not isinstance(node, exp.Mul):
        return arithmetic.combined(node, left.seconds, right.seconds, binder).interval
    if any(part.type is not None and part.type.is_moment for part in (left, right)):
        return datetimes.of_days(node, left, right, binder)
    return arithmetic.combined(node, left, right, binder)


def _day(node: exp.Expr, binder: Binder) -> Scalar:
    """`date(x)`, which means CAST(x AS DATE)."""
    if node.this is None:
        raise UnsupportedSQL("date() needs an argument", hint="write date(x), or current_date", at=node)
    written = cast_sql(copied(node.this), "DATE")
    written.meta.update(node.meta)
    return casts.cast(written, binder)


# fmt: off
TABLE: dict[type[exp.Expr], Function] = {
    # numbers
    exp.Add: Function("numbers -> number; date + whole number; datetime + interval -> timestamp", _ARITHMETIC,
        _added_or_multiplied, _BOTH),
    exp.Sub: Function("as +; date - date -> days; timestamp - timestamp -> interval", _ARITHMETIC,
        _added_or_multiplied, _BOTH),
    exp.Mul: Function("numbers -> number", _ARITHMETIC, _added_or_multiplied, _BOTH),
    exp.Div: Function("numbers -> number; whole ones drop the fraction", "NULL where the denominator is 0",
        of_number.quotient, _BOTH | {"typed", "safe"}),
    exp.Mod: Function("exact number, literal other than 0 -> number", "exact, and the divisor is a literal",
        of_number.remainder, _BOTH),
    exp.Neg: Function("number -> number", _ARITHMETIC, arithmetic.negated, _ONE),
    exp.Abs: Function("number -> number", "total", of_number.absolute, _ONE),
    exp.Sign: Function("number -> number", "total", of_number.sign, _ONE),
    exp.Ceil: Function("number -> number", "total", of_number.ceiling, _ONE),
    exp.Floor: Function("number -> number", "total", of_number.ceiling, _ONE),
    exp.Round: Function("number, literal digits from -12 to 12 -> number", "exact, or by floor from clamped columns",
        of_number.rounded, _ONE | {"decimals"}),
    exp.Trunc: Function("as round", "exact, or from clamped columns", of_number.rounded, _ONE | {"decimals"}),
    exp.Pow: Function("number, literal from 0 to 16 -> double", "clamped columns, so no result leaves the range",
        of_number.power, _BOTH),
    exp.Sqrt: Function("number -> double", "proved not to be negative", of_number.square_root, _ONE),
    exp.Ln: Function("number -> double", "proved to be positive", of_number.logarithm, _ONE),
    exp.Log: Function("as ln, of base 10 or a literal base", "proved to be positive", of_number.logarithm, _BOTH),
    exp.WidthBucket: Function("number, three literals -> whole number", "the width is proved not to be zero",
        of_number.width_bucket, frozenset({"this", "min_value", "max_value", "num_buckets"})),
    exp.Exp: Function("number -> double", "proved to be small enough", of_number.exponential, _ONE),
    # choices
    exp.Case: Function("conditions and values of one type -> that type", "its parts cannot fail",
        conditionals.case, frozenset({"this", "ifs", "default"})),
    exp.Coalesce: Function("values of one type -> that type", "its parts cannot fail",
        conditionals.coalesced, frozenset({"this", "expressions"})),
    exp.Nullif: Function("two values of one type -> that type; NULLIF(x, 0) is never zero", "its parts cannot fail",
        conditionals.nullified, _BOTH),
    exp.Least: Function("values of one type -> that type", "its parts cannot fail; NULLs are skipped",
        conditionals.extreme, frozenset({"this", "expressions", "ignore_nulls"})),
    exp.Greatest: Function("as least", "its parts cannot fail; NULLs are skipped",
        conditionals.extreme, frozenset({"this", "expressions", "ignore_nulls"})),
    exp.Cast: Function(_CASTS, "no value fails; integers keep every digit; numeric -> double, at most 1e300",
        casts.cast, frozenset({"this", "to"})),
    # text
    exp.Length: Function("text -> whole number", "total", strings.length, _ONE),
    exp.Lower: Function("text -> text", "reads at most 2^20 characters", strings.cased, _ONE),
    exp.Upper: Function("text -> text", "reads at most 2^20 characters", strings.cased, _ONE),
    exp.Trim: Function("text, literal characters -> text", "reads at most 2^20 characters",
        strings.trimmed, frozenset({"this", "expression", "position"})),
    exp.Substring: Function("text, literals -> text", "literals that are in range",
        strings.substring, frozenset({"this", "start", "length"})),
    exp.Left: Function("text, literal -> text", "a literal that is in range", strings.side, _BOTH),
    exp.Right: Function("text, literal -> text", "a literal that is in range", strings.side, _BOTH),
    exp.DPipe: Function("texts -> text", "reads at most 2^20 characters of each", strings.joined, _BOTH | {"safe"}),
    exp.Concat: Function("values -> text; NULL has none", "reads at most 2^20 characters of each",
        strings.concatenated, frozenset({"expressions", "safe", "coalesce"})),
    exp.ConcatWs: Function("literal, values -> text; NULL is left out", "reads at most 2^20 characters of each",
        strings.joined_by, frozenset({"expressions", "safe", "coalesce"})),
    exp.Replace: Function("text, two literals -> text", "reads at most 2^20 characters",
        strings.replaced, frozenset({"this", "expression", "replacement"})),
    exp.SplitPart: Function("text, literal, literal -> text", "a literal that is in range",
        strings.split, frozenset({"this", "delimiter", "part_index"})),
    exp.Initcap: Function("text -> text", "reads at most 2^20 characters", strings.cased, _ONE),
    exp.Pad: Function("text, literal, literal -> text", "a literal that is in range",
        strings.padded, frozenset({"this", "expression", "fill_pattern", "is_left"})),
    exp.StrPosition: Function("text, literal -> whole number", "total",
        strings.position, frozenset({"this", "substr"})),
    exp.StartsWith: Function("text, literal -> boolean", "total", strings.starts_with, _BOTH),
    # dates
    exp.Extract: Function("field, datetime -> numeric; date_part -> double", "NULL outside the years 1 to 9999",
        datetimes.extracted_of_difference, _BOTH),
    Age: Function("two datetimes -> an interval, in EXTRACT and in comparisons",
        "NULL outside the years 1 to 9999", datetimes.age, _BOTH),
    exp.Interval: Function("literal -> interval", "a literal that is in range", datetimes.interval,
        frozenset({"this", "unit"})),
    exp.ToChar: Function("datetime, literal format -> text", "known patterns; NULL outside the years 1 to 9999",
        strings.to_char, frozenset({"this", "format"})),
    exp.Date: Function("datetime, literal -> date", "as CAST(x AS DATE)", _day, _ONE),
    exp.AtTimeZone: Function("datetime, literal zone -> timestamp", "NULL outside the years 1 to 9999",
        datetimes.at_zone, frozenset({"this", "zone"})),
    exp.TimestampTrunc: Function("literal unit, datetime -> timestamp", "NULL outside the years 1 to 9999",
        datetimes.truncated, frozenset({"this", "unit", "zone"})),
    exp.CurrentTimestamp: _CLOCK,
    exp.Localtimestamp: _CLOCK,
    exp.CurrentDate: _CLOCK,
    exp.DateFromParts: Function("three whole numbers -> date", "NULL for numbers that are no date",
        made_dates.make_date, frozenset({"year", "month", "day"})),
    exp.StrToDate: Function("text, literal format -> date", "NULL for a text of another form",
        made_dates.to_date, frozenset({"this", "format"})),
    exp.UnixToTime: Function("whole seconds -> timestamptz", "NULL outside the years 1 to 9999",
        made_dates.to_timestamp, _ONE),
    exp.DateBin: Function("literal step, datetime, literal origin -> timestamp", "NULL outside the years 1 to 9999",
        made_dates.date_bin, frozenset({"this", "expression", "unit"})),
    # conditions
    exp.EQ: Function(_COMPARES, _EXACT, predicates.compared, _BOTH),
    exp.NEQ: Function(_COMPARES, _EXACT, predicates.compared, _BOTH),
    exp.LT: Function(_COMPARES, _EXACT, predicates.compared, _BOTH),
    exp.LTE: Function(_COMPARES, _EXACT, predicates.compared, _BOTH),
    exp.GT: Function(_COMPARES, _EXACT, predicates.compared, _BOTH),
    exp.GTE: Function(_COMPARES, _EXACT, predicates.compared, _BOTH),
    exp.Between: Function("three values of one type -> boolean", _EXACT,
        predicates.between, frozenset({"this", "low", "high", "symmetric"})),
    exp.In: Function("value, literals -> boolean", _EXACT, predicates.listed, frozenset({"this", "expressions"})),
    exp.Like: Function("text, literal pattern -> boolean", "a pattern of at most 16 %", predicates.like, _NEGATED),
    exp.ILike: Function("text, literal pattern -> boolean", "a pattern of at most 16 %", predicates.like, _NEGATED),
    exp.Escape: Function("LIKE with another escape character", "it becomes a backslash", predicates.like, _BOTH),
    exp.Is: Function("value IS [NOT] NULL; condition IS [NOT] TRUE, FALSE, UNKNOWN -> boolean", "total",
        predicates.tested, _NEGATED),
    exp.NullSafeEQ: Function(_COMPARES, _EXACT, predicates.distinguished, _BOTH),
    exp.NullSafeNEQ: Function(_COMPARES, _EXACT, predicates.distinguished, _BOTH),
    exp.And: Function("conditions -> boolean", "total", predicates.connected, _BOTH),
    exp.Or: Function("conditions -> boolean", "total", predicates.connected, _BOTH),
    exp.Not: Function("condition -> boolean", "total", predicates.denied, _ONE),
    exp.Boolean: Function("-> boolean", "total", predicates.constant, _ONE),
}

# fmt: on

PARTS: dict[type[exp.Expr], frozenset[str]] = {
    **{node: row.parts for node, row in TABLE.items()},
    exp.If: frozenset({"this", "true"}),
    exp.Var: _ONE,
    exp.DataType: frozenset({"this", "nested", "expressions", "kind"}),
    exp.Dot: _BOTH,
    exp.DataTypeParam: _ONE,
    exp.Parameter: _ONE,
    exp.Paren: _ONE,
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Null: frozenset(),
}
"""The parts of scalar expressions that the grammar allows."""
