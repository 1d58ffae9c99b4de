"""SQL text to one SELECT of the grammar; everything else is refused with its name and place."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import ErrorLevel, ParseError, SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from planner.errors import InvalidSyntax, PlannerError, ReadOnly, StatementTooComplex, UnsupportedSQL
from planner.formatted_moments import written_moments
from planner.grammar import check_grammar
from planner.keywords import mark_keywords
from planner.limits import check_depth, check_length, check_nesting
from planner.syntax.lexer import Lexeme, lex
from planner.syntax.queries import check_syntax
from planner.syntax.tokens import tokens_of

_DIALECT = Postgres()
_FIRST_WORD = re.compile(r"\s*(\w+)")
_IMPOSSIBLE = re.compile("[\0\ud800-\udfff]")

# fmt: off
_WRITES = frozenset(
    {
        "ALTER", "ANALYZE", "CALL", "CLUSTER", "COMMENT", "COPY", "CREATE", "DELETE", "DO", "DROP",
        "EXECUTE", "GRANT", "IMPORT", "INSERT", "LOCK", "MERGE", "NOTIFY", "REASSIGN", "REFRESH", "REINDEX",
        "REVOKE", "SECURITY", "TRUNCATE", "UPDATE", "VACUUM",
    }
)
# fmt: on

_SET_OPERATIONS = {TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT}


@dataclass(frozen=True)
class Statement:
    """One statement that only reads, not yet compared with a grammar.

    Attributes:
      tree: a SELECT, or a set operation over some.
      tokens: its words and signs, to point at.
      lexemes: the same as PostgreSQL's scanner has them, for `planner.syntax.queries.check_syntax`.
    """

    tree: exp.Query
    tokens: list[Token]
    lexemes: list[Lexeme]


def parse(sql: str) -> exp.Select:
    """Read one SELECT in the PostgreSQL dialect.

    Args:
      sql: the statement; a trailing semicolon is allowed.
    Returns: its tree, made of the constructs of `planner.grammar` only.
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
    """Read one statement within the limits, whatever tables it names. Raises: as `parse`."""
    check_length(sql)
    _check_characters(sql)
    lexemes = _lexemes(sql)
    tokens = _tokens(lexemes)
    check_nesting(tokens)
    _check_words(tokens)
    tree = _query(sql, tokens, lexemes)
    if "%" in sql and tree.find(exp.Placeholder) is not None:  # `%s` of some drivers
        check_syntax(lexemes)
    check_depth(tree)
    mark_keywords(tree, tokens, sql)
    written_moments(tree, {token.text for token in tokens if token.token_type is TokenType.STRING})
    return Statement(tree, tokens, lexemes)


def _check_characters(sql: str) -> None:
    found = _IMPOSSIBLE.search(sql)
    if found is not None:
        raise InvalidSyntax("a character that no database text can hold", position=found.start() + 1)


def _lexemes(sql: str) -> list[Lexeme]:
    try:
        return lex(sql)
    except PlannerError:
        word = _FIRST_WORD.match(sql)
        if word is not None:
            _check_reads(word[1].upper(), word.start(1))
        raise


def _tokens(lexemes: list[Lexeme]) -> list[Token]:
    tokens = tokens_of(lexemes)
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    if not tokens:
        raise InvalidSyntax("the statement is empty", hint="write one SELECT", position=1)
    return tokens


def _check_reads(word: str, start: int) -> None:
    """Does the first word of a statement leave everything as it is?"""
    if word in _WRITES:
        raise ReadOnly(f"{word} would change something; only SELECT is answered", position=start + 1)


def _check_words(tokens: list[Token]) -> None:
    first = tokens[0]
    word = first.text.upper()
    _check_reads(word, first.start)
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            raise InvalidSyntax("more than one statement", hint="send one at a time", position=token.start + 1)
        if token.token_type is TokenType.L_BRACKET:
            raise UnsupportedSQL("an array is not supported", hint="write IN (value, ...)", position=token.start + 1)
    if word == "WITH":
        _check_with(tokens)
    elif word not in ("SELECT", "("):
        known = word.isalpha() and word.isascii()
        name = word if known else "a statement that starts like this"
        raise UnsupportedSQL(f"{name} is not supported", hint="write one SELECT", position=first.start + 1)


def _check_with(tokens: list[Token]) -> None:
    for token in tokens:
        if token.token_type in (TokenType.INSERT, TokenType.UPDATE, TokenType.DELETE, TokenType.MERGE):
            raise ReadOnly(f"{token.text.upper()} would change something", position=token.start + 1)


def _query(sql: str, tokens: list[Token], lexemes: list[Lexeme]) -> exp.Query:
    try:
        trees = _DIALECT.parser(error_level=ErrorLevel.IMMEDIATE).parse(tokens, sql)
    except ParseError as error:
        check_syntax(lexemes)  # knows the place better
        position = error.errors[0].get("col") if error.errors else None  # of the token that stopped the parser
        raise InvalidSyntax("the statement is not SQL that can be read", position=position) from None
    except SqlglotError:
        raise InvalidSyntax("the statement is not SQL that can be read") from None
    except RecursionError:
        raise StatementTooComplex("the statement nests too deep") from None
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
