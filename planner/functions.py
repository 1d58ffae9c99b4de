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
from fnmatch import fnmatchcase

from sqlglot import exp

from planner import casts, choices, division, moments, numbers, operators, predicates, texts
from planner import functions_of_numbers as of_number
from planner.scalar import Binder, Scalar

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
_COMPARES = "two numbers, texts, moments, booleans or uuids -> boolean"
_EXACT = "types that compare exactly; literals are read by the planner"
_CASTS = "whole number -> numeric, double, text; boolean -> whole number; date <-> timestamp; literals"

_CLOCK = Function("-> timestamp or date", "replaced by a literal before anything else", moments.unknown_now,
    frozenset(), ())  # fmt: skip

# fmt: off
TABLE: dict[type[exp.Expr], Function] = {
    # numbers
    exp.Add: Function("numbers -> number; date + whole literal; moment + interval literal -> timestamp", _ARITHMETIC,
        operators.arithmetic, _BOTH, ("{i} + {i}", "{n} + 1.5", "{f} + {i}", "{d} + 30", "{z} + INTERVAL '2' MONTH")),
    exp.Sub: Function("as +; date - date -> days", _ARITHMETIC,
        operators.arithmetic, _BOTH, ("{i} - {n}", "{f} - 1", "{d} - {d}", "{s} - INTERVAL '3000' YEAR", "{d} - 7")),
    exp.Mul: Function("numbers -> number", _ARITHMETIC,
        operators.arithmetic, _BOTH, ("{i} * {i}", "{n} * (1 - {n})", "{f} * {f}", "{i} * {f}")),
    exp.Div: Function("numbers -> number; whole ones drop the fraction", "the denominator is proved not to be zero",
        division.quotient, _BOTH | {"typed", "safe"},
        ("{i} / 7", "{n} / 0.3", "{f} / NULLIF({f}, 0)", "{i} / NULLIF({i}, 0)", "{n} / ({i} * {i} + 1)")),
    exp.Mod: Function("exact number, literal other than 0 -> number", "exact, and the divisor is a literal",
        division.remainder, _BOTH, ("{i} % 7", "mod({n}, 0.25)", "mod({i}, -3)")),
    exp.Neg: Function("number -> number", _ARITHMETIC, numbers.negated, _ONE, ("-{i}", "-{f}", "-{n}")),
    exp.Abs: Function("number -> number", "total", of_number.absolute, _ONE, ("abs({i})", "abs({f})", "abs({n})")),
    exp.Sign: Function("number -> number", "total", of_number.sign, _ONE, ("sign({i})", "sign({f})", "sign({n})")),
    exp.Ceil: Function("number -> number", "total", of_number.ceiling, _ONE, ("ceil({n})", "ceiling({f})")),
    exp.Floor: Function("number -> number", "total", of_number.ceiling, _ONE, ("floor({n})", "floor({f})")),
    exp.Round: Function("number, literal digits from -12 to 12 -> number", "exact, or by floor from clamped columns",
        of_number.rounded, _ONE | {"decimals"}, ("round({n})", "round({n}, 1)", "round({i}, -2)", "round({f})")),
    exp.Trunc: Function("as round", "exact, or from clamped columns",
        of_number.rounded, _ONE | {"decimals"}, ("trunc({n})", "trunc({n}, 1)", "trunc({f})", "trunc({i}, -3)")),
    exp.Pow: Function("number, literal from 0 to 16 -> double", "from clamped columns within the range of a double",
        of_number.power, _BOTH, ("power({f}, 2)", "{n} ^ 3", "power({i}, 0)")),
    exp.Sqrt: Function("number -> double", "proved not to be negative",
        of_number.square_root, _ONE, ("sqrt(abs({f}))", "sqrt({i} * {i})", "sqrt(greatest({n}, 0))")),
    exp.Ln: Function("number -> double", "proved to be positive",
        of_number.logarithm, _ONE, ("ln(greatest({f}, 1))", "ln({i} * {i} + 1)", "ln(NULLIF(abs({n}), 0))")),
    exp.Log: Function("as ln, of base 10", "proved to be positive",
        of_number.logarithm, _BOTH, ("log(greatest({f}, 0.5))", "log10(abs({n}) + 1)")),
    exp.Exp: Function("number -> double", "proved to be small enough",
        of_number.exponential, _ONE, ("exp(least({f}, 5))", "exp(-abs({n}))")),
    # choices
    exp.Case: Function("conditions and values of one type -> that type", "its parts are total",
        choices.case, frozenset({"this", "ifs", "default"}),
        ("CASE WHEN {f} > {n} THEN {i} ELSE {f} END", "CASE {i} WHEN 1 THEN {t} WHEN 2 THEN {c} END",
         "CASE WHEN {b} THEN {n} END", "CASE WHEN {t} LIKE 'a%' THEN {d} ELSE {s} END")),
    exp.Coalesce: Function("values of one type -> that type", "its parts are total",
        choices.coalesced, frozenset({"this", "expressions"}),
        ("coalesce({n}, {i}, 0)", "coalesce({f}, 0)", "coalesce({t}, 'none')", "coalesce({d}, {s})")),
    exp.Nullif: Function("two values of one type -> that type; NULLIF(x, 0) is no zero", "its parts are total",
        choices.nullified, _BOTH, ("nullif({i}, 0)", "nullif({f}, {n})", "nullif({c}, 'a')", "nullif({d}, {d})")),
    exp.Least: Function("values of one type -> that type", "its parts are total; NULLs are skipped",
        choices.extreme, frozenset({"this", "expressions", "ignore_nulls"}),
        ("least({i}, 5)", "least({f}, {n})", "least({d}, {d})", "least({t}, {c})")),
    exp.Greatest: Function("as least", "its parts are total; NULLs are skipped",
        choices.extreme, frozenset({"this", "expressions", "ignore_nulls"}),
        ("greatest({i}, {n}, -5)", "greatest({f}, 0)", "greatest({s}, {z})")),
    exp.Cast: Function(_CASTS, "no value fails; integers keep every digit; numeric -> double by digits or range",
        casts.cast, frozenset({"this", "to"}),
        ("{i}::numeric", "{n}::float8", "{i}::text", "{n}::int", "{d}::timestamp", "{s}::date", "{z}::date",
         "{b}::int", "{c}::text", "{n}::numeric(16, 1)", "{i}::smallint")),
    # text
    exp.Length: Function("text -> whole number", "total", texts.length, _ONE, ("length({t})", "char_length({c})")),
    exp.Lower: Function("text -> text", "cut at 2^20 characters", texts.cased, _ONE, ("lower({t})", "lower({c})")),
    exp.Upper: Function("text -> text", "cut at 2^20 characters", texts.cased, _ONE, ("upper({t})",)),
    exp.Trim: Function("text, literal characters -> text", "cut at 2^20 characters",
        texts.trimmed, frozenset({"this", "expression", "position"}),
        ("trim({t})", "ltrim({t}, 'ab')", "trim(TRAILING FROM {c})", "btrim({t}, '')")),
    exp.Substring: Function("text, literals -> text", "literals that are in range",
        texts.substring, frozenset({"this", "start", "length"}),
        ("substring({t} FROM 2 FOR 3)", "substr({c}, 2)", "substring({t}, 1, 0)")),
    exp.Left: Function("text, literal -> text", "a literal that is in range", texts.side, _BOTH, ("left({t}, 2)",)),
    exp.Right: Function("text, literal -> text", "a literal that is in range", texts.side, _BOTH, ("right({c}, 0)",)),
    exp.DPipe: Function("texts -> text", "cut at 2^20 characters each",
        texts.joined, _BOTH | {"safe"}, ("{t} || {c}", "{t} || 'é' || {t}")),
    exp.StrPosition: Function("text, literal -> whole number", "total",
        texts.position, frozenset({"this", "substr"}), ("position('a' IN {t})", "strpos({c}, '')")),
    exp.StartsWith: Function("text, literal -> boolean", "total",
        texts.starts_with, _BOTH, ("starts_with({t}, 'a')", "starts_with({c}, '')")),
    # dates
    exp.Extract: Function("field, moment -> whole number", "NULL outside the years 1 to 9999",
        moments.extracted, _BOTH,
        ("extract(year FROM {d})", "date_part('dow', {s})", "extract(hour FROM {z})", "extract(week FROM {d})",
         "extract(isodow FROM {d})", "extract(doy FROM {s})", "extract(quarter FROM {d})", "extract(day FROM {z})",
         "extract(month FROM {d} + INTERVAL '1' MONTH)", "extract(minute FROM {s})")),
    exp.TimestampTrunc: Function("literal unit, moment -> timestamp", "NULL outside the years 1 to 9999",
        moments.truncated, frozenset({"this", "unit"}),
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
    exp.DataType: frozenset({"this", "nested", "expressions"}),
    exp.DataTypeParam: _ONE,
    exp.Parameter: _ONE,
    exp.Paren: _ONE,
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Null: frozenset(),
}
"""What the grammar lets through of scalar expressions."""

# What is refused is refused because it is not above; these say why, and what to write instead.
_REFUSED: tuple[tuple[str, str | None, tuple[str, ...]], ...] = (
    ("it gives another value each time", None,
     ("random*", "rand", "uuid*", "gen_random*", "setseed", "clock_timestamp", "timeofday")),
    ("it depends on more than the snapped clock", "use now() or current_date",
     ("statement_timestamp", "transaction_timestamp", "current_time", "localtime")),
    ("it depends on the session", None,
     ("current_user", "session_user", "current_role", "current_schema*", "current_catalog", "current_database",
      "current_setting", "set_config", "version", "inet_*", "pg_backend_pid", "user")),
    ("it changes something", None, ("nextval", "setval", "lo_*", "pg_notify", "pg_*lock*", "txid_*")),
    ("it speaks of physical rows", None, ("currval", "lastval", "pg_column_*", "pg_relation_*", "pg_total_*")),
    ("it reads the server's files, catalog or state", None,
     ("pg_*", "has_*", "to_reg*", "col_description", "obj_description", "format_type", "binary_upgrade_*")),
    ("it reaches other servers", None, ("dblink*", "postgres_fdw*")),
    ("it runs SQL or walks documents", None,
     ("query_to_*", "table_to_*", "cursor_to_*", "schema_to_*", "database_to_*", "xml*", "xpath*", "json*",
      "to_json*")),
    ("it returns several rows", "join a table instead",
     ("generate_*", "unnest", "explode*", "regexp_split_to_table", "string_to_table", "series", "posexplode*")),
    ("a regular expression can take for ever", "use LIKE", ("regexp_*", "similar_*")),
    ("it gives an interval, of which months have no length", "subtract dates: CAST(x AS DATE) - CAST(y AS DATE)",
     ("age",)),
    ("it fails for text that is no such value", "compare the text itself",
     ("to_date", "to_timestamp", "to_number")),
    ("its value depends on the order of rows", None,
     ("lag", "lead", "row_number", "rank", "first*", "last*", "nth*")),
)  # fmt: skip


def why_refused(name: str) -> tuple[str, str | None]:
    """Why a function is not in the table, and what to write instead.

    >>> why_refused("random"), why_refused("age")[0], why_refused("my_function")
    (('it gives another value each time', None), 'it gives an interval, of which months have no length', ('', None))
    """
    for reason, hint, names in _REFUSED:
        if any(fnmatchcase(name.lower(), pattern) for pattern in names):
            return reason, hint
    return "", None
