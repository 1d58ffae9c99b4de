"""Public limits on a statement, applied before anything recursive reads it."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from planner.errors import StatementTooComplex, StatementTooLong
from planner.trees import children

MAX_LENGTH = 65_536
"""Characters of a statement."""

MAX_NESTING = 24
"""Parentheses, CASE, NOT and signs inside one another; the parser's recursion ends near 50."""

MAX_CHAIN = 64
"""Arithmetic operators in a row: `1 + 1 + ...` is a tree as deep as it is long."""

MAX_TABLES = 16
"""Tables that one query may name."""

MAX_TOKENS = 16_384
"""Words and signs of a statement; an IN list takes two for each value."""

MAX_CTES = 64
"""Queries in WITH; a chain of them is read as deep as it is long."""

MAX_OUTPUTS = 64
"""Columns of an answer."""

MAX_GROUPS = 100_000
"""Groups of an answer."""

MAX_PUBLIC_ROWS = 100_000
"""Rows of an answer from public tables."""

MAX_PUBLIC_BYTES = 1 << 25
"""What the cells of such an answer may take, a few bytes for each and the characters of texts."""

_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.CASE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.END}
_PREFIX = {TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE}


def check_length(sql: str) -> None:
    """Raise StatementTooLong when the text is longer than MAX_LENGTH characters."""
    if len(sql) > MAX_LENGTH:
        raise StatementTooLong(f"the statement is longer than {MAX_LENGTH} characters", hint="ask a shorter question")


def check_nesting(tokens: Sequence[Token]) -> None:
    """Raise StatementTooComplex for too many tokens, and where brackets, CASE or prefix operators nest too deep."""
    if len(tokens) > MAX_TOKENS:
        position = tokens[MAX_TOKENS].start + 1
        raise StatementTooComplex(f"the statement has more than {MAX_TOKENS} words and signs", position=position)
    depth = run = 0
    for token in tokens:
        run = run + 1 if token.token_type in _PREFIX else 0
        if token.token_type in _OPENING:
            depth += 1
        elif token.token_type in _CLOSING:
            depth = max(0, depth - 1)
        if depth + run > MAX_NESTING:
            raise StatementTooComplex(
                f"the statement nests deeper than {MAX_NESTING} levels",
                hint="remove parentheses that are not needed",
                position=token.start + 1,
            )


def check_depth(tree: exp.Expr) -> None:
    """Raise StatementTooComplex when the tree is deeper than MAX_CHAIN; runs of one AND / OR count once.

    And for more than MAX_CTES queries in WITH, each of which may read the one before it.
    """
    level, depth, queries = [tree], 0, 0
    while level:
        if depth > MAX_CHAIN:
            raise StatementTooComplex(
                f"an expression is deeper than {MAX_CHAIN} levels", hint="split the expression into several queries"
            )
        below: list[exp.Expr] = []
        for node in level:  # it grows while it is read
            queries += isinstance(node, exp.CTE)
            if not isinstance(node, (exp.And, exp.Or)):
                below += children(node)
                continue
            for child in children(node):
                (level if type(child) is type(node) else below).append(child)
        if queries > MAX_CTES:
            raise StatementTooComplex(f"more than {MAX_CTES} queries in WITH", hint="write some where they are read")
        level, depth = below, depth + 1
