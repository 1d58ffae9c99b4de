"""One text to its statements, cut at `;` outside of quotes, and a walk over the first words of one."""

from __future__ import annotations

from dataclasses import dataclass

from planner.errors import InvalidSyntax, UnsupportedSQL
from planner.parsing.lexer import Kind, scan


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


class WordCursor:
    """A place among the words of a statement."""

    def __init__(self, statement: Words) -> None:
        self.statement = statement
        self._words = statement.words
        self._place = 0

    @property
    def word(self) -> str:
        """The next word; empty at the end."""
        return self._words[self._place] if self._place < len(self._words) else ""

    def take(self) -> str:
        """The next word, which is stepped over."""
        word = self.word
        self._place += 1
        return word

    def skip(self, *words: str) -> bool:
        """Step over the word if it is one of these."""
        if self.word not in words:
            return False
        self._place += 1
        return True

    def expect(self, *words: str) -> None:
        """Step over these words, which must come next. Raises: InvalidSyntax."""
        for word in words:
            if not self.skip(word):
                raise self.unreadable()

    def rest(self) -> tuple[str, ...]:
        """The words that are left; all are stepped over."""
        left = self._words[self._place :]
        self._place = len(self._words)
        return left

    def name(self) -> str:
        """A name: folded to lower case, or as quoted. Raises: InvalidSyntax."""
        word = self.take()
        if word.startswith('"') and len(word) > 2:
            return unquoted(word)
        if not (word[:1].isalpha() or word[:1] == "_"):
            raise self.unreadable()
        return word.lower()

    def count(self) -> int:
        """A whole number of at most nine digits. Raises: InvalidSyntax."""
        word = self.take()
        if not (word.isascii() and word.isdecimal() and len(word) <= 9):
            raise self.unreadable()
        return int(word)

    def end(self) -> None:
        """Nothing may be left. Raises: InvalidSyntax."""
        if self.word:
            raise self.unreadable()

    def unsupported(self, message: str, hint: str | None = None) -> UnsupportedSQL:
        """The error of a statement that asks for what there is not."""
        return UnsupportedSQL(message, hint=hint, position=self.statement.start + 1)

    def unreadable(self) -> InvalidSyntax:
        """The error of a statement that is not understood."""
        return InvalidSyntax(f"this {self._words[0]} is not understood", position=self.statement.start + 1)
