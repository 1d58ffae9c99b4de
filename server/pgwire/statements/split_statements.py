"""One text to its statements: cut at `;` outside of quotes, comments and dollar quotes."""

from __future__ import annotations

from dataclasses import dataclass

from planner.parsing.syntax.scanner import Kind, scan


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
_WORD, _SIGN, _NAME = Kind.WORD, Kind.SIGN, Kind.NAME  # looked up once: texts have thousands of pieces


def split(sql: str) -> list[Words]:
    """The statements of a text; empty ones are left out.

    Cost: one pass of the scanner. Never raises: what is malformed is one statement, and refused later.

    >>> [(each.start, each.text) for each in split("BEGIN; SELECT ';' -- ;")]
    [(0, 'BEGIN'), (7, "SELECT ';'")]
    """
    found: list[Words] = []
    start, end = -1, 0
    words: list[str] = []
    names: set[str] = set()
    for kind, begins, ends in scan(sql):
        if kind is _WORD:
            names.add(sql[begins:ends].lower())
        elif kind is _SIGN and sql[begins] == ";":
            _keep(found, sql, start, end, words, names)
            start, words, names = -1, [], set()
            continue
        elif kind is _NAME:
            names.add(unquoted(sql[begins:ends]))
        elif kind is Kind.OPEN_COMMENT:
            break
        if start < 0:
            start = begins
        end = ends
        if len(words) < _KEPT:
            words.append(sql[begins:ends].upper() if kind is _WORD else sql[begins:ends])
    _keep(found, sql, start, end, words, names)
    return found


def is_complete(sql: str) -> bool:
    """Does nothing remain open: no statement without its `;`, no quote, no comment?

    Cost: one pass, as `split`.

    >>> is_complete("SELECT 1;"), is_complete("SELECT ';"), is_complete("SELECT 1; /* ; "), is_complete(" -- ")
    (True, False, False, True)
    """
    last = ";"
    for _, start, stop in scan(sql):
        last = sql[start:stop]
    return last == ";"


def unquoted(name: str) -> str:
    """What a quoted name reads, Unicode escapes left as they are.

    >>> unquoted('"a""b"')
    'a"b'
    """
    return name[name.index('"') + 1 : -1].replace('""', '"')


def _keep(found: list[Words], sql: str, start: int, end: int, words: list[str], names: set[str]) -> None:
    if start >= 0:
        found.append(Words(sql[start:end], start, tuple(words), frozenset(names)))
