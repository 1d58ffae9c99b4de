"""The public limits of a statement: length, nesting, tables, groups, epsilon and delta."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from planner.errors import StatementTooComplex, StatementTooLong
from planner.sql.trees import children, position_of

MIN_EPSILON = 1e-4
"""The least epsilon of a query. Below it answers are useless, and noise scales leave their range."""

MAX_EPSILON = 1e3
"""The largest epsilon of a query, and in a policy. Far above it losses are not computed, and e^1000 protects nobody.
Budgets may be larger.
"""

MIN_DELTA = 1e-15
"""The least delta of a query: budgets count deltas in multiples of 1e-18, and several releases share it."""

MAX_LENGTH = 65_536
"""The most characters of a statement."""

MAX_NESTING = 24
"""The deepest nesting of parentheses, CASE, NOT and signs. The parser's recursion ends near 50."""

MAX_CHAIN = 64
"""The most arithmetic operators in a row: `1 + 1 + ...` is a tree as deep as it is long."""

MAX_TABLES = 16
"""The most tables of one query."""

MAX_WORDS = 3_300
"""The most words and signs of a statement; a literal counts half, and a comma nothing.

So it is planned within 300 ms of a processor: a CASE of 300 branches, or an IN list of 6,500 values.
"""

MAX_CTES = 64
"""The most queries in WITH; a chain of them nests as deep as it is long."""

MAX_OUTPUTS = 64
"""The most columns of an answer."""

MAX_GROUPS = 100_000
"""The most groups of an answer."""

MAX_BASE = 1_000_000
"""The most combinations of column values from which the groups of an answer are computed."""

MAX_CELLS = 1_000_000
"""The most cells of an answer, groups times columns: 24 columns of 40,000 groups."""

MAX_KEY_BYTES = 1 << 26
"""The most characters of the texts among an answer's group keys, repetitions included."""

MAX_PUBLIC_ROWS = 100_000
"""The most rows of an answer from public tables."""

MAX_PUBLIC_BYTES = 1 << 25
"""The most bytes of the cells of such an answer in memory."""

_FEWER = "ask for fewer columns at a time, group by fewer or coarser keys, or name some of the groups in WHERE"

_HALVES = {TokenType.NUMBER: 1, TokenType.STRING: 1, TokenType.COMMA: 0}

_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.CASE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.END}
_PREFIX = {TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE}


def check_length(sql: str) -> None:
    """Raise StatementTooLong for a text of more than MAX_LENGTH characters."""
    if len(sql) > MAX_LENGTH:
        message = f"the statement is longer than {MAX_LENGTH} characters"
        raise StatementTooLong(message, hint="ask a shorter question", position=MAX_LENGTH + 1)


def check_cells(groups: int, columns: int, hint: str = _FEWER) -> None:
    """Raise StatementTooComplex for an answer of more than MAX_CELLS cells."""
    if groups * columns > MAX_CELLS:
        said = f"{groups:,} groups x {columns:,} columns are {groups * columns:,} cells, more than {MAX_CELLS:,}"
        raise StatementTooComplex(f"the answer is too large: {said}", hint=hint)


def check_keys(characters: int) -> None:
    """Raise StatementTooComplex if the texts of group keys have more than MAX_KEY_BYTES characters."""
    if characters > MAX_KEY_BYTES:
        said = f"its group keys have {characters:,} characters, more than {MAX_KEY_BYTES:,}"
        raise StatementTooComplex(f"the answer is too large: {said}", hint=_FEWER)


def most_groups(columns: int) -> int:
    """Return how many groups an answer of so many columns may have."""
    return min(MAX_GROUPS, MAX_CELLS // max(1, columns))


def check_nesting(tokens: Sequence[Token]) -> None:
    """Raise StatementTooComplex for too many tokens, or too deep nesting of brackets, CASE or prefix operators."""
    if len(tokens) > MAX_WORDS:
        words = itertools.accumulate(_HALVES.get(token.token_type, 2) for token in tokens)
        beyond = next((token for token, halves in zip(tokens, words, strict=True) if halves > 2 * MAX_WORDS), None)
        if beyond is not None:
            message = f"the statement has more than {MAX_WORDS:,} words and signs"
            raise StatementTooComplex(message, hint="ask several shorter questions", position=beyond.start + 1)
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
    """Raise StatementTooComplex for a tree deeper than MAX_CHAIN, or more than MAX_CTES queries in WITH.

    A run of one AND or OR counts once.
    """
    level, depth, queries = [tree], 0, 0
    while level:
        if depth > MAX_CHAIN:
            raise StatementTooComplex(
                f"an expression is deeper than {MAX_CHAIN} levels",
                hint="split the expression into several queries",
                position=position_of(tree),
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
            message, place = f"more than {MAX_CTES} queries in WITH", position_of(tree)
            raise StatementTooComplex(message, hint="write some of them as subqueries", position=place)
        level, depth = below, depth + 1
