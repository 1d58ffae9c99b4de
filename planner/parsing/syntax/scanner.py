"""The SQL scanner: a text to its pieces, as PostgreSQL's scanner cuts it. Whoever looks into SQL text begins here.

Strings are as under `standard_conforming_strings = on`: a backslash means something in E'...' alone. Comments nest;
a dollar quote ends with its own tag.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum


class Kind(StrEnum):
    """What a piece of a text is."""

    WORD = "word"
    """A name or a keyword without quotes. PostgreSQL takes every character beyond ASCII for a letter, blanks too."""
    NAME = "name"
    """A quoted name, perhaps with Unicode escapes."""
    STRING = "string"
    """A string in quotes, perhaps with B, X, N or U& before it."""
    ESCAPED = "escaped"
    """A string with backslashes: E'...'."""
    DOLLAR = "dollar"
    """A dollar-quoted string."""
    NUMBER = "number"
    """Digits with at most one point and an exponent; never a sign."""
    PARAMETER = "parameter"
    """$1"""
    SIGN = "sign"
    """A bracket, a comma, a semicolon, a point, a colon or two."""
    OPERATOR = "operator"
    """The longest run of signs that PostgreSQL takes for one operator, whether or not it has it."""
    WRONG = "wrong"
    """One character that begins nothing."""
    COMMENT = "comment"
    """A comment that ends: never yielded, as blanks and comments of one line are not."""
    OPEN_STRING = "open string"
    OPEN_NAME = "open name"
    OPEN_DOLLAR = "open dollar quote"
    OPEN_COMMENT = "open comment"
    """What does not end: it takes the rest of the text."""

    @property
    def is_open(self) -> bool:
        """Does the text end before the piece does?"""
        return self in _OPEN


_OPEN = frozenset({Kind.OPEN_STRING, Kind.OPEN_NAME, Kind.OPEN_DOLLAR, Kind.OPEN_COMMENT})


Piece = tuple[Kind, int, int]
"""What a piece is, where it starts and where it stops: offsets in characters from 0, `text[start:stop]` is as
written. A plain tuple, since a text of 64,000 characters has some 20,000 of them."""

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
  | (?P<operator> [~!@\#^&|`?+\-*/%<>=]++ )
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


def scan(sql: str) -> Iterator[Piece]:
    """The pieces of a text, in order and without overlap.

    Never raises: what no statement has is WRONG, what does not end is open and the last piece.
    Cost: one pass of a regular expression, about a third of a microsecond per piece.

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
"""By the group's number: the kind, and whether the regular expression knows where it ends."""


def _measured(sql: str, kind: Kind, start: int, stop: int) -> tuple[Kind, int]:
    """What the regular expression has only begun turns out to be, and where it stops."""
    if kind is Kind.OPERATOR:
        return kind, start + _operator_length(sql[start:stop])
    if kind is Kind.OPEN_DOLLAR:
        closing = sql.find(sql[start:stop], stop)
        return (kind, len(sql)) if closing < 0 else (Kind.DOLLAR, closing + stop - start)
    if kind is Kind.OPEN_COMMENT and (end := _comment_end(sql, start)):
        return Kind.COMMENT, end
    return kind, len(sql)


def _operator_length(run: str) -> int:
    """Signs are cut before a comment; + and - stay at an operator's end only beside a sign that asks for it."""
    for edge in ("--", "/*"):
        cut = run.find(edge, 1)
        run = run[:cut] if cut > 0 else run
    while len(run) > 1 and run[-1] in "+-" and not _KEEPS_ITS_END & set(run[:-1]):
        run = run[:-1]
    return len(run)


def _comment_end(sql: str, start: int) -> int:
    """The offset behind a comment, which may hold others; 0 where it does not end."""
    depth = 0
    for edge in _COMMENT_EDGE.finditer(sql, start):
        depth += 1 if edge.group() == "/*" else -1
        if depth == 0:
            return edge.end()
    return 0
