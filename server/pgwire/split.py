"""One text to its statements: cut at `;` outside of quotes, comments and dollar quotes."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PIECE = re.compile(
    r"""
    (?P<blank> \s+ | --[^\n\r]* )
  | (?P<comment> /\* )
  | (?P<quoted> [eE]'(?:[^'\\]|\\.|'')*(?:'|\Z) | '[^']*(?:'|\Z) | "[^"]*(?:"|\Z) )
  | (?P<dollar> \$(?:[^\W\d]\w*)?\$ )
  | (?P<word> [^\W\d][\w$]* )
  | (?P<number> \d[\d.]* )
  | (?P<end> ; )
  | (?P<sign> . )
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")


@dataclass(frozen=True)
class Words:
    """One statement of a text.

    Attributes:
      text: as written, from its first word on.
      start: 0-based offset of that word in the text it came from.
      words: its first words and signs in upper case, comments left out; quoted names as written. Enough to tell
        what kind of statement it is.
      names: every unquoted word in lower case and every quoted name as it reads, wherever they stand.
    """

    text: str
    start: int
    words: tuple[str, ...]
    names: frozenset[str]


_KEPT = 64


def split(sql: str) -> list[Words]:
    """The statements of a text; empty ones are left out.

    Cost: one pass of a regular expression. Never raises: what is malformed is one statement, and refused later.

    >>> [(each.start, each.text) for each in split("BEGIN; SELECT ';' -- ;")]
    [(0, 'BEGIN'), (7, "SELECT ';'")]
    """
    found: list[Words] = []
    start, end = -1, 0
    words: list[str] = []
    names: set[str] = set()
    place = 0
    while place < len(sql):
        match = _PIECE.match(sql, place)
        assert match is not None, "the last alternative is any character"
        kind, stop = match.lastgroup, match.end()
        if kind == "comment":
            place = _comment_end(sql, place)
            continue
        if kind == "dollar":
            stop = _dollar_end(sql, match.group(), stop)
        place = stop
        if kind == "blank":
            continue
        if kind == "end":
            _keep(found, sql, start, end, words, names)
            start, words, names = -1, [], set()
            continue
        if start < 0:
            start = match.start()
        end = stop
        text = sql[match.start() : stop]
        if kind == "word":
            names.add(text.lower())
        elif text.startswith('"'):
            names.add(text.strip('"'))
        if len(words) < _KEPT:
            words.append(text.upper() if kind == "word" else text)
    _keep(found, sql, start, end, words, names)
    return found


def _keep(found: list[Words], sql: str, start: int, end: int, words: list[str], names: set[str]) -> None:
    if start >= 0:
        found.append(Words(sql[start:end], start, tuple(words), frozenset(names)))


def _comment_end(sql: str, start: int) -> int:
    """Comments nest; one that does not end takes the rest."""
    depth = 0
    for edge in _COMMENT_EDGE.finditer(sql, start):
        depth += 1 if edge.group() == "/*" else -1
        if depth == 0:
            return edge.end()
    return len(sql)


def _dollar_end(sql: str, tag: str, after: int) -> int:
    place = sql.find(tag, after)
    return len(sql) if place < 0 else place + len(tag)
