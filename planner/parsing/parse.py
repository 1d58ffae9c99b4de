"""Parse SQL text into one SELECT of the supported grammar, and refuse everything else with a position.

Statements that would change something are recognised by their first word, on every interface. A schema may follow the
name of the data set, as in dbt's `"shop"."public"."orders"`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from planner.errors import InvalidSyntax, PlannerError, ReadOnly, StatementTooComplex, UnsupportedSQL, nearest
from planner.limits import check_depth, check_length, check_nesting
from planner.parsing.aggregate_spellings import quantile_arrays, symmetric_sums, truth_aggregates
from planner.parsing.grammar import check_grammar
from planner.parsing.lexer import Lexeme, lex, scan
from planner.parsing.list_elements import list_conditions, lists_in_from
from planner.parsing.lists import counted_series, listed_series, unnested_arrays, written_values
from planner.parsing.literal_rows import with_values
from planner.parsing.postgres_parser import mark_keywords, postgres_parser, tokens_of
from planner.parsing.spellings import (
    check_row_counts,
    constant_subqueries,
    formatted_keys,
    may_compare_rows,
    memberships,
    regular_expressions,
    row_comparisons,
    unions_in_conditions,
    written_intervals,
    written_moments,
    written_tables,
)
from planner.parsing.syntax import check_syntax
from planner.parsing.times import (
    ages,
    bins,
    computed_intervals,
    finite,
    interval_sums,
    named_moments,
    overlaps,
)
from planner.sql.trees import fold, nodes

WRITES_IN_WITH = frozenset({"DELETE", "INSERT", "MERGE", "UPDATE"})
"""Those that PostgreSQL also accepts inside or after WITH."""

# fmt: off
WRITES = WRITES_IN_WITH | frozenset(
    {
        "ALTER", "ANALYZE", "CALL", "CHECKPOINT", "CLUSTER", "COMMENT", "CREATE", "DO", "DROP", "GRANT",
        "IMPORT", "LISTEN", "LOAD", "LOCK", "NOTIFY", "REASSIGN", "REFRESH", "REINDEX", "REVOKE",
        "SECURITY", "TRUNCATE", "VACUUM",
    }
)
# fmt: on
"""First words of PostgreSQL's statements that no client may send."""

_TO_CLIENT = re.compile(r"\bto\s+stdout\b", re.IGNORECASE)

_VIEW = re.compile(
    r"create\s+(or\s+replace\s+)?((global|local)\s+)?(temp|temporary|unlogged)?\s*(recursive\s+)?(materialized\s+)?"
    r"(view|table)\b",
    re.IGNORECASE,
)

_NAMED = "name the query in the statement itself: WITH name AS (SELECT ...) SELECT ... FROM name"


def check_reads(word: str, statement: str, position: int) -> None:
    """Refuse a statement that would change something, by its first word in upper case at `position`.

    Raises: ReadOnly; UnsupportedSQL for a COPY that only reads.
    """
    if word in WRITES:
        hint = _NAMED if word == "CREATE" and _VIEW.match(statement) else None
        raise ReadOnly(f"{word} would change data; only SELECT is answered", hint=hint, position=position)
    if word == "COPY":
        hint = "write one SELECT, or COPY (SELECT ...) TO STDOUT over PostgreSQL's protocol"
        if _TO_CLIENT.search(statement) is None:
            raise ReadOnly("COPY would write to a table or to a file", hint=hint, position=position)
        raise UnsupportedSQL("this COPY is not supported", hint=hint, position=position)


_IMPOSSIBLE = re.compile("[\0\ud800-\udfff]")

_LISTED = "psql lists tables with \\d, HTTP with GET /v1/schema, and the console beside the question"
_INSTEAD = {
    "SHOW": _LISTED,
    "DESCRIBE": _LISTED,
    "DESC": _LISTED,
    "USE": "write the schema before the table: schema.table",
}

_FIRST_WORDS = ("SELECT", "WITH", "VALUES", "EXPLAIN")

_SET_OPERATIONS = {TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT}


@dataclass(frozen=True)
class Statement:
    """One statement that only reads, before the grammar is checked.

    Attributes:
      tree: a SELECT or a set operation.
      tokens: the tokens, for positions.
      sql: the text, for `planner.parsing.syntax.check_syntax`.
    """

    tree: exp.Query
    tokens: list[Token]
    sql: str


def parse(sql: str) -> exp.Select:
    """Parse one SELECT in the PostgreSQL dialect; a trailing semicolon is allowed.

    Raises: StatementTooLong, StatementTooComplex, InvalidSyntax, ReadOnly, UnsupportedSQL; nothing else.
    Cost: about 1 ms for TPC-H Q5.
    """
    return private_select(read(sql))


def private_select(statement: Statement) -> exp.Select:
    """The SELECT of a statement over private tables.

    Raises: UnsupportedSQL for constructs outside of the supported grammar; InvalidSyntax for those outside of
      PostgreSQL's.
    """
    select = statement.tree
    if not isinstance(select, exp.Select):
        raise _no_select(statement.tokens)
    select = with_values(select)
    check_grammar(select, statement.tokens)
    check_syntax(statement.sql)
    return select


def read(sql: str) -> Statement:
    """Parse one statement within the limits on length and nesting. Raises: as `parse`."""
    check_length(sql)
    _check_characters(sql)
    tokens = _tokens(_lexemes(sql))
    check_nesting(tokens)
    _check_words(tokens, sql)
    tree = _query(sql, tokens)
    if "%" in sql and tree.find(exp.Placeholder) is not None:  # `%s` of some drivers
        check_syntax(sql)
    check_depth(tree)
    mark_keywords(tree, tokens, sql)
    check_row_counts(tree)
    _write_out(tree, tokens, sql.upper())
    return Statement(tree, tokens, sql)


def _write_out(tree: exp.Query, tokens: Sequence[Token], upper: str) -> None:
    """Rewrite alternative spellings into the form that the grammar lists, in place.

    One walk takes 5% of planning time, so each walk needs a word that makes it necessary.
    """
    if upper.count("SELECT") > 1:
        constant_subqueries(tree)
    if "UNNEST" in upper:
        unnested_arrays(tree)
    if "GENERATE_SERIES" in upper:
        listed_series(tree)
    if "RECURSIVE" in upper:
        counted_series(tree)
    if "TO_CHAR" in upper:
        formatted_keys(tree)
    if "TO_" in upper:
        written_moments(tree, {token.text for token in tokens if token.token_type is TokenType.STRING})
    if "UNNEST" in upper or "_TO_TABLE" in upper:
        lists_in_from(tree)
    if "STRING_TO_ARRAY" in upper:
        list_conditions(tree)
    if "INTERVAL" in upper:
        interval_sums(tree)
        overlaps(tree)
        computed_intervals(tree)
        written_intervals(tree)
    if any(name in upper for name in ("'NOW'", "'TODAY'", "'YESTERDAY'", "'TOMORROW'")):
        named_moments(tree)
    if "DATE_BIN" in upper:
        bins(tree)
    if "OVERLAPS" in upper:
        overlaps(tree)
    if "ISFINITE" in upper:
        finite(tree)
    if "AGE" in upper:
        ages(tree)
    if "ANY" in upper or "SOME" in upper or "ALL" in upper:
        memberships(tree)
    if "~" in upper or "SIMILAR" in upper or "REGEXP_LIKE" in upper:
        regular_expressions(tree)
    if "UNION" in upper:
        unions_in_conditions(tree)
    if may_compare_rows(upper):
        row_comparisons(tree)
    if "BOOL_" in upper or "EVERY" in upper:
        truth_aggregates(tree)
    if "PERCENTILE_" in upper:
        quantile_arrays(tree)
    if "MD5" in upper and "DISTINCT" in upper:
        symmetric_sums(tree)


def _check_characters(sql: str) -> None:
    found = _IMPOSSIBLE.search(sql)
    if found is not None:
        raise InvalidSyntax("this character cannot be part of a text", position=found.start() + 1)


def _lexemes(sql: str) -> list[Lexeme]:
    try:
        lexemes = lex(sql)
    except PlannerError:
        for _, start, stop in itertools.islice(scan(sql), 1):
            check_reads(sql[start:stop].upper(), sql[start:], start + 1)
        raise
    return written_tables(lexemes) if "TABLE" in sql.upper() else lexemes


def _tokens(lexemes: list[Lexeme]) -> list[Token]:
    tokens = tokens_of(lexemes)
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    if not tokens:
        raise InvalidSyntax("the statement is empty", hint="write one SELECT", position=1)
    return tokens


def _check_words(tokens: list[Token], sql: str) -> None:
    first = tokens[0]
    word = first.text.upper()
    check_reads(word, sql[first.start :], first.start + 1)
    for before, token in zip([first, *tokens], tokens, strict=False):
        if token.token_type is TokenType.SEMICOLON:
            raise InvalidSyntax(
                "there is more than one statement", hint="send one at a time", position=token.start + 1
            )
        if token.token_type is TokenType.L_BRACKET and not _is_array(before, sql):
            raise UnsupportedSQL("an array is not supported", hint="write IN (value, ...)", position=token.start + 1)
    if word == "WITH":
        _check_with(tokens)
    elif word not in ("SELECT", "VALUES", "("):
        known = word.isalpha() and word.isascii()
        name = word if known else "a statement that starts like this"
        meant = nearest(word, _FIRST_WORDS) if known else None
        hint = _INSTEAD.get(word, "write one SELECT") if meant is None else f"write {meant}"
        raise UnsupportedSQL(f"{name} is not supported", hint=hint, position=first.start + 1)


def _is_array(before: Token, sql: str) -> bool:
    """Does `[` after this token start `ARRAY[...]`, or belong to an array type such as `int[]`?"""
    empty = sql[before.end + 1 :].lstrip()[1:].lstrip().startswith("]")
    if before.token_type is TokenType.R_PAREN and "PERCENTILE_" in sql.upper():
        return True  # an element of an array of quantiles
    return before.token_type is TokenType.ARRAY or (empty and before.token_type is not TokenType.L_BRACKET)


def _check_with(tokens: list[Token]) -> None:
    for token in tokens:
        if token.token_type.name in WRITES_IN_WITH:
            raise ReadOnly(f"{token.text.upper()} would change data", position=token.start + 1)


def _query(sql: str, tokens: list[Token]) -> exp.Query:
    try:
        trees = postgres_parser().parse(tokens, sql)
    except ParseError as error:
        check_syntax(sql)  # has a better position
        position = error.errors[0].get("col") if error.errors else None  # the token at which the parser stopped
        raise InvalidSyntax("the statement cannot be parsed", position=position) from None
    except (SqlglotError, IndexError, ValueError):  # the library expects other arguments of some functions
        raise InvalidSyntax("the statement cannot be parsed", position=tokens[0].start + 1) from None
    except RecursionError:
        raise StatementTooComplex("the statement is nested too deeply", position=tokens[0].start + 1) from None
    tree = trees[0] if len(trees) == 1 else None
    while isinstance(tree, exp.Subquery) and tree.is_wrapper:
        tree = tree.this
    tree = tree if tree is None else written_values(tree)
    if isinstance(tree, (exp.Select, exp.SetOperation)):
        return tree
    raise _no_select(tokens)


def _no_select(tokens: list[Token]) -> UnsupportedSQL:
    for token in tokens:
        if token.token_type in _SET_OPERATIONS:
            hint = "ask the two questions one after the other"
            if token.text.upper() == "UNION":
                hint += ", or count both: SELECT count(*) FROM (SELECT ... UNION ALL SELECT ...) t"
            return UnsupportedSQL(f"{token.text.upper()} is not supported", hint=hint, position=token.start + 1)
    return UnsupportedSQL("only a plain SELECT is supported", position=tokens[0].start + 1)


def read_of(sql: str, name: str) -> Statement:
    """Parse a statement over the data set of this name. Raises: as `parse`."""
    statement = read(sql)
    if any(before.token_type is after.token_type is TokenType.DOT for before, after in _pairs(statement.tokens)):
        without_database(statement.tree, name)
    return statement


def _pairs(tokens: Sequence[Token]) -> Iterator[tuple[Token, Token]]:
    """Each token with the one after the next, as two dots are in `a.b.c`."""
    return zip(tokens, itertools.islice(tokens, 2, None), strict=False)


def without_database(tree: exp.Query, name: str) -> None:
    """Drop the data set's name before a schema, in place. The grammar refuses any other database name.

    >>> from sqlglot import parse_one
    >>> tree = parse_one("SELECT shop.public.t.a FROM Shop.public.t JOIN other.public.u", dialect="postgres")
    >>> without_database(tree, "shop")
    >>> tree.sql("postgres")
    'SELECT public.t.a FROM public.t, other.public.u'
    """
    for node in nodes(tree):
        if isinstance(node, (exp.Table, exp.Column)):
            database = node.args.get("catalog")
            if database is not None and fold(database) == name:
                node.set("catalog", None)
