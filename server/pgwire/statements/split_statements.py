"""Split a text into statements at `;` outside of quotes, and walk through a statement's words."""

from __future__ import annotations

from dataclasses import dataclass

from planner.errors import InvalidSyntax, UnsupportedSQL
from planner.parsing.lexer import Kind, scan


@dataclass(frozen=True)
class Words:
    """One statement of a text.

    Attributes:
      text: from its first word on, as written.
      start: 0-based offset of its first word in the whole text.
      words: its first words and signs in upper case without comments, quoted names as written; enough to tell its
        kind.
      names: all unquoted words in lower case, and all quoted names.
    """

    text: str
    start: int
    words: tuple[str, ...]
    names: frozenset[str]


_KEPT = 64
_WORD, _SIGN, _NAME = Kind.WORD, Kind.SIGN, Kind.NAME  # looked up once, because texts have thousands of pieces


def split(sql: str) -> list[Words]:
    """The non-empty statements of a text.

    Cost: one pass of the scanner. Never raises: a malformed rest is one statement, and refused later.

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
    """Whether no statement, quote or comment is left open.

    Cost: one pass, as `split`.

    >>> is_complete("SELECT 1;"), is_complete("SELECT ';"), is_complete("SELECT 1; /* ; "), is_complete(" -- ")
    (True, False, False, True)
    """
    last = ";"
    for _, start, stop in scan(sql):
        last = sql[start:stop]
    return last == ";"


def unquoted(name: str) -> str:
    """The name inside of quotes; Unicode escapes stay as they are.

    >>> unquoted('"a""b"')
    'a"b'
    """
    return name[name.index('"') + 1 : -1].replace('""', '"')


def _keep(found: list[Words], sql: str, start: int, end: int, words: list[str], names: set[str]) -> None:
    if start >= 0:
        found.append(Words(sql[start:end], start, tuple(words), frozenset(names)))


class WordCursor:
    """A position among the words of a statement."""

    def __init__(self, statement: Words) -> None:
        self.statement = statement
        self._words = statement.words
        self._place = 0

    @property
    def word(self) -> str:
        """The next word; empty at the end."""
        return self._words[self._place] if self._place < len(self._words) else ""

    def take(self) -> str:
        """Take the next word."""
        word = self.word
        self._place += 1
        return word

    def skip(self, *words: str) -> bool:
        """Skip the next word if it is one of these, and return whether it was."""
        if self.word not in words:
            return False
        self._place += 1
        return True

    def expect(self, *words: str) -> None:
        """Skip these words. Raises: InvalidSyntax if others come."""
        for word in words:
            if not self.skip(word):
                raise self.unreadable()

    def rest(self) -> tuple[str, ...]:
        """Take all remaining words."""
        left = self._words[self._place :]
        self._place = len(self._words)
        return left

    def name(self) -> str:
        """Take a name, in lower case unless it is quoted. Raises: InvalidSyntax."""
        word = self.take()
        if word.startswith('"') and len(word) > 2:
            return unquoted(word)
        if not (word[:1].isalpha() or word[:1] == "_"):
            raise self.unreadable()
        return word.lower()

    def count(self) -> int:
        """Take a whole number of at most nine digits. Raises: InvalidSyntax."""
        word = self.take()
        if not (word.isascii() and word.isdecimal() and len(word) <= 9):
            raise self.unreadable()
        return int(word)

    def end(self) -> None:
        """Check that no words are left. Raises: InvalidSyntax."""
        if self.word:
            raise self.unreadable()

    def unsupported(self, message: str, hint: str | None = None) -> UnsupportedSQL:
        """The error for an unsupported statement."""
        return UnsupportedSQL(message, hint=hint, position=self.statement.start + 1)

    def unreadable(self) -> InvalidSyntax:
        """The error for a statement with invalid syntax."""
        return InvalidSyntax(f"this {self._words[0]} is not understood", position=self.statement.start + 1)
