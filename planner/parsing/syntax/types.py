"""Names of types."""

from __future__ import annotations

from planner.parsing.syntax.cursor import Cursor

_PLAIN = frozenset({"INT", "INTEGER", "SMALLINT", "BIGINT", "REAL", "BOOLEAN", "JSON"})
_MEASURED = frozenset({"NUMERIC", "DECIMAL", "DEC", "FLOAT"})
_CHARACTERS = frozenset({"CHAR", "CHARACTER", "NCHAR", "BIT"})
TYPE_WORDS = _PLAIN | _MEASURED | _CHARACTERS | {"VARCHAR", "TIME", "TIMESTAMP", "INTERVAL"}
"""Words that start a type by a rule of their own."""

_UNITS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")


class Types(Cursor):
    """Reads the name of a type after `::` or AS, or before a quoted value."""

    def type_name(self) -> None:
        """`numeric(12, 2)`, `timestamp with time zone`, `schema.type`, `int[]`."""
        word = self.ahead()
        if word in TYPE_WORDS:
            self.place += 1
            self._own_rule(word)
        else:
            self._other_type()
        while self.take("["):
            self.need("]")

    def _own_rule(self, word: str) -> None:
        """What may follow a type of SQL's own."""
        if word in _MEASURED:
            self._modifiers()
        elif word in _CHARACTERS or word == "VARCHAR":
            if word != "VARCHAR":
                self.take("VARYING")
            self._length()
        elif word in ("TIME", "TIMESTAMP"):
            self._length()
            if self.at("WITH", "WITHOUT") and self.ahead(1) == "TIME":
                self.place += 2
                self.need("ZONE")
        elif word == "INTERVAL" and not self.unit():
            self._length()

    def unit(self) -> bool:
        """`MONTH`, `DAY TO SECOND`; False when there is none."""
        if not self.take(*_UNITS):
            return False
        if self.take("TO") and not self.take(*_UNITS):
            self.fail()
        return True

    def _other_type(self) -> None:
        if self.at("DOUBLE") and self.ahead(1) == "PRECISION":
            self.place += 2
            return
        self.name(function=True)
        while self.take("."):
            self.label()
        self._modifiers()

    def _modifiers(self) -> None:
        if self.take("("):
            self.expressions()
            self.need(")")

    def _length(self) -> None:
        if self.at("("):
            self.digits()
