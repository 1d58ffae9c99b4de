"""Why a function or construct is refused, and what to write instead."""

from __future__ import annotations

from fnmatch import fnmatchcase

_MOMENTS = "no sum of powers above the second is released; quantiles show a distribution's shape: percentile_cont"

_ORDER = "a row's rank has no private answer; count the rows beyond a value: count(*) FILTER (WHERE x > 10)"

_GROUPS = "group by the values instead, and aggregate each group"

_DAYS = "subtract dates: a::date - b::date is a number of days"

_FIELD = "write extract({} FROM x)"

_INSTEAD: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("write percentile_cont(0.5) WITHIN GROUP (ORDER BY x), or median(x)",
     ("percentile*", "quantile*", "approx_quantile*", "approx_percentile*")),
    (_ORDER, ("ntile", "cume_dist", "percent_rank")),
    ("group by x, and sort the groups by count(*)", ("mode",)),
    ("write stddev(x), or stddev_pop(x)", ("std*", "sd")),
    ("write variance(x), or var_pop(x)", ("var*",)),
    (_MOMENTS, ("skew*", "kurt*")),
    ("write avg(x)", ("average", "mean")),
    ("write exp(avg(ln(x))), of x above 0", ("geometric_mean", "geomean")),
    ("write corr(x, y)", ("correl*", "pearson*")),
    ("write median(x), or avg(x) of the rows that WHERE leaves", ("trimmed_mean", "trimmean")),
    ("write a / nullif(b, 0)", ("safe_divide", "div0")),
    ("group by width_bucket(x, lowest, highest, 10), or floor(x / 10) of a column with a declared range",
     ("histogram*",)),
    ("write to_char(x, 'YYYY-MM'), or group by date_trunc('month', x)",
     ("to_char", "date_format", "strftime", "format_date*")),
    ("cut its parts by position and substring, or split_part(x, '-', 1)", ("substring_index",)),
    ("write date_trunc('month', x)::date, or x + 30, or a date that is written out", ("make_date", "datefromparts")),
    ("write date_trunc('hour', x), or floor(extract(epoch FROM x) / 900) for quarters of an hour",
     ("date_bin", "time_bucket*")),
    (_GROUPS, ("string_agg", "array_agg", "group_concat", "listagg", "json*_agg", "any_value", "arg_m*", "m??_by")),
    ("ask for count(*) FILTER (WHERE condition)",
     ("bool_*", "every", "countif", "count_if", "logical_*")),
    ("write sum(CASE WHEN condition THEN x END)", ("sumif", "sum_if", "avgif", "avg_if")),
    ("write count(DISTINCT x)", ("approx_count_distinct", "approx_distinct", "uniq*", "hll_*")),
    (_DAYS, ("datediff", "date_diff", "timestampdiff", "timestamp_diff", "months_between", "julianday")),
    ("add or subtract an interval: x + INTERVAL '1' DAY",
     ("dateadd", "date_add", "date_sub", "timestampadd", "adddate", "subdate", "make_interval")),
    ("write CAST(x AS DATE)", ("todate",)),
    ("write CASE WHEN x IS NOT NULL THEN a ELSE b END", ("nvl2",)),
    ("write coalesce(x, y)", ("ifnull", "isnull", "nvl")),
    ("write coalesce(x, 0)", ("zeroifnull",)),
    ("leave the word out: (a, b) = (1, 2)", ("row",)),
    ("write LIMIT 5 at the end, below ORDER BY", ("top",)),
    ("write CASE WHEN condition THEN a ELSE b END", ("iif", "if", "decode", "choose")),
    ("write now(), snapped to the policy's grain",
     ("getdate", "sysdate*", "curdate", "today")),
    ("write position('a' IN x)", ("instr", "charindex", "locate")),
    *((_FIELD.format(field), (field, f"to_{field}")) for field in ("year", "quarter", "month", "week", "day")),
    (_FIELD.format("dow"), ("dayofweek", "weekday", "dayname")),
    (_FIELD.format("doy"), ("dayofyear",)),
)  # fmt: skip


def hint_for(name: str) -> str | None:
    """What to write instead of a function, if the table knows.

    >>> hint_for("QUANTILE") == hint_for("approx_percentile"), hint_for("year"), hint_for("my_function")
    (True, 'write extract(year FROM x)', None)
    """
    folded = name.lower()
    return next((hint for hint, names in _INSTEAD if any(fnmatchcase(folded, one) for one in names)), None)


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
    ("a regular expression can take for ever", "use LIKE, replace(x, 'a', 'b') or split_part(x, '-', 1)",
     ("regexp_*", "similar_*")),
    ("it gives an interval, of which months have no length",
     "write extract(year FROM age(a, b)), or CAST(a AS DATE) - CAST(b AS DATE)", ("age",)),
    ("it fails for numbers that make no such date",
     "write date_trunc('month', x)::date, or a date that is written out", ("make_*",)),
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
