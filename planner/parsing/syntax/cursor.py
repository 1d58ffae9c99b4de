"""A place in a statement's lexemes, and what every rule of the grammar does there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NoReturn

from planner.errors import InvalidSyntax
from planner.parsing.syntax.keywords import COLUMNS_ONLY, FUNCTIONS_ONLY, RESERVED
from planner.parsing.syntax.lexer import END, NAME, Lexeme
from planner.suggestions import nearest

_PLACEHOLDER = "a placeholder is written $1, its value sent in parameters"


_CLAUSES = ("FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "JOIN", "UNION", "BETWEEN", "SELECT")
"""Keywords that somebody who misspells them writes an alias or a name with."""


class Cursor(ABC):
    """Reads lexemes from left to right; a rule that does not hold raises InvalidSyntax where it fails."""

    def __init__(self, lexemes: Sequence[Lexeme]) -> None:
        self._lexemes = lexemes
        self._symbols = [lexeme.symbol for lexeme in lexemes] + [END, END, END]
        self.place = 0

    @abstractmethod
    def expression(self, least: int = 0, *, narrow: bool = False) -> None:
        """An expression whose operators bind at least so tightly."""

    @abstractmethod
    def query(self) -> None:
        """A SELECT, a set operation, either in parentheses."""

    def ahead(self, distance: int = 0) -> str:
        """The symbol so many places further on."""
        return self._symbols[self.place + distance]

    def at(self, *symbols: str) -> bool:
        """Is the next symbol one of these?"""
        return self._symbols[self.place] in symbols

    def take(self, *symbols: str) -> bool:
        """Step over the next symbol if it is one of these."""
        if self._symbols[self.place] in symbols:
            self.place += 1
            return True
        return False

    def need(self, *symbols: str) -> None:
        """Step over these symbols, one after the other."""
        for symbol in symbols:
            if self._symbols[self.place] != symbol:
                self.fail()
            self.place += 1

    def name(self, *, function: bool = False) -> None:
        """A table's or a column's name; `function`: a function's or a type's."""
        barred = COLUMNS_ONLY if function else FUNCTIONS_ONLY
        symbol = self._symbols[self.place]
        if not (is_word(symbol) and symbol not in RESERVED and symbol not in barred):
            self.fail()
        self.place += 1

    def label(self) -> None:
        """Read a word where reserved ones may stand too, as behind AS. Raises: InvalidSyntax."""
        if not is_word(self._symbols[self.place]):
            self.fail()
        self.place += 1

    def digits(self) -> None:
        """`(3)`, where nothing but a whole number may stand."""
        self.need("(")
        if not self._lexemes[self.place].text.isdecimal():
            self.fail()
        self.place += 1
        self.need(")")

    def names(self) -> None:
        """Read `(name, ...)`, one name at least. Raises: InvalidSyntax."""
        self.need("(")
        self.listed(self.name)
        self.need(")")

    def listed(self, rule: Callable[[], None]) -> None:
        """One or more of something, with commas between."""
        rule()
        while self.take(","):
            rule()

    def expressions(self) -> None:
        """Read `a, b, ...`, one expression at least. Raises: InvalidSyntax."""
        self.listed(self.expression)

    def fail(self, reason: str | None = None, hint: str | None = None) -> NoReturn:
        """Raise InvalidSyntax at this place."""
        lexeme = self._lexemes[min(self.place, len(self._lexemes) - 1)]
        position = lexeme.start + 1
        if reason is not None:
            at = position - 1 if lexeme.symbol == END else position
            raise InvalidSyntax(reason, hint=hint, position=max(1, at))
        if lexeme.symbol == END:
            hint = "remove the comma at its end" if self.place and self._symbols[self.place - 1] == "," else None
            reason = "a syntax error: the statement ends too early"
            raise InvalidSyntax(reason, hint=hint, position=max(1, position - 1))
        shown = lexeme.text if len(lexeme.text) <= 40 else lexeme.text[:37] + "..."
        raise InvalidSyntax(f"a syntax error at {shown}", hint=self._hint(lexeme), position=position)

    def _hint(self, lexeme: Lexeme) -> str | None:
        if lexeme.symbol == "%":
            return _PLACEHOLDER
        if lexeme.symbol == "=>":
            return "write >="
        previous = self._symbols[self.place - 1] if self.place else ""
        if previous == "," and (lexeme.symbol in RESERVED or lexeme.symbol in (")", ",")):
            return "remove the comma before it"
        if previous in ("GROUP", "ORDER") and lexeme.symbol != "BY":
            return f"write {previous} BY"
        meant = nearest(previous, _CLAUSES) if previous.isalpha() and previous not in RESERVED else None
        if meant is not None and len(previous) > 2:
            return f"did you mean {meant}? {previous} is no keyword"
        if lexeme.symbol in RESERVED:
            return f'{lexeme.symbol} is a keyword; a column of that name is written "{lexeme.text}"'
        return None


def is_word(symbol: str) -> bool:
    """Is it a word or a quoted name?"""
    return symbol == NAME or (symbol[0].isalpha() or symbol[0] == "_")
