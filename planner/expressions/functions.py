"""Every scalar function and operator that an analyst may use: one table, and nothing that is not in it.

Each row says what it takes and gives, and why its rewriting can fail for no row: it is total as it stands,
total by its rewriting, or refused unless the declared ranges prove its argument. Each also gives examples, which
the tests run over hostile values in a real PostgreSQL. In them {i} is a whole number, {n} a numeric, {f} a
double, {t} a text, {c} a char(n), {d} a date, {s} a timestamp, {z} a timestamp with time zone, {b} a boolean.

Decided here: a denominator must be proved not to be zero, and NULLIF(y, 0) is such a proof; `x / y` is never
rewritten silently. Dates outside the years 1 to 9999, `infinity` too, give NULL in functions and arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from planner.expressions import arithmetic, casts, conditionals, datetimes, predicates, strings
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
    """One row.

    Attributes:
      takes: what it is applied to, and what it gives.
      total: why it can fail for no row.
      bind: checks the arguments and writes the SQL.
      parts: what of sqlglot's node may be present.
      examples: uses of it, with holes.
    """

    takes: str
    total: str
    bind: Callable[[exp.Expr, Binder], Scalar]
    parts: frozenset[str]
    examples: tuple[str, ...]


_ARITHMETIC = "as numeric with counted digits; as double, from clamped columns within the range of a double"

_COMPARES = "two numbers, texts, datetimes, times, booleans, uuids or addresses -> boolean"

_EXACT = "types that compare exactly; literals are read by the planner"

_CASTS = "whole number -> numeric, double; boolean -> whole number; date <-> timestamp; most -> text; literals"

_CLOCK = Function("-> timestamp or date", "replaced by a literal before anything else", datetimes.unknown_now,
    frozenset(), ())  # fmt: skip


_TIMES = (Family.TIMESTAMP, Family.TIMESTAMPTZ)

_A_DAY = exp.Interval(this=exp.Literal.string("1"), unit=exp.var("DAY"))


def _added_or_multiplied(node: exp.Expr, binder: Binder) -> Scalar:
    """`+`, `-`, `*` of numbers; `+` and `-` of datetimes, too."""
    assert isinstance(node, exp.Binary), "an operator"
    if any(isinstance(part.unnest(), exp.Interval) for part in (node.left, node.right)):
        return datetimes.shifted(node, binder)
    left, right = binder.scalar(node.left), binder.scalar(node.right)
    if isinstance(right.plain, exp.Parameter) and left.type is not None and left.type.family in _TIMES:
        sample(right.plain, SqlType(Family.OTHER))  # of what is subtracted from a time nothing else has an answer
        return datetimes.shifted(type(node)(this=node.left, expression=_A_DAY), binder)
    if any(part.type is not None and part.type.is_moment for part in (left, right)):
        return datetimes.of_days(node, left, right, binder)
    return arithmetic.combined(node, left, right, binder)


def _day(node: exp.Expr, binder: Binder) -> Scalar:
    """`date(x)`, PostgreSQL's other spelling of CAST(x AS DATE)."""
    written = cast_sql(copied(node.this), "DATE")
    written.meta.update(node.meta)
    return casts.cast(written, binder)


# fmt: off
TABLE: dict[type[exp.Expr], Function] = {
    # numbers
    exp.Add: Function("numbers -> number; date + whole number; datetime + interval -> timestamp", _ARITHMETIC,
        _added_or_multiplied, _BOTH, ("{i} + {i}", "{n} + 1.5", "{f} + {i}", "{d} + 30", "{d} + {i}::int",
         "{z} + INTERVAL '2' MONTH")),
    exp.Sub: Function("as +; date - date -> days", _ARITHMETIC,
        _added_or_multiplied, _BOTH,
        ("{i} - {n}", "{f} - 1", "{d} - {d}", "{s} - INTERVAL '3000' YEAR", "{d} - 7", "{d} - {i}::int")),
    exp.Mul: Function("numbers -> number", _ARITHMETIC,
        _added_or_multiplied, _BOTH, ("{i} * {i}", "{n} * (1 - {n})", "{f} * {f}", "{i} * {f}")),
    exp.Div: Function("numbers -> number; whole ones drop the fraction", "the denominator is proved not to be zero",
        of_number.quotient, _BOTH | {"typed", "safe"},
        ("{i} / 7", "{n} / 0.3", "{f} / NULLIF({f}, 0)", "{i} / NULLIF({i}, 0)", "{n} / ({i} * {i} + 1)")),
    exp.Mod: Function("exact number, literal other than 0 -> number", "exact, and the divisor is a literal",
        of_number.remainder, _BOTH, ("{i} % 7", "mod({n}, 0.25)", "mod({i}, -3)")),
    exp.Neg: Function("number -> number", _ARITHMETIC, arithmetic.negated, _ONE, ("-{i}", "-{f}", "-{n}")),
    exp.Abs: Function("number -> number", "total", of_number.absolute, _ONE, ("abs({i})", "abs({f})", "abs({n})")),
    exp.Sign: Function("number -> number", "total", of_number.sign, _ONE, ("sign({i})", "sign({f})", "sign({n})")),
    exp.Ceil: Function("number -> number", "total",
        of_number.ceiling, _ONE, ("ceil({n})", "ceiling({f})", "ceil({i})")),
    exp.Floor: Function("number -> number", "total",
        of_number.ceiling, _ONE, ("floor({n})", "floor({f})", "floor({i})")),
    exp.Round: Function("number, literal digits from -12 to 12 -> number", "exact, or by floor from clamped columns",
        of_number.rounded, _ONE | {"decimals"},
        ("round({n})", "round({n}, 1)", "round({i}, -2)", "round({f})", "round({i})")),
    exp.Trunc: Function("as round", "exact, or from clamped columns",
        of_number.rounded, _ONE | {"decimals"},
        ("trunc({n})", "trunc({n}, 1)", "trunc({f})", "trunc({i}, -3)", "trunc({i})")),
    exp.Pow: Function("number, literal from 0 to 16 -> double", "from clamped columns within the range of a double",
        of_number.power, _BOTH, ("power({f}, 2)", "{n} ^ 3", "power({i}, 0)", "{i} ^ 2")),
    exp.Sqrt: Function("number -> double", "proved not to be negative",
        of_number.square_root, _ONE, ("sqrt(abs({f}))", "sqrt({i} * {i})", "sqrt(greatest({n}, 0))")),
    exp.Ln: Function("number -> double", "proved to be positive",
        of_number.logarithm, _ONE, ("ln(greatest({f}, 1))", "ln({i} * {i} + 1)", "ln(NULLIF(abs({n}), 0))")),
    exp.Log: Function("as ln, of base 10", "proved to be positive",
        of_number.logarithm, _BOTH, ("log(greatest({f}, 0.5))", "log10(abs({n}) + 1)")),
    exp.WidthBucket: Function("number, three literals -> whole number", "the width is proved not to be zero",
        of_number.width_bucket, frozenset({"this", "min_value", "max_value", "num_buckets"}),
        ("width_bucket({i}, 0, 100, 7)", "width_bucket({n}, -2.5, 10.1, 3)", "width_bucket({f}, -0.3, 7, 11)")),
    exp.Exp: Function("number -> double", "proved to be small enough",
        of_number.exponential, _ONE, ("exp(least({f}, 5))", "exp(-abs({n}))")),
    # choices
    exp.Case: Function("conditions and values of one type -> that type", "its parts are total",
        conditionals.case, frozenset({"this", "ifs", "default"}),
        ("CASE WHEN {f} > {n} THEN {i} ELSE {f} END", "CASE {i} WHEN 1 THEN {t} WHEN 2 THEN {c} END",
         "CASE WHEN {b} THEN {n} END",
         "CASE WHEN {b} THEN {i} ELSE 2 END", "CASE WHEN {b} THEN {i} ELSE 2.5 END",
         "CASE WHEN {t} LIKE 'a%' THEN {d} ELSE {s} END")),
    exp.Coalesce: Function("values of one type -> that type", "its parts are total",
        conditionals.coalesced, frozenset({"this", "expressions"}),
        ("coalesce({n}, {i}, 0)", "coalesce({f}, 0)", "coalesce({i}, 1.5)",
         "coalesce({t}, 'none')", "coalesce({d}, {s})")),
    exp.Nullif: Function("two values of one type -> that type; NULLIF(x, 0) is no zero", "its parts are total",
        conditionals.nullified, _BOTH, ("nullif({i}, 0)", "nullif({f}, {n})", "nullif({c}, 'a')",
         "nullif({d}, {d})")),
    exp.Least: Function("values of one type -> that type", "its parts are total; NULLs are skipped",
        conditionals.extreme, frozenset({"this", "expressions", "ignore_nulls"}),
        ("least({i}, 5)", "least({i}, 2.5)", "least({f}, {n})", "least({d}, {d})", "least({t}, {c})")),
    exp.Greatest: Function("as least", "its parts are total; NULLs are skipped",
        conditionals.extreme, frozenset({"this", "expressions", "ignore_nulls"}),
        ("greatest({i}, {n}, -5)", "greatest({f}, 0)", "greatest({s}, {z})")),
    exp.Cast: Function(_CASTS, "no value fails; integers keep every digit; numeric -> double by digits or range",
        casts.cast, frozenset({"this", "to"}),
        ("{i}::numeric", "{n}::float8", "{i}::float8", "{i}::text", "{n}::int", "{d}::timestamp", "{s}::date",
         "{z}::date",
         "{d}::text", "{s}::text", "{z}::text", "{n}::text", "{t}::varchar(3)", "{i}::varchar(2)", "{t}::char(2)",
         "{b}::int", "{c}::text", "{n}::numeric(16, 1)", "{i}::smallint")),
    # text
    exp.Length: Function("text -> whole number", "total", strings.length, _ONE, ("length({t})", "char_length({c})")),
    exp.Lower: Function("text -> text", "cut at 2^20 characters", strings.cased, _ONE, ("lower({t})", "lower({c})")),
    exp.Upper: Function("text -> text", "cut at 2^20 characters", strings.cased, _ONE, ("upper({t})",)),
    exp.Trim: Function("text, literal characters -> text", "cut at 2^20 characters",
        strings.trimmed, frozenset({"this", "expression", "position"}),
        ("trim({t})", "ltrim({t}, 'ab')", "trim(TRAILING FROM {c})", "btrim({t}, '')")),
    exp.Substring: Function("text, literals -> text", "literals that are in range",
        strings.substring, frozenset({"this", "start", "length"}),
        ("substring({t} FROM 2 FOR 3)", "substr({c}, 2)", "substring({t}, 1, 0)")),
    exp.Left: Function("text, literal -> text", "a literal that is in range", strings.side, _BOTH, ("left({t}, 2)",)),
    exp.Right: Function("text, literal -> text", "a literal that is in range",
        strings.side, _BOTH, ("right({c}, 0)",)),
    exp.DPipe: Function("texts -> text", "cut at 2^20 characters each",
        strings.joined, _BOTH | {"safe"}, ("{t} || {c}", "{t} || 'é' || {t}")),
    exp.Concat: Function("values -> text; NULL has none", "cut at 2^20 characters each",
        strings.concatenated, frozenset({"expressions", "safe", "coalesce"}),
        ("concat({t}, '-', {i})", "concat({d}, {b}, {n})", "concat({c}, '.')")),
    exp.ConcatWs: Function("literal, values -> text; NULL is left out", "cut at 2^20 characters each",
        strings.joined_by, frozenset({"expressions", "safe", "coalesce"}),
        ("concat_ws(', ', {t}, {i}, {t})", "concat_ws('', {s}, 'a', {b})")),
    exp.Replace: Function("text, two literals -> text", "cut at 2^20 characters",
        strings.replaced, frozenset({"this", "expression", "replacement"}),
        ("replace({t}, 'a', 'bcd')", "replace({c}, 'b', '')", "replace({t}, '', 'x')")),
    exp.SplitPart: Function("text, literal, literal -> text", "a literal that is in range",
        strings.split, frozenset({"this", "delimiter", "part_index"}),
        ("split_part({t}, 'a', 2)", "split_part({c}, ' ', 1)")),
    exp.Initcap: Function("text -> text", "cut at 2^20 characters", strings.cased, _ONE, ("initcap({t})",)),
    exp.Pad: Function("text, literal, literal -> text", "a literal that is in range",
        strings.padded, frozenset({"this", "expression", "fill_pattern", "is_left"}),
        ("lpad({t}, 3, 'xy')", "rpad({c}, 4)", "lpad({i}::text, 2, '0')")),
    exp.StrPosition: Function("text, literal -> whole number", "total",
        strings.position, frozenset({"this", "substr"}), ("position('a' IN {t})", "strpos({c}, '')")),
    exp.StartsWith: Function("text, literal -> boolean", "total",
        strings.starts_with, _BOTH, ("starts_with({t}, 'a')", "starts_with({c}, '')")),
    # dates
    exp.Extract: Function("field, datetime -> numeric; date_part -> double", "NULL outside the years 1 to 9999",
        datetimes.extracted_of_difference, _BOTH,
        ("extract(year FROM {d})", "date_part('dow', {s})", "extract(hour FROM {z})", "extract(week FROM {d})",
         "extract(isodow FROM {d})", "extract(doy FROM {s})", "extract(quarter FROM {d})", "extract(day FROM {z})",
         "extract(month FROM {d} + INTERVAL '1' MONTH)", "extract(minute FROM {s})",

         "extract(second FROM {s})", "extract(epoch FROM {z})", "extract(epoch FROM {d})",
         "extract(isoyear FROM {d})",
         "extract(epoch FROM {s} - {z})", "extract(epoch FROM ({s} - {d})) / 3600", "extract(day FROM {z} - {s})",
         "extract(year FROM age({d}, {s}))", "extract(month FROM age({s}, {z}))", "extract(day FROM age({s}, {s}))",
         "extract(day FROM age({d}, {d}))",
         "date_part('month', {d}) / 3", "extract(month FROM {s}) / 5", "date_part('year', {z})::int / 10")),
    Age: Function("two datetimes -> an interval, in EXTRACT(year | month | day FROM age(a, b)) alone",
        "NULL outside the years 1 to 9999", datetimes.age, _BOTH, ()),
    exp.ToChar: Function("datetime, literal format -> text", "known patterns; NULL outside the years 1 to 9999",
        strings.to_char, frozenset({"this", "format"}),
        ("to_char({d}, 'YYYY-MM')", "to_char({s}, 'YYYY-MM-DD\"T\"HH24:MI:SS.MS')", "to_char({z}, 'Dy DD Mon YY')",
         "to_char({d}, 'IYYY-\"W\"IW ID')", "to_char({d}, 'YYYY \"Q\"Q, DDD')", "to_char({s}, 'HH12:MI AM, US%')",
         "to_char({d}, 'Month|MONTH|month|MON|mon|')", "to_char({d}, 'Day|DAY|day|DY|dy|yyyymmdd')",
         "to_char({z}, 'FMDay, FMDD FMMonth FMHH24 FMMM')")),
    exp.Date: Function("datetime, literal -> date", "as CAST(x AS DATE)", _day, _ONE, ("date({s})", "date({z})")),
    exp.AtTimeZone: Function("datetime, literal zone -> timestamp", "NULL outside the years 1 to 9999",
        datetimes.at_zone, frozenset({"this", "zone"}),
        ("{z} AT TIME ZONE 'UTC'", "{s} AT TIME ZONE 'UTC'", "date_trunc('day', {z} AT TIME ZONE 'UTC')")),
    exp.TimestampTrunc: Function("literal unit, datetime -> timestamp", "NULL outside the years 1 to 9999",
        datetimes.truncated, frozenset({"this", "unit", "zone"}),
        ("date_trunc('month', {d})", "date_trunc('hour', {z})", "date_trunc('week', {s} - INTERVAL '5' DAY)")),
    exp.CurrentTimestamp: _CLOCK,
    exp.Localtimestamp: _CLOCK,
    exp.CurrentDate: _CLOCK,
    # conditions
    exp.EQ: Function(_COMPARES, _EXACT, predicates.compared, _BOTH,
        ("{i} = {n}", "{t} = {c}", "{d} = {z}", "{b} = true", "{f} = {i}", "{d} = '2020-01-31'")),
    exp.NEQ: Function(_COMPARES, _EXACT, predicates.compared, _BOTH, ("{t} <> 'a'", "{d} <> {s}")),
    exp.LT: Function(_COMPARES, _EXACT, predicates.compared, _BOTH, ("{n} < {i}", "{z} < {d}")),
    exp.LTE: Function(_COMPARES, _EXACT, predicates.compared, _BOTH, ("{f} <= 1e50",)),
    exp.GT: Function(_COMPARES, _EXACT, predicates.compared, _BOTH, ("{t} > {t}", "{i} > '-3'")),
    exp.GTE: Function(_COMPARES, _EXACT, predicates.compared, _BOTH, ("{s} >= '2020-01-01'", "{b} >= {b}")),
    exp.Between: Function("three values of one type -> boolean", _EXACT,
        predicates.between, frozenset({"this", "low", "high", "symmetric"}),
        ("{i} BETWEEN 1 AND {n}", "{f} BETWEEN SYMMETRIC {f} AND 3", "{d} NOT BETWEEN {s} AND {z}")),
    exp.In: Function("value, literals -> boolean", _EXACT,
        predicates.listed, frozenset({"this", "expressions"}), ("{i} IN (1, 2.5)", "{c} NOT IN ('a', 'b ')")),
    exp.Like: Function("text, literal pattern -> boolean", "a pattern of at most 16 %",
        predicates.like, _NEGATED, ("{t} LIKE '%a_\\%'", "{c} NOT LIKE 'a%'")),
    exp.ILike: Function("text, literal pattern -> boolean", "a pattern of at most 16 %",
        predicates.like, _NEGATED, ("{t} ILIKE 'É%'", "{c} NOT ILIKE '%A%'")),
    exp.Escape: Function("LIKE with another escape character", "it becomes a backslash",
        predicates.like, _BOTH, ("{t} LIKE 'a!%%' ESCAPE '!'", "{t} LIKE 'a\\%' ESCAPE ''")),
    exp.Is: Function("value IS [NOT] NULL; condition IS [NOT] TRUE, FALSE, UNKNOWN -> boolean", "total",
        predicates.tested, _NEGATED, ("{f} IS NULL", "({i} > {n}) IS NOT TRUE", "{b} IS FALSE", "{b} IS UNKNOWN")),
    exp.NullSafeEQ: Function(_COMPARES, _EXACT, predicates.distinguished, _BOTH, ("{n} IS NOT DISTINCT FROM {i}",)),
    exp.NullSafeNEQ: Function(_COMPARES, _EXACT, predicates.distinguished, _BOTH,
        ("{t} IS DISTINCT FROM 'a'", "{d} IS DISTINCT FROM NULL")),
    exp.And: Function("conditions -> boolean", "total", predicates.connected, _BOTH, ("{b} AND {i} > 1",)),
    exp.Or: Function("conditions -> boolean", "total", predicates.connected, _BOTH, ("{b} OR {f} > 1",)),
    exp.Not: Function("condition -> boolean", "total", predicates.denied, _ONE, ("NOT {b}",)),
    exp.Boolean: Function("-> boolean", "total", predicates.constant, _ONE, ("{b} = FALSE",)),
}

# fmt: on

PARTS: dict[type[exp.Expr], frozenset[str]] = {
    **{node: row.parts for node, row in TABLE.items()},
    exp.If: frozenset({"this", "true"}),
    exp.Interval: frozenset({"this", "unit"}),
    exp.Var: _ONE,
    exp.DataType: frozenset({"this", "nested", "expressions", "kind"}),
    exp.Dot: _BOTH,
    exp.DataTypeParam: _ONE,
    exp.Parameter: _ONE,
    exp.Paren: _ONE,
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Null: frozenset(),
}
"""What the grammar lets through of scalar expressions."""
