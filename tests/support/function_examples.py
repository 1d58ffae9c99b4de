"""Examples of every scalar function that an analyst may use, which the tests run over hostile values.

In them {i} is a whole number, {n} a numeric, {f} a double, {t} a text, {c} a char(n), {d} a date, {s} a timestamp,
{z} a timestamp with time zone, {b} a boolean. A row of `planner.expressions.functions` without examples fails
`tests/unit/planner/expressions/test_bind_scalar.py`.
"""

from __future__ import annotations

from sqlglot import exp

# fmt: off
EXAMPLES_OF: dict[type[exp.Expr], tuple[str, ...]] = {
    # numbers
    exp.Add: ("{i} + {i}", "{n} + 1.5", "{f} + {i}", "{d} + 30", "{d} + {i}::int", "{z} + INTERVAL '2' MONTH",
              "{d} + {i} * INTERVAL '1 day'", "{s} + ({i} || ' minutes')::interval",
              "{s} + INTERVAL '1 month - 3 days'"),
    exp.Sub: ("{i} - {n}", "{f} - 1", "{d} - {d}", "{s} - INTERVAL '3000' YEAR", "{d} - 7", "{d} - {i}::int",
              "{s} - make_interval(hours => {i}::int)", "{s} - floor({f}) * INTERVAL '1 hour'", "{s} - {d}",
              "({s} - {s}) + ({d} - {s})", "({s} - {d}) - INTERVAL '1 day 2 hours'"),
    exp.Interval: ("coalesce({s} - {s}, INTERVAL '36 hours')", "greatest({s} - {d}, INTERVAL '1 month')"),
    exp.Mul: ("{i} * {i}", "{n} * (1 - {n})", "{f} * {f}", "{i} * {f}"),
    exp.Div: ("{i} / 7", "{n} / 0.3", "greatest(least({f} / NULLIF({f}, 0), 9), -9)",
              "{i} / NULLIF({i}, 0)", "{n} / ({i} * {i} + 1)"),
    exp.Mod: ("{i} % 7", "mod({n}, 0.25)", "mod({i}, -3)"),
    exp.Neg: ("-{i}", "-{f}", "-{n}"),
    exp.Abs: ("abs({i})", "abs({f})", "abs({n})"),
    exp.Sign: ("sign({i})", "sign({f})", "sign({n})"),
    exp.Ceil: ("ceil({n})", "ceiling({f})", "ceil({i})"),
    exp.Floor: ("floor({n})", "floor({f})", "floor({i})"),
    exp.Round: ("round({n})", "round({n}, 1)", "round({i}, -2)", "round({f})", "round({i})"),
    exp.Trunc: ("trunc({n})", "trunc({n}, 1)", "trunc({f})", "trunc({i}, -3)", "trunc({i})"),
    exp.Pow: ("power({f}, 2)", "{n} ^ 3", "power({i}, 0)", "{i} ^ 2"),
    exp.Sqrt: ("sqrt(abs({f}))", "sqrt({i} * {i})", "sqrt(greatest({n}, 0))"),
    exp.Ln: ("ln(greatest({f}, 1))", "ln({i} * {i} + 1)", "ln(NULLIF(abs({n}), 0))"),
    exp.Log: (
        "log(greatest({f}, 0.5))", "log10(abs({n}) + 1)", "log(2, greatest({n}, 1))",
    ),
    exp.WidthBucket: (
        "width_bucket({i}, 0, 100, 7)", "width_bucket({n}, -2.5, 10.1, 3)", "width_bucket({f}, -0.3, 7, 11)",
    ),
    exp.Exp: ("exp(least({f}, 5))", "exp(-abs({n}))"),
    # choices
    exp.Case: (
        "CASE WHEN {f} > {n} THEN {i} ELSE {f} END", "CASE {i} WHEN 1 THEN {t} WHEN 2 THEN {c} END",
        "CASE WHEN {b} THEN {n} END", "CASE WHEN {b} THEN {i} ELSE 2 END", "CASE WHEN {b} THEN {i} ELSE 2.5 END",
        "CASE WHEN {t} LIKE 'a%' THEN {d} ELSE {s} END",
    ),
    exp.Coalesce: (
        "coalesce({n}, {i}, 0)", "coalesce({f}, 0)", "coalesce({i}, 1.5)", "coalesce({t}, 'none')",
        "coalesce({d}, {s})",
    ),
    exp.Nullif: ("nullif({i}, 0)", "nullif({f}, {n})", "nullif({c}, 'a')", "nullif({d}, {d})"),
    exp.Least: ("least({i}, 5)", "least({i}, 2.5)", "least({f}, {n})", "least({d}, {d})", "least({t}, {c})"),
    exp.Greatest: ("greatest({i}, {n}, -5)", "greatest({f}, 0)", "greatest({s}, {z})"),
    exp.Cast: (
        "{i}::numeric", "{n}::float8", "{i}::float8", "{i}::text", "{n}::int", "{d}::timestamp", "{s}::date",
        "{z}::date", "{d}::text", "{s}::text", "{z}::text", "{n}::text", "{t}::varchar(3)", "{i}::varchar(2)",
        "{t}::char(2)", "{b}::int", "{c}::text", "{n}::numeric(16, 1)", "{i}::smallint",
        "{f}::int", "sqrt(abs({f}))::bigint", "({f} / 0.5)::smallint",
        "CAST(extract(year FROM {d}) || '-' || extract(month FROM {d}) || '-01' AS date)", "{s}::time", "{z}::time",
    ),
    # text
    exp.Length: ("length({t})", "char_length({c})"),
    exp.Lower: ("lower({t})", "lower({c})"),
    exp.Upper: ("upper({t})",),
    exp.Trim: ("trim({t})", "ltrim({t}, 'ab')", "trim(TRAILING FROM {c})", "btrim({t}, '')"),
    exp.Substring: ("substring({t} FROM 2 FOR 3)", "substr({c}, 2)", "substring({t}, 1, 0)"),
    exp.Left: ("left({t}, 2)",),
    exp.Right: ("right({c}, 0)",),
    exp.DPipe: ("{t} || {c}", "{t} || 'é' || {t}", "{i} || {t}", "extract(year FROM {d}) || '-' || {d}"),
    exp.Concat: ("concat({t}, '-', {i})", "concat({d}, {b}, {n})", "concat({c}, '.')"),
    exp.ConcatWs: ("concat_ws(', ', {t}, {i}, {t})", "concat_ws('', {s}, 'a', {b})"),
    exp.Replace: ("replace({t}, 'a', 'bcd')", "replace({c}, 'b', '')", "replace({t}, '', 'x')"),
    exp.SplitPart: ("split_part({t}, 'a', 2)", "split_part({c}, ' ', 1)"),
    exp.Initcap: ("initcap({t})",),
    exp.Pad: ("lpad({t}, 3, 'xy')", "rpad({c}, 4)", "lpad({i}::text, 2, '0')"),
    exp.StrPosition: ("position('a' IN {t})", "strpos({c}, '')"),
    exp.StartsWith: ("starts_with({t}, 'a')", "starts_with({c}, '')"),
    # dates
    exp.DateFromParts: (
        "make_date(extract(year FROM {d})::int, extract(month FROM {d})::int, 1)",
        "make_date(date_part('year', {s})::int, 12, extract(day FROM {s})::int)", "make_date(2000 + {b}::int, 1, 31)",
    ),
    exp.StrToDate: (
        "to_date(to_char({d}, 'DD.MM.YYYY'), 'DD.MM.YYYY')", "to_date(to_char({s}, 'YYYYMM'), 'YYYYMM')",
        "to_date(extract(year FROM {d}) || '/' || extract(month FROM {d}), 'YYYY/MM')",
    ),
    exp.UnixToTime: (
        "to_timestamp({i})", "to_timestamp(floor(extract(epoch FROM {s}) / 900) * 900)", "to_timestamp({i} / 1000)",
    ),
    exp.DateBin: (
        "date_bin('15 minutes', {s}, TIMESTAMP '2024-01-01')",
        "date_bin('7 days', {d}::timestamp, TIMESTAMP '2024-01-03')",
        "date_bin('1 day 12 hours', {s}, '1970-01-01'::timestamp)",
    ),
    exp.Extract: (
        "extract(hour FROM {s} - {d})", "extract(minutes FROM {z} - {s})", "extract(second FROM {s} - {z})",
        "extract(epoch FROM age({s}, {d}))", "extract(hour FROM age({s}, {z}))", "date_part('qtr', {d})",
        "extract(year FROM {d})", "date_part('dow', {s})", "extract(hour FROM {z})", "extract(week FROM {d})",
        "extract(isodow FROM {d})", "extract(doy FROM {s})", "extract(quarter FROM {d})", "extract(day FROM {z})",
        "extract(month FROM {d} + INTERVAL '1' MONTH)", "extract(minute FROM {s})", "extract(second FROM {s})",
        "extract(epoch FROM {z})", "extract(epoch FROM {d})", "extract(isoyear FROM {d})",
        "extract(epoch FROM {s} - {z})", "extract(epoch FROM ({s} - {d})) / 3600", "extract(day FROM {z} - {s})",
        "extract(year FROM age({d}, {s}))", "extract(month FROM age({s}, {z}))", "extract(day FROM age({s}, {s}))",
        "extract(day FROM age({d}, {d}))", "date_part('month', {d}) / 3", "extract(month FROM {s}) / 5",
        "date_part('year', {z})::int / 10",
    ),
    exp.ToChar: (
        "to_char({d}, 'YYYY-MM')", "to_char({s}, 'YYYY-MM-DD\"T\"HH24:MI:SS.MS')", "to_char({z}, 'Dy DD Mon YY')",
        "to_char({d}, 'IYYY-\"W\"IW ID')", "to_char({d}, 'YYYY \"Q\"Q, DDD')", "to_char({s}, 'HH12:MI AM, US%')",
        "to_char({d}, 'Month|MONTH|month|MON|mon|')", "to_char({d}, 'Day|DAY|day|DY|dy|yyyymmdd')",
        "to_char({z}, 'FMDay, FMDD FMMonth FMHH24 FMMM')",
    ),
    exp.Date: ("date({s})", "date({z})"),
    exp.AtTimeZone: ("{z} AT TIME ZONE 'UTC'", "{s} AT TIME ZONE 'UTC'", "date_trunc('day', {z} AT TIME ZONE 'UTC')"),
    exp.TimestampTrunc: (
        "date_trunc('month', {d})", "date_trunc('hour', {z})", "date_trunc('week', {s} - INTERVAL '5' DAY)",
    ),
    # conditions
    exp.EQ: ("{i} = {n}", "{t} = {c}", "{d} = {z}", "{b} = true", "{f} = {i}", "{d} = '2020-01-31'"),
    exp.NEQ: ("{t} <> 'a'", "{d} <> {s}"),
    exp.LT: ("{n} < {i}", "{z} < {d}"),
    exp.LTE: ("{f} <= 1e50",),
    exp.GT: ("{t} > {t}", "{i} > '-3'"),
    exp.GTE: ("{s} >= '2020-01-01'", "{b} >= {b}"),
    exp.Between: ("{i} BETWEEN 1 AND {n}", "{f} BETWEEN SYMMETRIC {f} AND 3", "{d} NOT BETWEEN {s} AND {z}"),
    exp.In: ("{i} IN (1, 2.5)", "{c} NOT IN ('a', 'b ')"),
    exp.Like: ("{t} LIKE '%a_\\%'", "{c} NOT LIKE 'a%'"),
    exp.ILike: ("{t} ILIKE 'É%'", "{c} NOT ILIKE '%A%'"),
    exp.Escape: ("{t} LIKE 'a!%%' ESCAPE '!'", "{t} LIKE 'a\\%' ESCAPE ''"),
    exp.Is: ("{f} IS NULL", "({i} > {n}) IS NOT TRUE", "{b} IS FALSE", "{b} IS UNKNOWN"),
    exp.NullSafeEQ: ("{n} IS NOT DISTINCT FROM {i}",),
    exp.NullSafeNEQ: ("{t} IS DISTINCT FROM 'a'", "{d} IS DISTINCT FROM NULL"),
    exp.And: ("{b} AND {i} > 1",),
    exp.Or: ("{b} OR {f} > 1",),
    exp.Not: ("NOT {b}",),
    exp.Boolean: ("{b} = FALSE",),
}
# fmt: on
EXAMPLES = [example for examples in EXAMPLES_OF.values() for example in examples]

FAILING = (
    "{t}::date", "CAST({i} || '-' || {i} || '-01' AS date)", "to_date({t}, 'YYYY-MM-DD')",
    "to_date({c}, 'DD/MM/YYYY')",
    "make_date({i}::int, {i}::int, {i}::int)", "make_date(2023, {i}::int, 31)", "make_date({i}::int, 1, 1)",
    "make_date(extract(year FROM {d})::int, 2, extract(day FROM {d})::int)",
)  # fmt: skip
"""What PostgreSQL itself fails for some rows; here they give NULL."""
