"""The lexer: the scanner's pieces to lexemes of the grammar; what PostgreSQL's scanner refuses is refused here."""

from __future__ import annotations

from typing import NamedTuple

from planner.errors import InvalidSyntax, UnsupportedSQL
from planner.parsing.syntax.scanner import Kind, scan

NAME, STRING, NUMBER, PARAMETER, END = "#name", "#string", "#number", "#parameter", "#end"
"""What the symbol of a lexeme is when its text does not matter to the grammar."""

_SYMBOLS = {
    Kind.NAME: NAME,
    Kind.STRING: STRING,
    Kind.ESCAPED: STRING,
    Kind.NUMBER: NUMBER,
    Kind.PARAMETER: PARAMETER,
}


class Lexeme(NamedTuple):
    """One word or sign.

    Attributes:
      symbol: a word in upper case, a sign, or one of the kinds above.
      text: as written.
      start: 0-based offset.
    """

    symbol: str
    text: str
    start: int


DOCUMENT_OPERATORS = frozenset({"->", "->>", "#>", "#>>", "#-", "@>", "<@", "@?", "@@", "?|", "?&"})
"""What reads a part of a document or an array, or looks for one."""

DOCUMENT_HINT = (
    "ask the custodian for the value as a column of its own, which the database computes: "
    "ALTER TABLE ... ADD ... GENERATED ALWAYS AS (...) STORED"
)

_WRITTEN = frozenset({"+", "-", "*", "/", "%", "^", "||", "=", "<", ">", "<=", ">=", "<>", "!=", "=>"})
_NAMED_LATER = frozenset({"~", "~*", "!~", "!~*", "~~", "~~*", "@>", "<@", "->", "->>", "&", "|", "<<", ">>", "@"})
_INSTEAD = {
    "==": "write =",
    "&&": "write AND",
    "!": "write NOT",
    "<=>": "write IS NOT DISTINCT FROM",
    "`": 'quote names with "..."',
    "#": "a comment starts with --",
    "?": "a placeholder is written $1, its value sent in parameters",
    "=<": "write <=",
    "!<": "write >=",
    "!>": "write <=",
}


def lex(sql: str) -> list[Lexeme]:
    """The words and signs of a statement, then END.

    Raises: InvalidSyntax with its place for what PostgreSQL's scanner refuses, and for operators that it does not
      have; UnsupportedSQL for dollar-quoted strings and for names with Unicode escapes.
    Cost: one pass of a regular expression, 0.1 ms for TPC-H Q5.
    """
    found: list[Lexeme] = []
    for kind, start, stop in scan(sql):
        text = sql[start:stop]
        if kind is Kind.WORD and text.isascii():  # most are
            found.append(Lexeme(text.upper(), text, start))
            continue
        if kind is Kind.SIGN and text != ":":
            found.append(Lexeme(text, text, start))
            continue
        lexeme = _lexeme(kind, text, start, sql)
        if lexeme.symbol == STRING and found and found[-1].symbol == STRING:
            hint = "write '' for a quote inside a string, || between two"
            raise InvalidSyntax("a string right after a string", hint=hint, position=start + 1)
        found.append(lexeme)
    found.append(Lexeme(END, "", len(sql)))
    return found


def check_blanks(text: str, start: int) -> None:
    """Refuse a word with a blank beyond ASCII, which PostgreSQL takes for a letter, and nobody means.

    Args:
      text: the word.
      start: its offset, from 0.
    Raises: InvalidSyntax.
    """
    for offset, character in enumerate(text):
        if character.isspace():
            hint = "write an ordinary blank"
            raise InvalidSyntax("a blank beyond ASCII", hint=hint, position=start + offset + 1)


def _lexeme(kind: Kind, text: str, start: int, sql: str) -> Lexeme:
    if kind is Kind.WORD:
        check_blanks(text, start)
        return Lexeme(NAME, text, start)
    if kind is Kind.SIGN:
        raise InvalidSyntax("a colon stands alone", hint=_INSTEAD["?"], position=start + 1)
    if kind is Kind.OPERATOR:
        return _operator(text, start)
    if kind in (Kind.NUMBER, Kind.PARAMETER):
        _check_end(kind, sql[start + len(text) : start + len(text) + 1], start)
    elif kind is Kind.NAME:
        _check_name(text, start)
    elif kind not in _SYMBOLS:
        raise _unreadable(kind, text, start)
    return Lexeme(_SYMBOLS[kind], text, start)


def _operator(text: str, start: int) -> Lexeme:
    if text not in _WRITTEN and text not in _NAMED_LATER:
        if text in DOCUMENT_OPERATORS:
            raise UnsupportedSQL(f"the operator {text} is not supported", hint=DOCUMENT_HINT, position=start + 1)
        hint = _INSTEAD.get(text) or _INSTEAD.get(text[0])
        raise InvalidSyntax(f"there is no operator {text}", hint=hint, position=start + 1)
    return Lexeme(text, text, start)


def _check_end(kind: Kind, following: str, start: int) -> None:
    if following.isalnum() or following in ("_", "$"):
        what, hint = ("a number", "write plain digits") if kind is Kind.NUMBER else ("a placeholder", "write $1")
        raise InvalidSyntax(f"{what} runs into a word", hint=hint, position=start + 1)


def _check_name(text: str, start: int) -> None:
    if text[0] != '"':
        hint = 'write the characters themselves: "..."'
        raise UnsupportedSQL("a name with Unicode escapes is not supported", hint=hint, position=start + 1)
    if text == '""':
        raise InvalidSyntax("a quoted name is empty", position=start + 1)


def _unreadable(kind: Kind, text: str, start: int) -> InvalidSyntax | UnsupportedSQL:
    if kind in (Kind.DOLLAR, Kind.OPEN_DOLLAR):
        hint = "write '...', and '' for a quote inside it"
        return UnsupportedSQL("a dollar-quoted string is not supported", hint=hint, position=start + 1)
    if kind is Kind.OPEN_COMMENT:
        return InvalidSyntax("a comment does not end", hint="write */ at its end", position=start + 1)
    if kind is Kind.OPEN_NAME:
        return InvalidSyntax('a quoted name does not end: its " is missing', position=start + 1)
    if kind is Kind.OPEN_STRING:
        return InvalidSyntax("a quoted string does not end: its ' is missing", position=start + 1)
    if text == "$":
        return InvalidSyntax("a $ without a number", hint="placeholders are $1, $2, ...", position=start + 1)
    return InvalidSyntax("a character that no statement has outside of quotes", position=start + 1)
