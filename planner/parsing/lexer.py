"""Split SQL text into lexemes, as PostgreSQL's scanner does. All code that reads SQL text starts here.

`scan` splits any text and never raises. `lex` turns the pieces into lexemes and refuses what PostgreSQL's scanner
refuses. Strings follow `standard_conforming_strings = on`: only E'...' has backslash escapes. Comments nest. The
keywords are those of `pg_get_keywords()` of version 18.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from planner.errors import InvalidSyntax, UnsupportedSQL


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


RESERVED = _words("""
ALL ANALYSE ANALYZE AND ANY ARRAY AS ASC ASYMMETRIC BOTH CASE CAST CHECK COLLATE COLUMN CONSTRAINT CREATE
CURRENT_CATALOG CURRENT_DATE CURRENT_ROLE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER DEFAULT DEFERRABLE DESC
DISTINCT DO ELSE END EXCEPT FALSE FETCH FOR FOREIGN FROM GRANT GROUP HAVING IN INITIALLY INTERSECT INTO LATERAL
LEADING LIMIT LOCALTIME LOCALTIMESTAMP NOT NULL OFFSET ON ONLY OR ORDER PLACING PRIMARY REFERENCES RETURNING
SELECT SESSION_USER SOME SYMMETRIC SYSTEM_USER TABLE THEN TO TRAILING TRUE UNION UNIQUE USER USING VARIADIC WHEN
WHERE WINDOW WITH
""")
"""Words that need quotes as a name, except as a column name after AS."""

FUNCTIONS_ONLY = _words("""
AUTHORIZATION BINARY COLLATION CONCURRENTLY CROSS CURRENT_SCHEMA FREEZE FULL ILIKE INNER IS ISNULL JOIN LEFT
LIKE NATURAL NOTNULL OUTER OVERLAPS RIGHT SIMILAR TABLESAMPLE VERBOSE
""")
"""Words that can name functions and types, but no table and no column."""


class Kind(StrEnum):
    """The kind of a piece of text."""

    WORD = "word"
    """A name or a keyword without quotes. Like PostgreSQL, this counts every character beyond ASCII as a letter."""
    NAME = "name"
    """A quoted name, possibly with Unicode escapes."""
    STRING = "string"
    """A quoted string, possibly prefixed by B, X, N or U&."""
    ESCAPED = "escaped"
    """A string with backslashes: E'...'."""
    DOLLAR = "dollar"
    """A dollar-quoted string."""
    NUMBER = "number"
    """Digits with at most one point and an exponent, without a sign."""
    PARAMETER = "parameter"
    """$1"""
    SIGN = "sign"
    """A bracket, comma, semicolon, point, colon or double colon."""
    OPERATOR = "operator"
    """The longest run of signs that PostgreSQL reads as one operator, known or not."""
    WRONG = "wrong"
    """A character that starts nothing."""
    COMMENT = "comment"
    """A closed block comment. `scan` skips it, as it skips blanks and line comments."""
    OPEN_STRING = "open string"
    OPEN_NAME = "open name"
    OPEN_DOLLAR = "open dollar quote"
    OPEN_COMMENT = "open comment"
    """A piece that does not end; it takes the rest of the text."""

    @property
    def is_open(self) -> bool:
        """Does the text end before the piece does?"""
        return self.name.startswith("OPEN_")


Piece = tuple[Kind, int, int]
"""The kind of a piece and its 0-based offsets: `text[start:stop]`. A tuple, because a text of 64,000 characters has
20,000 pieces.
"""

_PIECE = re.compile(
    r"""
    (?: [ \t\n\r\f\v]++ | --[^\n\r]*+ )*+
  (?:
    (?P<word> (?: [AaCcDdF-Mf-mO-To-tV-Wv-wY-Zy-z_\x80-\U0010ffff] | [BbEeNnXx](?!') | [Uu](?!&['"]) )
              [A-Za-z0-9_$\x80-\U0010ffff]*+ )
  | (?P<sign> ::|[()\[\],;:] | \.(?![0-9]) )
  | (?P<number> (?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)? )
  | (?P<string> (?:[bBxXnN]|[uU]&)?'[^']*+(?:''[^']*+)*+' )
  | (?P<open_comment> /\* )
  | (?P<operator> [~!@\#^&|`?+\-*/%<>=]{1,64}+ )
  | (?P<name> (?:[uU]&)?"[^"]*+(?:""[^"]*+)*+" )
  | (?P<escaped> [eE]'(?:[^'\\]++|\\.|'')*+' )
  | (?P<open_dollar> \$(?:[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_\x80-\U0010ffff]*+)?\$ )
  | (?P<parameter> \$[0-9]++ )
  | (?P<open_string> (?:[eEbBxXnN]|[uU]&)?' )
  | (?P<open_name> (?:[uU]&)?" )
  | (?P<wrong> . )
  | \Z
  )
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_KEEPS_ITS_END = frozenset("~!@#^&|`?%")
# An operator of PostgreSQL has 63 characters at most: a longer run of signs is cut, so that one pass is enough.


def scan(sql: str) -> Iterator[Piece]:
    """The pieces of a text, in order and without overlap.

    It never raises: an invalid character is WRONG, and a piece that does not end is open and the last one. Cost: one
    pass of a regular expression, about 0.3 microseconds per piece.

    >>> [(kind.value, "SELECT 'a;"[start:stop]) for kind, start, stop in scan("SELECT 'a;")]
    [('word', 'SELECT'), ('open string', "'a;")]
    """
    place, end = 0, len(sql)
    while place < end:
        for match in _PIECE.finditer(sql, place):
            group = match.lastindex
            if group is None:
                return
            start, place = match.span(group)
            kind, whole = _KINDS[group]
            if whole or (kind is Kind.OPERATOR and place == start + 1):
                yield kind, start, place
                continue
            kind, stop = _measured(sql, kind, start, place)
            if kind is not Kind.COMMENT:
                yield kind, start, stop
            if stop != place:
                place = stop
                break


_KINDS = {
    number: (kind, not kind.is_open and kind is not Kind.OPERATOR)
    for name, number in _PIECE.groupindex.items()
    for kind in [Kind[name.upper()]]
}
"""By group number: the kind, and whether the regular expression finds its end."""


def _measured(sql: str, kind: Kind, start: int, stop: int) -> tuple[Kind, int]:
    """The kind and the end of a piece of which the regular expression finds only the start."""
    if kind is Kind.OPERATOR:
        return kind, start + _operator_length(sql[start:stop])
    if kind is Kind.OPEN_DOLLAR:
        closing = sql.find(sql[start:stop], stop)
        return (kind, len(sql)) if closing < 0 else (Kind.DOLLAR, closing + stop - start)
    if kind is Kind.OPEN_COMMENT and (end := _comment_end(sql, start)):
        return Kind.COMMENT, end
    return kind, len(sql)


def _operator_length(run: str) -> int:
    """An operator ends before a comment. It ends in + or - only if it also has one of _KEEPS_ITS_END."""
    for edge in ("--", "/*"):
        cut = run.find(edge, 1)
        run = run[:cut] if cut > 0 else run
    return len(run) if _KEEPS_ITS_END & set(run) else max(1, len(run.rstrip("+-")))


def _comment_end(sql: str, start: int) -> int:
    """The offset after a comment, which may contain others; 0 if it does not end."""
    depth = 0
    for edge in _COMMENT_EDGE.finditer(sql, start):
        depth += 1 if edge.group() == "/*" else -1
        if depth == 0:
            return edge.end()
    return 0


NAME, STRING, NUMBER, PARAMETER, END = "#name", "#string", "#number", "#parameter", "#end"
"""Symbols of lexemes whose text does not matter to the grammar."""

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
      symbol: a word in upper case, a sign, or one of the symbols above.
      text: as written.
      start: the 0-based offset.
    """

    symbol: str
    text: str
    start: int


DOCUMENT_OPERATORS = frozenset({"->", "->>", "#>", "#>>", "#-", "@>", "<@", "@?", "@@", "?|", "?&"})
"""Operators that read or search a document or an array."""

DOCUMENT_HINT = (
    "ask the administrator for a computed column with the value: "
    "ALTER TABLE ... ADD ... GENERATED ALWAYS AS (...) STORED"
)

_WRITTEN = frozenset({"+", "-", "*", "/", "%", "^", "||", "=", "<", ">", "<=", ">=", "<>", "!=", "=>"})
_NAMED_LATER = frozenset(
    {"~", "~*", "!~", "!~*", "~~", "~~*", "!~~", "!~~*", "@>", "<@", "->", "->>", "&", "|", "<<", ">>"}
)
_INSTEAD = {
    "==": "write =",
    "&&": "write AND",
    "!": "write NOT",
    "<=>": "write IS NOT DISTINCT FROM",
    "`": 'quote names with "..."',
    "#": "a comment starts with --",
    "?": "write a placeholder as $1, and send its value in parameters",
    "=<": "write <=",
    "!<": "write >=",
    "!>": "write <=",
}


def lex(sql: str) -> list[Lexeme]:
    """The words and signs of a statement, then END.

    Raises: InvalidSyntax for what PostgreSQL's scanner refuses, and for unknown operators; UnsupportedSQL for
      dollar-quoted strings and names with Unicode escapes.
    Cost: one pass of a regular expression, 0.1 ms for TPC-H Q5.
    """
    found: list[Lexeme] = []
    for kind, start, stop in scan(sql):
        text = sql[start:stop]
        if kind is Kind.WORD and text.isascii():  # the usual case
            found.append(Lexeme(text.upper(), text, start))
            continue
        if kind is Kind.SIGN and text != ":":
            found.append(Lexeme(text, text, start))
            continue
        lexeme = _lexeme(kind, text, start, sql)
        if lexeme.symbol == STRING and found and found[-1].symbol == STRING:
            hint = "write '' for a quote within a string, or || between two strings"
            raise InvalidSyntax("two strings stand side by side", hint=hint, position=start + 1)
        found.append(lexeme)
    found.append(Lexeme(END, "", len(sql)))
    return found


def check_blanks(text: str, start: int) -> None:
    """Refuse a word that contains a blank beyond ASCII, which PostgreSQL reads as a letter.

    Raises: InvalidSyntax; `start` is the 0-based offset of the word.
    """
    for offset, character in enumerate(text):
        if character.isspace():
            raise InvalidSyntax(
                "a blank beyond ASCII is not supported", hint="write an ordinary blank", position=start + offset + 1
            )


def _lexeme(kind: Kind, text: str, start: int, sql: str) -> Lexeme:
    if kind is Kind.WORD:
        check_blanks(text, start)
        return Lexeme(NAME, text, start)
    if kind is Kind.SIGN:
        raise InvalidSyntax("a single colon is not supported", hint=_INSTEAD["?"], position=start + 1)
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
        if text == "@":  # the parser library reads it as a placeholder
            raise UnsupportedSQL("the operator @ is not supported", hint="write abs(x)", position=start + 1)
        hint = _INSTEAD.get(text) or _INSTEAD.get(text[0])
        raise InvalidSyntax(f"the SQL operator {text} does not exist", hint=hint, position=start + 1)
    return Lexeme(text, text, start)


def _check_end(kind: Kind, following: str, start: int) -> None:
    if following.isalnum() or following in ("_", "$"):
        what, hint = ("a number", "write plain digits") if kind is Kind.NUMBER else ("a placeholder", "write $1")
        raise InvalidSyntax(
            f"{what} needs a space or an operator before the next word", hint=hint, position=start + 1
        )


def _check_name(text: str, start: int) -> None:
    if text[0] != '"':
        hint = 'write the characters themselves: "..."'
        raise UnsupportedSQL("a name with Unicode escapes is not supported", hint=hint, position=start + 1)
    if text == '""':
        raise InvalidSyntax("the quoted name is empty", position=start + 1)


def _unreadable(kind: Kind, text: str, start: int) -> InvalidSyntax | UnsupportedSQL:
    if kind in (Kind.DOLLAR, Kind.OPEN_DOLLAR):
        hint = "write '...', and '' for a quote inside it"
        return UnsupportedSQL("a dollar-quoted string is not supported", hint=hint, position=start + 1)
    if kind is Kind.OPEN_COMMENT:
        return InvalidSyntax("the comment does not end", hint="write */ at its end", position=start + 1)
    if kind is Kind.OPEN_NAME:
        return InvalidSyntax('the quoted name does not end: its " is missing', position=start + 1)
    if kind is Kind.OPEN_STRING:
        return InvalidSyntax("the quoted string does not end: its ' is missing", position=start + 1)
    if text == "$":
        return InvalidSyntax(
            "a placeholder needs a number after its $", hint="placeholders are $1, $2, ...", position=start + 1
        )
    return InvalidSyntax("this character is only allowed within quotes", position=start + 1)
