"""The SQL that may surround answers, and the check of it in the tree and in the final text.

The database runs this SQL under the proxy's role, which may read private tables. Two rules keep it away from them.
`write_outer.py` looks up every table and requires it to be public. And only the constructs and functions listed here
pass: none reads a table by a name in a text, a file, a setting or another session; none writes, waits or locks.
Function names are plain, and the session's search path is `pg_catalog` alone, so no other function is meant.

`check_allowed` reads a tree, but the database gets text. An analyst's word that reached the text without quotes would
be unchecked SQL. So `check_written` reads the text itself as a second wall: every table, construct and function must
be one that the tree could have.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from sqlglot import exp, parse
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from planner.binding.output_names import output_name
from planner.errors import PlannerError, UnsupportedSQL
from planner.parsing.grammar import Refusal, check_grammar, unknown_construct
from planner.parsing.lexer import lex
from planner.parsing.lists import check_series
from planner.parsing.postgres_parser import postgres_parser, tokens_of
from planner.postprocessing.composed import RELATION_PREFIX, Composed, is_relation
from planner.postprocessing.total_functions import INPUT_IS_VALID, INPUT_TYPES
from planner.public.route import PUBLIC, means_cte, refused_join
from planner.rewriting.dialects.dialect_table import DIALECTS
from planner.schema import Dialect
from planner.sql.trees import nodes, tables_of

_FORBIDDEN_PARTS = frozenset(
    {"into", "locks", "hint", "sample", "recursive", "pivots", "laterals", "match", "prewhere", "connect", "cluster",
     "distribute", "settings", "format", "options", "system_time", "for_", "version", "when", "ordinality", "only",
     "rows_from", "partition", "changes", "operation_modifiers", "exclude", "kind", "by_name", "cache", "all",
     "totals"}
)  # fmt: skip
"""Parts of queries, tables and clauses that do more than compute, or that PostgreSQL does not have."""

_QUERIES = frozenset(
    {exp.Select, exp.Union, exp.Intersect, exp.Except, exp.With, exp.CTE, exp.Subquery, exp.From, exp.Table,
     exp.TableAlias, exp.Join, exp.Where, exp.Group, exp.Having, exp.Order, exp.Ordered, exp.Limit, exp.Offset,
     exp.Fetch, exp.LimitOptions, exp.Distinct, exp.Rollup, exp.Cube, exp.GroupingSets, exp.Grouping, exp.Values,
     exp.Lateral, exp.Exists, exp.Any, exp.All, exp.Tuple, exp.Alias, exp.Identifier, exp.Column, exp.Star,
     exp.ExplodingGenerateSeries, exp.GenerateSeries}
)  # fmt: skip

ALLOWED = _QUERIES | frozenset(PUBLIC) | {
    exp.Acos, exp.Ascii, exp.Asin, exp.Atan, exp.Atan2, exp.Cbrt, exp.Chr, exp.Cos, exp.Cot, exp.DateFromParts,
    exp.Degrees, exp.IntervalSpan, exp.JustifyDays, exp.JustifyHours, exp.MD5, exp.Overlay, exp.Pi, exp.Radians,
    exp.RegexpReplace, exp.Repeat, exp.Reverse, exp.Sin, exp.StrToDate, exp.Tan, exp.TimeToStr, exp.ToNumber,
    exp.Translate,
    exp.GroupConcat, exp.LogicalAnd, exp.LogicalOr, exp.Mode,
    exp.CumeDist, exp.DenseRank, exp.FirstValue, exp.Lag, exp.LastValue, exp.Lead, exp.NthValue, exp.Ntile,
    exp.PercentRank, exp.Rank, exp.RowNumber, exp.Window, exp.WindowSpec,
}  # fmt: skip
"""The grammar of public statements, and functions, aggregates and windows that only compute."""

_BY_NAME = frozenset(
    {"age", "make_date", "make_timestamp", "to_char", "split_part", "initcap", "btrim", "ltrim", "rtrim", "concat",
     "concat_ws", "left", "right", "reverse", "translate", "strpos", "char_length", "character_length",
     "octet_length", "starts_with", "md5", "div", "gcd", "lcm", "cbrt", "degrees", "radians", "trunc", "log10",
     "width_bucket", "date_part", "date_trunc", "isfinite", "justify_days", "justify_hours",
     "num_nulls", "num_nonnulls", "scale", "regr_slope", "regr_intercept", "regr_r2", "regr_count", "regr_avgx",
     "regr_avgy", "bool_and", "bool_or", "every", "mode", "percentile_cont", "percentile_disc", "ntile", "nth_value",
     "overlay", "to_number", "to_date", "make_interval"}
)  # fmt: skip
"""Functions without a class in the parser library, over one row or its group."""

_TYPES = frozenset(
    {"SMALLINT", "INT", "BIGINT", "DECIMAL", "FLOAT", "DOUBLE", "BOOLEAN", "TEXT", "VARCHAR", "CHAR", "BPCHAR",
     "DATE", "TIMESTAMP", "TIMESTAMPNTZ", "TIMESTAMPTZ", "TIME", "INTERVAL", "UUID"}
)  # fmt: skip
"""By the parser library's names; TIMESTAMPNTZ is DuckDB's TIMESTAMP."""

_PLAIN = re.compile(r"[^\W\d][\w$]*")
_NUMBER = re.compile(r"\d+(\.\d*)?([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?")
_FIELDS = frozenset(
    {"MICROSECOND", "MICROSECONDS", "MILLISECOND", "MILLISECONDS", "SECOND", "SECONDS", "MINUTE", "MINUTES", "HOUR",
     "HOURS", "DAY", "DAYS", "WEEK", "WEEKS", "MONTH", "MONTHS", "QUARTER", "QUARTERS", "YEAR", "YEARS", "DECADE",
     "DECADES", "CENTURY", "CENTURIES", "MILLENNIUM", "MILLENNIA", "DOW", "DOY", "ISODOW", "ISOYEAR", "EPOCH",
     "JULIAN"}
)  # fmt: skip
_WORDS = _FIELDS | {
    "", "ALL", "LEFT", "RIGHT", "FULL", "INNER", "CROSS", "OUTER", "NATURAL", "OVER", "ROWS", "RANGE", "GROUPS",
    "UNBOUNDED", "CURRENT ROW", "PRECEDING", "FOLLOWING", "BOTH", "LEADING", "TRAILING", "FIRST", "NEXT",
}  # fmt: skip
"""The words that may be written without quotes as a part of a construct."""


def check_composed(split: Composed, tokens: Sequence[Token], dialect: Dialect) -> None:
    """Refuse the first unknown construct of a composed statement, around answers or in a part.

    Raises: UnsupportedSQL, at a token of the whole statement.
    """
    for around in (split.outer, *(table.query for table in split.tables)):
        check_allowed(around, tokens, dialect)
    for part in split.parts:
        check_grammar(part.select, tokens)


def check_allowed(outer: exp.Query, tokens: Sequence[Token], dialect: Dialect) -> None:
    """Refuse the first construct around answers that this database may not compute. Raises: as `check_composed`."""

    if not DIALECTS[dialect].around:
        hint = "select the aggregates only, and compute the rest from their answers"
        raise UnsupportedSQL(f"{dialect.capitalize()} cannot evaluate SQL around noisy answers", hint=hint)

    def refused(node: exp.Expr, root: exp.Expr) -> Refusal | None:
        return _refusal(node, dialect)

    _check_names(tokens)
    check_grammar(outer, tokens, refused)
    check_series(outer)
    if dialect == "duckdb":
        _check_cases(outer)
    for series in outer.find_all(exp.ExplodingGenerateSeries):
        if not isinstance(series.parent, (exp.Table, exp.Lateral)):
            hint = "write constants as its ends, such as DATE '2024-01-01'"
            raise UnsupportedSQL(
                "generate_series with computed ends is not supported", hint=hint, at=series.args["start"]
            )


def _check_cases(outer: exp.Query) -> None:
    """Refuse two columns whose names differ only in case: DuckDB would read one for the other."""
    for select in outer.find_all(exp.Select):
        names: dict[str, str] = {}
        for item in select.expressions:
            name = "" if item.is_star else output_name(item)
            if names.setdefault(name.lower(), name) != name:
                message = f"the columns {names[name.lower()]!r} and {name!r} differ only in case"
                raise UnsupportedSQL(message, hint="give one of them another name", at=item)


def _check_names(tokens: Sequence[Token]) -> None:
    """Refuse the names of answers. The analyst's words show them all, however the statement was rewritten."""
    for token in tokens:
        if token.token_type is TokenType.IDENTIFIER and token.text.lower().startswith(RELATION_PREFIX):
            message = f"names that begin with {RELATION_PREFIX!r} are reserved"
            raise UnsupportedSQL(message, hint="give it another name", position=token.start + 1)


def is_allowed(node: exp.Expr, dialect: Dialect) -> bool:
    """Does the node only compute?"""
    return _refusal(node, dialect) is None


def _refusal(node: exp.Expr, dialect: Dialect) -> Refusal | None:
    kind = type(node)
    if not _is_plain(node):
        name = "this word" if kind is exp.Var else f"this part of {kind.__name__}"
        return name, "use a field such as year, month, day or hour", node
    if isinstance(node, exp.Anonymous):
        known = isinstance(node.this, str) and node.this.lower() in _BY_NAME
        if known and not DIALECTS[dialect].by_name:
            name, near = unknown_construct(node)[::2]
            return name, "around answers only PostgreSQL has it: select its arguments instead", near
        return None if known else unknown_construct(node)
    if kind not in ALLOWED or kind in DIALECTS[dialect].refused:
        return unknown_construct(node)
    if isinstance(node, exp.Cast) and (type(node.to) is not exp.DataType or node.to.this.name not in _TYPES):
        return f"a cast to {node.to.sql('postgres').lower()}", "cast to text, a number, a date or a time", node
    if isinstance(node, exp.DataType):
        return None
    if isinstance(node, exp.Join):
        return refused_join(node)
    for part, value in node.args.items() if kind in _QUERIES else ():
        if value and part in _FORBIDDEN_PARTS:
            return f"{part.strip('_').upper()}", None, node
    return None


def _is_plain(node: exp.Expr) -> bool:
    """Will the database read each text of the node as that part and as nothing else?

    Texts and quoted names are written in quotes. Other words are written as they are, and the parser library accepts
    a quoted name where it expects a word: `extract("year FROM x), (SELECT ..." FROM y)`.
    """
    if isinstance(node, exp.Literal):
        return bool(node.is_string) or _NUMBER.fullmatch(node.name) is not None
    if isinstance(node, exp.Identifier):
        return bool(node.args.get("quoted")) or _PLAIN.fullmatch(node.name) is not None
    if isinstance(node, exp.DataTypeParam):
        return isinstance(node.this, exp.Literal) and not node.this.is_string
    if isinstance(node, exp.Anonymous):
        return _PLAIN.fullmatch(str(node.this)) is not None
    texts = (value for value in node.args.values() if isinstance(value, str))
    return all(text.upper() in _WORDS for text in texts)


Place = tuple[str, str]
"""A schema and the name of a table in it."""


def check_written(sql: str, public: Collection[Place], dialect: Dialect) -> None:
    """Refuse text that is not a computation over answers and these public tables. Raises: UnsupportedSQL."""
    tree = _read(sql, dialect)
    if tree is None or not all(_is_guard(node) or is_allowed(node, dialect) for node in nodes(tree)):
        raise _rereading_refusal()
    if not all(_stands_alone(function) for function in functions_of_from(tree)):
        raise _rereading_refusal()
    for table in tables_of(tree):
        schema = table.args.get("db")
        if schema is not None:
            known = table.args.get("catalog") is None and (schema.name, table.name) in public
        else:
            known = is_relation(table) or means_cte(table) or not isinstance(table.this, exp.Identifier)
        if not known:
            raise _rereading_refusal()


def _is_guard(node: exp.Expr) -> bool:
    """Does it only ask whether a text is a value of a type? An analyst may not name the type."""
    if isinstance(node, exp.TryCast):
        return node.to.this.name in _TYPES
    if not isinstance(node, exp.Anonymous) or str(node.this).lower() != INPUT_IS_VALID:
        return False
    named = node.expressions[-1]
    return isinstance(named, exp.Literal) and named.name in INPUT_TYPES


def functions_of_from(tree: exp.Expr) -> list[exp.Table | exp.Lateral]:
    """List the functions that stand in FROM like tables."""
    functions: list[exp.Table | exp.Lateral] = [
        table for table in tables_of(tree) if not isinstance(table.this, exp.Identifier)
    ]
    return functions + [
        node for node in nodes(tree) if isinstance(node, exp.Lateral) and not isinstance(node.this, exp.Subquery)
    ]


def _stands_alone(function: exp.Expr) -> bool:
    """Is it the only item of a plain `SELECT * FROM`, where `g.f` cannot mean f(g)?"""
    select = function.parent.parent if isinstance(function.parent, exp.From) else None
    if not isinstance(select, exp.Select) or function.args.get("joins"):
        return False
    listed = select.expressions
    others = [part for part, value in select.args.items() if value and part not in ("expressions", "from_")]
    return not others and len(listed) == 1 and type(listed[0]) is exp.Star and not listed[0].args.get("except_")


def _read(sql: str, dialect: Dialect) -> exp.Expr | None:
    """Parse the statement with the scanner for analysts' statements; None if it is not one query."""
    try:
        (tree,) = (
            postgres_parser().parse(tokens_of(lex(sql)), sql) if dialect == "postgres" else parse(sql, read=dialect)
        )
    except (SqlglotError, PlannerError, ValueError, RecursionError):
        return None
    return tree if isinstance(tree, exp.Query) else None


def _rereading_refusal() -> UnsupportedSQL:
    hint = "use plain names, numbers and texts, or send the inner SELECT alone"
    return UnsupportedSQL("the outer SELECT around the noisy answers cannot be checked", hint=hint)
