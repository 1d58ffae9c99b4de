"""What to write instead of functions that other databases, or other questions, have: one table of hints."""

from __future__ import annotations

from fnmatch import fnmatchcase

_SPREAD = "ask for sum(x), sum(x * x) and count(x), and compute it from them"
_ORDER = "a row's rank has no private answer; count the rows beyond a value: count(*) FILTER (WHERE x > 10)"
_GROUPS = "group by the values instead, and aggregate each group"
_DAYS = "subtract dates: a::date - b::date is a number of days"
_FIELD = "write extract({} FROM x)"

_INSTEAD: tuple[tuple[str, tuple[str, ...]], ...] = (
    (_ORDER,
     ("median", "percentile*", "quantile*", "approx_quantile*", "mode", "ntile", "cume_dist", "percent_rank")),
    (_SPREAD, ("std*", "var*", "covar*", "corr*", "regr_*", "skew*", "kurt*")),
    ("group by floor(x / 10) of a column with a declared range", ("width_bucket", "histogram*")),
    ("group by extract(year FROM x) or date_trunc('month', x)",
     ("to_char", "date_format", "strftime", "format_date*")),
    (_GROUPS, ("string_agg", "array_agg", "group_concat", "listagg", "json*_agg", "any_value", "arg_m*", "m??_by")),
    ("ask for count(*) FILTER (WHERE condition)",
     ("bool_*", "every", "countif", "count_if", "logical_*")),
    ("write sum(CASE WHEN condition THEN x END)", ("sumif", "sum_if", "avgif", "avg_if")),
    ("write count(DISTINCT x)", ("approx_count_distinct", "approx_distinct", "uniq*", "hll_*")),
    (_DAYS, ("datediff", "date_diff", "timestampdiff", "timestamp_diff", "months_between", "julianday")),
    ("add or subtract an interval: x + INTERVAL '1' DAY",
     ("dateadd", "date_add", "date_sub", "timestampadd", "adddate", "subdate", "make_interval")),
    ("write CAST(x AS DATE)", ("todate", "date")),
    ("write coalesce(x, 0)", ("ifnull", "isnull", "nvl*", "zeroifnull")),
    ("write CASE WHEN condition THEN a ELSE b END", ("iif", "if", "decode", "choose")),
    ("write now(), snapped to the policy's grain",
     ("getdate", "sysdate*", "curdate", "today")),
    ("write a || b", ("concat*",)),
    ("write position('a' IN x)", ("instr", "charindex", "locate")),
    *((_FIELD.format(field), (field, f"to_{field}")) for field in ("year", "quarter", "month", "week", "day")),
    (_FIELD.format("dow"), ("dayofweek", "weekday", "dayname")),
    (_FIELD.format("doy"), ("dayofyear",)),
)  # fmt: skip


def instead(name: str) -> str | None:
    """What to write instead of a function, if the table knows.

    >>> instead("MEDIAN") == instead("percentile_cont"), instead("year"), instead("my_function")
    (True, 'write extract(year FROM x)', None)
    """
    folded = name.lower()
    return next((hint for hint, names in _INSTEAD if any(fnmatchcase(folded, one) for one in names)), None)
