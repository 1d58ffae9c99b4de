"""Walking over the first words of a statement."""

from __future__ import annotations

from planner.errors import InvalidSyntax
from server.pgwire.statements.split_statements import Words, unquoted


class WordCursor:
    """A place among the words of a statement.

    Args:
      statement: from `split`.
    """

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
        """A whole number of at most nine digits, perhaps negative. Raises: InvalidSyntax."""
        sign = -1 if self.skip("-") else 1
        self.skip("+")
        word = self.take()
        if not (word.isascii() and word.isdecimal() and len(word) <= 9):
            raise self.unreadable()
        return sign * int(word)

    def end(self) -> None:
        """Nothing may be left. Raises: InvalidSyntax."""
        if self.word:
            raise self.unreadable()

    def unreadable(self) -> InvalidSyntax:
        """The error of a statement that is not understood."""
        return InvalidSyntax(f"this {self._words[0]} is not understood", position=self.statement.start + 1)
