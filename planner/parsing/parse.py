"""SQL text to one SELECT of the grammar; everything else is refused with its place."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from planner.errors import InvalidSyntax, PlannerError, ReadOnly, StatementTooComplex, UnsupportedSQL
from planner.limits import check_depth, check_length, check_nesting
from planner.parsing.array_membership import memberships
from planner.parsing.constant_datetimes import written_intervals, written_moments
from planner.parsing.grammar import check_grammar
from planner.parsing.keyword_positions import mark_keywords
from planner.parsing.postgres_parser import postgres_parser
from planner.parsing.reading_only import WRITES_IN_WITH, check_reads
from planner.parsing.row_comparisons import may_compare_rows, row_comparisons
from planner.parsing.statement_forms import check_row_counts, constant_subqueries, written_tables
from planner.parsing.syntax.lexer import Lexeme, lex
from planner.parsing.syntax.queries import check_syntax
from planner.parsing.syntax.scanner import scan
from planner.parsing.syntax.tokens import tokens_of
from planner.suggestions import nearest

_IMPOSSIBLE = re.compile("[\0\ud800-\udfff]")

_FIRST_WORDS = ("SELECT", "WITH", "EXPLAIN")

_SET_OPERATIONS = {TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT}


@dataclass(frozen=True)
class Statement:
    """One statement that only reads, not yet compared with a grammar.

    Attributes:
      tree: a SELECT, or a set operation over some.
      tokens: its words and signs, to point at.
      lexemes: the same as PostgreSQL's scanner has them, for `planner.parsing.syntax.queries.check_syntax`.
    """

    tree: exp.Query
    tokens: list[Token]
    lexemes: list[Lexeme]


def parse(sql: str) -> exp.Select:
    """Read one SELECT in the PostgreSQL dialect.

    Args:
      sql: the statement; a trailing semicolon is allowed.
    Returns: its tree, made of the constructs of `planner.parsing.grammar` only.
    Raises: StatementTooLong, StatementTooComplex, InvalidSyntax, ReadOnly, UnsupportedSQL; nothing else.
    Cost: about 1 ms for TPC-H Q5.
    """
    return private_select(read(sql))


def private_select(statement: Statement) -> exp.Select:
    """The SELECT of a statement over private tables.

    Raises: UnsupportedSQL for what the grammar does not name; InvalidSyntax for what PostgreSQL's does not.
    """
    select = statement.tree
    if not isinstance(select, exp.Select):
        raise _no_select(statement.tokens)
    check_grammar(select, statement.tokens)
    check_syntax(statement.lexemes)
    return select


def read(sql: str) -> Statement:
    """Read one statement within the limits, whatever tables it names.

    Args:
      sql: the text as it was sent, of any length and nesting.
    Returns: the tree with its tokens and lexemes; it may hold more than the private grammar.
    Raises: as `parse`.
    """
    check_length(sql)
    _check_characters(sql)
    lexemes = _lexemes(sql)
    tokens = _tokens(lexemes)
    check_nesting(tokens)
    _check_words(tokens, sql)
    if "LIMIT" in sql.upper():
        _check_limits(tokens)
    tree = _query(sql, tokens, lexemes)
    if "%" in sql and tree.find(exp.Placeholder) is not None:  # `%s` of some drivers
        check_syntax(lexemes)
    check_depth(tree)
    mark_keywords(tree, tokens, sql)
    check_row_counts(tree)
    _write_out(tree, tokens, sql.upper())
    return Statement(tree, tokens, lexemes)


def _write_out(tree: exp.Query, tokens: Sequence[Token], upper: str) -> None:
    """Give spellings of tools the form that the grammar names, in place.

    A walk through the tree is a twentieth of planning, so each is made only where a word asks for it.
    """
    if upper.count("SELECT") > 1:
        constant_subqueries(tree)
    if "TO_" in upper:
        written_moments(tree, {token.text for token in tokens if token.token_type is TokenType.STRING})
    if "INTERVAL" in upper:
        written_intervals(tree)
    if "ANY" in upper or "SOME" in upper or "ALL" in upper:
        memberships(tree)
    if may_compare_rows(upper):
        row_comparisons(tree)


def _check_characters(sql: str) -> None:
    found = _IMPOSSIBLE.search(sql)
    if found is not None:
        raise InvalidSyntax("a character that no database text can hold", position=found.start() + 1)


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
            raise InvalidSyntax("more than one statement", hint="send one at a time", position=token.start + 1)
        if token.token_type is TokenType.L_BRACKET and not _is_array(before, sql):
            raise UnsupportedSQL("an array is not supported", hint="write IN (value, ...)", position=token.start + 1)
    if word == "WITH":
        _check_with(tokens)
    elif word not in ("SELECT", "("):
        known = word.isalpha() and word.isascii()
        name = word if known else "a statement that starts like this"
        meant = nearest(word, _FIRST_WORDS) if known else None
        hint = "write one SELECT" if meant is None else f"write {meant}"
        raise UnsupportedSQL(f"{name} is not supported", hint=hint, position=first.start + 1)


def _check_limits(tokens: list[Token]) -> None:
    """Refuse `LIMIT a, b`, which the parser library reads, and PostgreSQL does not."""
    for limit, number, comma in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if limit.token_type is TokenType.LIMIT and comma.token_type is TokenType.COMMA:
            hint = f"write LIMIT count OFFSET {number.text}, the count being the number behind the comma"
            raise InvalidSyntax("LIMIT takes one number", hint=hint, position=comma.start + 1)


def _is_array(before: Token, sql: str) -> bool:
    """Does `[` after this token begin `ARRAY[...]`, or end an array's type, `int[]`?"""
    empty = sql[before.end + 1 :].lstrip()[1:].lstrip().startswith("]")
    return before.token_type is TokenType.ARRAY or (empty and before.token_type is not TokenType.L_BRACKET)


def _check_with(tokens: list[Token]) -> None:
    for token in tokens:
        if token.token_type.name in WRITES_IN_WITH:
            raise ReadOnly(f"{token.text.upper()} would change something", position=token.start + 1)


def _query(sql: str, tokens: list[Token], lexemes: list[Lexeme]) -> exp.Query:
    try:
        trees = postgres_parser().parse(tokens, sql)
    except ParseError as error:
        check_syntax(lexemes)  # knows the place better
        position = error.errors[0].get("col") if error.errors else None  # of the token that stopped the parser
        raise InvalidSyntax("the statement is not SQL that can be read", position=position) from None
    except SqlglotError:
        raise InvalidSyntax("the statement is not SQL that can be read", position=tokens[0].start + 1) from None
    except RecursionError:
        raise StatementTooComplex("the statement nests too deep", position=tokens[0].start + 1) from None
    tree = trees[0] if len(trees) == 1 else None
    while isinstance(tree, exp.Subquery) and tree.is_wrapper:
        tree = tree.this
    if isinstance(tree, (exp.Select, exp.SetOperation)):
        return tree
    raise _no_select(tokens)


def _no_select(tokens: list[Token]) -> UnsupportedSQL:
    for token in tokens:
        if token.token_type in _SET_OPERATIONS:
            hint = "ask the two questions one after the other"
            return UnsupportedSQL(f"{token.text.upper()} is not supported", hint=hint, position=token.start + 1)
    return UnsupportedSQL("only a plain SELECT is supported", position=tokens[0].start + 1)
