"""The supported grammar: one table of allowed constructs, and hints for the others.

Every construct outside of the table is refused by name. A new version of the parser may add parts to a construct;
these are refused until somebody proves them sound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from planner.errors import UnsupportedSQL, did_you_mean
from planner.expressions import functions
from planner.parsing.lexer import DOCUMENT_HINT, DOCUMENT_OPERATORS, FUNCTIONS_ONLY, RESERVED
from planner.parsing.postgres_parser import function_name, operator_token
from planner.sql.trees import around, nodes, position_of

_MOMENTS = "use quantiles for the shape of a distribution: percentile_cont"

_ORDER = "ranks of rows are private; count the rows beyond a value: count(*) FILTER (WHERE x > 10)"

_GROUPS = "group by the values, and aggregate each group"

_DAYS = "write a::date - b::date, a number of days"

_FIELD = "write extract({} FROM x)"

_INSTEAD: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("write percentile_cont(0.5) WITHIN GROUP (ORDER BY x), or median(x)",
     ("percentile*", "quantile*", "approx_quantile*", "approx_percentile*")),
    (_ORDER, ("ntile", "cume_dist", "percent_rank")),
    ("group by x, and sort the groups by count(*); or write mode() WITHIN GROUP (ORDER BY x) alone", ("mode",)),
    ("write stddev(x), or stddev_pop(x)", ("std*", "sd")),
    ("write variance(x), or var_pop(x)", ("var*",)),
    (_MOMENTS, ("skew*", "kurt*")),
    ("write avg(x)", ("average", "mean")),
    ("write exp(avg(ln(greatest(x, 1))))", ("geometric_mean", "geomean")),
    ("write corr(x, y)", ("correl*", "pearson*")),
    ("write median(x), or avg(x) of the rows that WHERE leaves", ("trimmed_mean", "trimmean")),
    ("write a / nullif(b, 0)", ("safe_divide", "div0")),
    ("group by width_bucket(x, lowest, highest, 10), or floor(x / 10) of a column with a declared range",
     ("histogram*",)),
    ("write to_char(x, 'YYYY-MM'), or group by date_trunc('month', x)",
     ("to_char", "date_format", "strftime", "format_date*")),
    ("take its parts by position and substring, or split_part(x, '-', 1)", ("substring_index",)),
    ("write make_date(year, month, day)", ("datefromparts",)),
    ("write date_bin('15 minutes', x, TIMESTAMP '2024-01-01')", ("time_bucket*",)),
    (_GROUPS, ("string_agg", "array_agg", "group_concat", "listagg", "json*_agg", "any_value", "arg_m*", "m??_by")),
    ("ask for count(*) FILTER (WHERE condition)",
     ("countif", "count_if", "logical_*")),
    ("write sum(CASE WHEN condition THEN x END)", ("sumif", "sum_if", "avgif", "avg_if")),
    ("write count(DISTINCT x)", ("approx_count_distinct", "approx_distinct", "uniq*", "hll_*")),
    ("select its parts as columns of their own", ("json*_build*", "to_json*", "row_to_json", "json*_object")),
    ("compare the text itself", ("md5", "hash*", "sha*", "try_cast", "safe_cast", "try_convert")),
    ("write count(*) FILTER (WHERE x = 'a') for each column", ("crosstab*",)),
    ("write TABLESAMPLE BERNOULLI (10) behind the table for a sample of a tenth", ("random", "rand")),
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
    ("write now(), which the policy rounds",
     ("getdate", "sysdate*", "curdate", "today")),
    ("write position('a' IN x)", ("instr", "charindex", "locate")),
    *((_FIELD.format(field), (field, f"to_{field}")) for field in ("year", "quarter", "month", "week", "day")),
    (_FIELD.format("dow"), ("dayofweek", "weekday", "dayname")),
    (_FIELD.format("doy"), ("dayofyear",)),
)  # fmt: skip

# What is refused is refused because it is not above; these say why, and what to write instead.
_REFUSED: tuple[tuple[str, str | None, tuple[str, ...]], ...] = (
    ("it returns another value each time", None,
     ("random*", "rand", "uuid*", "gen_random*", "setseed", "clock_timestamp", "timeofday")),
    ("it reads a clock that the policy does not round", "use now() or current_date",
     ("statement_timestamp", "transaction_timestamp", "current_time", "localtime")),
    ("it depends on the session", None,
     ("current_user", "session_user", "current_role", "current_schema*", "current_catalog", "current_database",
      "current_setting", "set_config", "version", "inet_*", "pg_backend_pid", "user")),
    ("it changes data", None, ("nextval", "setval", "lo_*", "pg_notify", "pg_*lock*", "txid_*")),
    ("it reads the storage of rows", None, ("currval", "lastval", "pg_column_*", "pg_relation_*", "pg_total_*")),
    ("it reads the server's files, catalog or state", None,
     ("pg_*", "has_*", "to_reg*", "col_description", "obj_description", "format_type", "binary_upgrade_*")),
    ("it reaches other servers", None, ("dblink*", "postgres_fdw*")),
    ("it runs SQL or reads documents", None,
     ("query_to_*", "table_to_*", "cursor_to_*", "schema_to_*", "database_to_*", "xml*", "xpath*", "json*",
      "to_json*")),
    ("it returns several rows", "group by date_trunc('day', x): days without rows appear anyway",
     ("generate_*", "series")),
    ("it returns several rows", "write x IN (value, ...)", ("unnest", "explode*", "posexplode*")),
    ("it returns several rows", "take one part by split_part(x, ',', 1)",
     ("regexp_split_to_table", "string_to_table")),
    ("a regular expression can run for very long", "use LIKE, replace(x, 'a', 'b') or split_part(x, '-', 1)",
     ("regexp_*", "similar_*")),
    ("its interval has months, which have no fixed length",
     "write extract(year FROM age(a, b)), or CAST(a AS DATE) - CAST(b AS DATE)", ("age",)),
    ("it fails for numbers that are no date",
     "write date_trunc('month', x)::date, or a literal date", ("make_*",)),
    ("it fails for texts of another form", "compare the text itself", ("to_timestamp", "to_number")),
    ("its value depends on the order of rows", None,
     ("lag", "lead", "row_number", "rank", "first*", "last*", "nth*")),
)  # fmt: skip


def why_refused(name: str) -> tuple[str, str | None]:
    """The reason for refusing a function, and what to write instead; empty if unknown.

    >>> why_refused("random")[0], why_refused("age")[0], why_refused("my_function")
    ('it returns another value each time', 'its interval has months, which have no fixed length', ('', None))
    >>> why_refused("QUANTILE") == why_refused("approx_percentile"), why_refused("year")
    (True, ('', 'write extract(year FROM x)'))
    """
    folded = name.lower()
    reasons = ((reason, hint) for reason, hint, names in _REFUSED if any(fnmatchcase(folded, one) for one in names))
    hints = (hint for hint, names in _INSTEAD if any(fnmatchcase(folded, one) for one in names))
    reason, hint = next(reasons, ("", None))
    return reason, hint or next(hints, None)


ALLOWED: dict[type[exp.Expr], frozenset[str]] = {
    **functions.PARTS,
    **dict.fromkeys(
        (exp.From, exp.Where, exp.Having, exp.Exists, exp.Avg, exp.Sum, exp.Median, exp.PercentileCont,
         exp.PercentileDisc, exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop, exp.LogicalOr,
         exp.LogicalAnd),
        frozenset({"this"}),
    ),
    **dict.fromkeys(
        (exp.Filter, exp.WithinGroup, exp.CovarPop, exp.CovarSamp, exp.Corr, exp.RegrSlope, exp.RegrIntercept,
         exp.RegrR2, exp.RegrCount, exp.RegrAvgx, exp.RegrAvgy),
        frozenset({"this", "expression"}),
    ),
    **dict.fromkeys((exp.With, exp.Group, exp.Order, exp.Distinct, exp.Tuple), frozenset({"expressions"})),
    **dict.fromkeys((exp.Limit, exp.Offset), frozenset({"expression"})),
    **dict.fromkeys((exp.Min, exp.Max), frozenset({"this", "expressions"})),
    exp.Select: frozenset(
        {"expressions", "from_", "joins", "where", "group", "with_", "distinct", "having", "order", "limit", "offset"}
    ),
    **dict.fromkeys((exp.Union, exp.Intersect, exp.Except), frozenset({"this", "expression", "distinct", "with_"})),
    exp.Values: frozenset({"expressions", "alias"}),
    exp.CTE: frozenset({"this", "alias", "materialized"}),
    exp.Subquery: frozenset({"this", "alias", "joins"}),
    exp.Table: frozenset({"this", "db", "catalog", "alias", "joins", "sample"}),
    exp.TableSample: frozenset({"method", "percent"}),
    exp.TableAlias: frozenset({"this", "columns"}),
    exp.Join: frozenset({"this", "on", "using", "kind", "method", "side"}),
    exp.Ordered: frozenset({"this", "desc", "nulls_first"}),
    exp.Fetch: frozenset({"direction", "count", "limit_options"}),
    exp.LimitOptions: frozenset({"rows"}),
    exp.In: functions.PARTS[exp.In] | {"query"},
    exp.Alias: frozenset({"this", "alias"}),
    exp.Identifier: frozenset({"this", "quoted"}),
    exp.Column: frozenset({"this", "table", "db", "catalog"}),
    exp.Star: frozenset(),
    exp.Count: frozenset({"this", "big_int"}),
}  # fmt: skip

_OF_WINDOWS = (exp.RowNumber, exp.Ntile, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist, exp.FirstValue,
               exp.LastValue, exp.Lag, exp.Lead, exp.NthValue)  # fmt: skip
"""Functions that stand before OVER only."""

_ALLOWED: dict[type[exp.Expr], frozenset[str]] = {
    **ALLOWED,
    exp.Select: ALLOWED[exp.Select] | {"windows"},
    exp.Distinct: ALLOWED[exp.Distinct] | {"on"},
    exp.Window: frozenset({"this", "partition_by", "order", "spec", "over", "alias"}),
    exp.Lateral: frozenset({"this", "alias"}),
    exp.Unnest: frozenset({"expressions"}),
    **dict.fromkeys((exp.StringToArray, exp.RegexpSplit), frozenset({"this", "expression"})),
    exp.WindowSpec: frozenset({"kind", "start", "start_side", "end", "end_side"}),
    **dict.fromkeys(_OF_WINDOWS, frozenset({"this", "offset", "default"})),
}
"""Over private rows: with what a subquery of FROM may compute of one person's rows, in the place of `_misplaced`."""

_LEVELS = "leave windows and subqueries out of it, or ask level by level with GROUP BY"

_BITS = "ask the administrator for the bits as columns of their own"

_PARTS = {
    "recursive": ("RECURSIVE", "write WITH alone, and join the table to itself as many times as the path is long"),
    "windows": ("WINDOW", "write the window at each function, as OVER (...)"),
    "all": ("GROUP BY ALL", "name the group keys: GROUP BY x, y"),
    "false": ("IF", "write CASE WHEN condition THEN a ELSE b END"),
    "qualify": ("QUALIFY", "put the SELECT with its rank into FROM, and test the rank in an outer WHERE"),
    "locks": ("FOR UPDATE", "leave it out"),
    "into": ("INTO", "leave it out, and store the answer yourself"),
    "sample": ("TABLESAMPLE", "write it after the name of a table: FROM visit TABLESAMPLE BERNOULLI (10)"),
    "seed": ("REPEATABLE", "leave it out: a sample that can be drawn again protects no one"),
    "totals": ("WITH TOTALS", "write GROUP BY ROLLUP (x)"),
    "only": ("ONLY", "leave it out"),
    "on": (
        "DISTINCT ON",
        "write it in a subquery of FROM, with the person's key, and aggregate its rows",
    ),
    "with_ties": ("WITH TIES", "write FETCH FIRST 10 ROWS ONLY"),
    "percent": ("FETCH ... PERCENT", "write the number of rows"),
    "unnest": ("UNNEST", "write IN (value, ...)"),
    "exclude": ("EXCLUDE", "leave it out"),
    "offset": ("WITH ORDINALITY", "leave it out"),
}

_IN_FROM_ALONE = "write it in FROM or IN: SELECT count(*) FROM (SELECT ... UNION SELECT ...) x"

_NAMES: dict[type[exp.Expr], tuple[str, str | None]] = {
    exp.Any: (
        "ANY",
        "write x IN (value, ...), x IN (SELECT ...), or x LIKE 'a%' OR x LIKE 'b%'; for x > ANY (SELECT y FROM t) "
        "write EXISTS (SELECT 1 FROM t WHERE x > y)",
    ),
    exp.Array: ("an array", "write IN (value, ...)"),
    exp.All: ("ALL", "write NOT EXISTS (SELECT 1 FROM t WHERE (x > y) IS NOT TRUE) for x > ALL (SELECT y FROM t)"),
    exp.Window: (
        "a window function",
        "group by a key and use it over aggregates; or write it in a subquery of FROM, with PARTITION BY the key of "
        "a person",
    ),
    exp.Tuple: ("a row of several values", "join them to one text: a::text || '/' || b::text"),
    exp.BitString: ("a bit string", "write a plain number"),
    exp.HexString: ("a hexadecimal string", "write a plain number"),
    **{kind: (kind.__name__.upper(), _IN_FROM_ALONE) for kind in (exp.Union, exp.Intersect, exp.Except)},
    exp.Lateral: ("LATERAL", "join the tables themselves"),
    exp.ExplodingGenerateSeries: (
        "generate_series",
        "write constants as its ends, or join a public table that lists its values",
    ),
    exp.ByteString: ("an escape string E'...'", "write a plain string '...'"),
    exp.SimilarTo: ("SIMILAR TO", "write x LIKE 'a%' OR x LIKE 'b%'"),
    exp.RegexpLike: (
        "a regular expression of this form",
        "use words, '.*' and alternatives, as in x ~ '^(a|b)'; or LIKE",
    ),
    exp.RegexpILike: (
        "a regular expression of this form",
        "use words, '.*' and alternatives, as in x ~* 'a|b'; or ILIKE",
    ),
    exp.Collate: ("COLLATE", "compare the text as it is, or lower(x)"),
    exp.Glob: ("GLOB", "use LIKE"),
    exp.Overlaps: ("OVERLAPS", "write start_a < end_b AND start_b < end_a"),
    exp.WithFill: ("WITH FILL", "leave it out"),
    exp.Pivot: ("PIVOT", "write count(*) FILTER (WHERE x = 'a') for each column"),
    exp.BitwiseAnd: ("the operator &", _BITS),
    exp.BitwiseOr: ("the operator |", _BITS),
    exp.BitwiseXor: ("the operator #", _BITS),
    exp.BitwiseNot: ("the operator ~", _BITS),
    exp.BitwiseLeftShift: ("the operator <<", "multiply instead: x * 8 for x << 3"),
    exp.BitwiseRightShift: ("the operator >>", "divide instead: floor(x / 8.0) for x >> 3"),
    exp.Dot: ("a name of more than three parts", "write schema.table.column"),
    exp.Rollup: ("ROLLUP", _LEVELS),
    exp.Cube: ("CUBE", _LEVELS),
    exp.GroupingSets: ("GROUPING SETS", _LEVELS),
}


_FUNCTION = "the function"
_OFTEN_CALLED = (
    "count", "sum", "avg", "min", "max", "median", "stddev", "variance", "percentile_cont", "date_trunc", "extract",
    "to_char", "coalesce", "round", "floor", "length", "lower", "upper", "substring", "split_part", "width_bucket",
)  # fmt: skip
"""Functions that a misspelt name may mean."""

_UNNAMED = ("this part of the statement", None)
_OF_DOCUMENTS = (exp.JSONExtract, exp.JSONExtractScalar, exp.ArrayContainsAll, exp.ArrayContainedBy)
_SPREADS = (exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop)
_SPREAD = "ask for SUM(x), SUM(x * x) and COUNT(x), and compute it from them"
_SORTED = ("ORDER BY inside a call", "leave it out: the order of rows has no effect")
_JOINS_INSTEAD = {
    "SEMI": "write WHERE EXISTS (SELECT 1 FROM ...)",
    "ANTI": "write WHERE NOT EXISTS (SELECT 1 FROM ...)",
}
_INNER = "use an inner JOIN; rows without a match cannot be counted here"
_JOIN_KINDS = frozenset({"", "INNER", "CROSS", "OUTER"})
_SETS_IN = (exp.From, exp.Join, exp.CTE, exp.In)
_IN_QUERY = (exp.Subquery, exp.Paren, exp.SetOperation)
COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)


Refusal = tuple[str, str | None, exp.Expr]
"""Why a node is refused: the name of the construct, a hint, and the node to point at."""


def check_grammar(
    select: exp.Expr,
    tokens: Sequence[Token],
    refused: Callable[[exp.Expr, exp.Expr], Refusal | None] | None = None,
) -> None:
    """Refuse the first construct that the table does not allow.

    Args:
      tokens: of the statement, to find the position of keywords.
      refused: the refusal of a node below a root, by another table than ALLOWED.
    Raises: UnsupportedSQL.
    """
    find = refused or _refusal
    if not any(find(node, select) for node in nodes(select)):  # the faster walk
        return
    node, refusal = next((node, found) for node in select.dfs() if (found := find(node, select)))
    name, hint, near = refusal
    position = position_of(near)
    if isinstance(near, _OF_DOCUMENTS) and (operator := operator_token(position, tokens, DOCUMENT_OPERATORS)):
        message = f"the operator {operator.text} is not supported"
        raise UnsupportedSQL(message, hint=DOCUMENT_HINT, position=operator.start + 1)
    if isinstance(near, exp.Func) and name == _FUNCTION:
        called, position = function_name(near, tokens)
        reason, way = why_refused(called)
        message = f"{name} {called} is not supported{': ' if reason else ''}{reason}"
        meant = None if reason else did_you_mean(called, _OFTEN_CALLED)
        raise UnsupportedSQL(message, hint=hint or way or meant, position=position)
    keyword = _keyword_position(name, tokens, position)
    place = keyword or position or position_of(node) or _near(node)
    raise UnsupportedSQL(f"{name} is not supported", hint=hint, position=place)


def _near(node: exp.Expr) -> int:
    """The position of the smallest construct around a node that has one."""
    above: exp.Expr | None = node
    while above is not None:
        place = position_of(above)
        if place is not None:
            return place
        above = above.parent
    return 1


def _refusal(node: exp.Expr, root: exp.Expr) -> Refusal | None:
    """The refusal of this node itself; None if it is allowed."""
    if isinstance(node, exp.Array) and isinstance(node.parent, (exp.PercentileCont, exp.PercentileDisc)):
        return "an array of quantiles", "write percentile_cont(0.25) WITHIN GROUP (ORDER BY x) for each", node
    if type(node) not in _ALLOWED:
        return unknown_construct(node)
    refusal = _misplaced(node, root)
    if refusal is not None:
        return refusal
    if isinstance(node, exp.SetOperation) and not isinstance(around(node, *_IN_QUERY), _SETS_IN):
        return *_NAMES[type(node)], node
    if isinstance(node, exp.Tuple) and not (isinstance(node.parent, (exp.Distinct, exp.Values)) or _is_member(node)):
        return *_row(node), node
    if isinstance(node, exp.Join) and (
        node.kind not in _JOIN_KINDS or node.side not in ("", "LEFT", "RIGHT", "FULL")
    ):
        kind = node.side or node.kind
        return f"{kind} JOIN", _JOINS_INSTEAD.get(kind, _INNER), node
    if isinstance(node, exp.Join) and node.method not in ("", "NATURAL"):
        return f"{node.method} JOIN", "use an inner JOIN", node
    if isinstance(node, exp.TableSample) and node.text("method").upper() != "BERNOULLI":
        return "TABLESAMPLE", "write TABLESAMPLE BERNOULLI (percent); other methods draw whole blocks", node
    return unknown_part(node, _ALLOWED)


def _misplaced(node: exp.Expr, root: exp.Expr) -> Refusal | None:
    """Refuse windows and DISTINCT ON outside of the select list of a subquery in FROM."""
    if isinstance(node, exp.Select) and node is root and node.args.get("windows"):
        return *_PARTS["windows"], node.args["windows"][0]
    if isinstance(node, exp.Distinct) and node.args.get("on") is not None and node.parent is root:
        return *_PARTS["on"], node
    if isinstance(node, _OF_WINDOWS) and not isinstance(node.parent, exp.Window):
        return unknown_construct(node)
    if isinstance(node, (exp.StringToArray, exp.RegexpSplit)) and not isinstance(node.parent, exp.Unnest):
        return unknown_construct(node)
    if isinstance(node, exp.Unnest) and not isinstance(node.parent, exp.Lateral):
        return unknown_construct(node)
    if isinstance(node, exp.Window):
        listed: exp.Expr = node
        while listed.parent is not None and not isinstance(listed.parent, exp.Select):
            listed = listed.parent
        if listed.parent is root or listed.arg_key not in ("expressions", "windows"):
            return *_NAMES[exp.Window], node
    return None


def unknown_construct(node: exp.Expr) -> Refusal:
    """Refuse a construct that is in no table."""
    node = node.this if isinstance(node, exp.WithinGroup) else node
    return *_construct(node), node


def unknown_part(node: exp.Expr, table: Mapping[type[exp.Expr], frozenset[str]]) -> Refusal | None:
    """Refuse a part of a construct that its row of the table does not list; None if all parts are allowed."""
    if isinstance(node, exp.Dot) and not isinstance(node.parent, exp.DataType):  # there it names a type's schema
        return unknown_construct(node)
    if isinstance(node, exp.Identifier) and _is_keyword(node):
        return f"the keyword {node.name.upper()}", f'a column or table of that name is written "{node.name}"', node
    if isinstance(node, (exp.PercentileCont, exp.PercentileDisc)) and node.args.get("expression") is not None:
        name = node.sql_name().lower()
        return f"{name} of two arguments", f"write {name}(0.5) WITHIN GROUP (ORDER BY x)", node
    if isinstance(node, exp.Count) and node.expressions:
        both = "write count(*) FILTER (WHERE x IS NOT NULL AND y IS NOT NULL), or count(DISTINCT (x, y))"
        return "COUNT of several columns", both, node
    if isinstance(node, exp.In) and not (node.expressions or node.args.get("query")):
        return "IN without values", "write IN (value, ...)", node
    allowed = table[type(node)]
    for part, value in node.args.items():
        if value and part not in allowed:
            inner = value[0] if isinstance(value, list) else value
            inside = isinstance(node, exp.Order) and part == "this"
            name, hint = _SORTED if inside else _PARTS.get(part) or _NAMES.get(type(inner), _UNNAMED)
            return name, hint, inner if isinstance(inner, exp.Expr) else node
    return None


_KEYWORDS = RESERVED | FUNCTIONS_ONLY


def _is_keyword(name: exp.Identifier) -> bool:
    """Is this name of a table or column a reserved word of PostgreSQL, such as USER?"""
    if name.args.get("quoted") or name.args["this"].upper() not in _KEYWORDS:
        return False
    above = name.parent
    return isinstance(above, exp.Table) or (isinstance(above, exp.Column) and above.args.get("table") is None)


def _construct(node: exp.Expr) -> tuple[str, str | None]:
    name, hint = _NAMES.get(type(node), (None, None))
    if name is None and isinstance(node, exp.Func):
        return _FUNCTION, _SPREAD if isinstance(node, _SPREADS) else None
    return name or "this part of the statement", hint


def _is_member(node: exp.Tuple) -> bool:
    """Is it the left side of IN (SELECT ...)?"""
    test = around(node, exp.Paren)
    return isinstance(test, exp.In) and test.args.get("query") is not None and test.this.unnest() is node


def _row(node: exp.Tuple) -> tuple[str, str | None]:
    """The refusal of a row of several values."""
    compared = around(node, exp.Paren)
    if isinstance(compared, exp.In):
        rows = [compared.this, *compared.expressions]
    else:
        rows = [compared.this, compared.expression] if isinstance(compared, COMPARISONS) else []
    lengths = {len(row.expressions) for one in rows if isinstance(row := one.unnest(), exp.Tuple)}
    if len(lengths) > 1:
        return "a comparison of rows of unequal length", "write as many values on either side"
    return _NAMES[exp.Tuple]


def _keyword_position(name: str, tokens: Sequence[Token], before: int | None) -> int | None:
    """The position of the construct's keyword: the last one up to `before`, or else the first one."""
    word = name.split()[0]
    starts = [token.start + 1 for token in tokens if word.isupper() and token.text.upper().split(" ")[0] == word]
    earlier = [start for start in starts if before is None or start <= before]
    return earlier[-1] if earlier and before is not None else next(iter(starts), None)
