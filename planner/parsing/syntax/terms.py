"""What stands between operators: columns, values, calls, CASE, parentheses."""

from __future__ import annotations

from planner.errors import InvalidSyntax
from planner.parsing.syntax.cursor import is_word
from planner.parsing.syntax.keywords import COLUMNS_ONLY, FUNCTIONS_ONLY, RESERVED
from planner.parsing.syntax.lexer import NUMBER, PARAMETER, STRING
from planner.parsing.syntax.types import TYPE_WORDS, Types

_CLOCKS = ("CURRENT_TIMESTAMP", "CURRENT_TIME", "LOCALTIMESTAMP", "LOCALTIME")
_FIELDS = (
    "CENTURY", "DAY", "DECADE", "DOW", "DOY", "EPOCH", "HOUR", "ISODOW", "ISOYEAR", "JULIAN", "MICROSECONDS",
    "MILLENNIUM", "MILLISECONDS", "MINUTE", "MONTH", "QUARTER", "SECOND", "TIMEZONE", "TIMEZONE_HOUR",
    "TIMEZONE_MINUTE", "WEEK", "YEAR",
)  # fmt: skip
_QUERY_STARTS = ("SELECT", "WITH", "VALUES", "TABLE")


class Terms(Types):
    """Reads one term by PostgreSQL's rules: a literal, a column, a call, a CASE, what stands in brackets."""

    _no_query: set[int]

    def term(self) -> None:
        """One term, without the operators around it."""
        symbol = self.ahead()
        if symbol in (NUMBER, STRING, PARAMETER):
            self.place += 1
        elif symbol == "(":
            self._parentheses()
        elif symbol in RESERVED:
            self._reserved(symbol)
        elif symbol in COLUMNS_ONLY and self.ahead(1) == "(" and symbol not in TYPE_WORDS:
            self.place += 1
            self._special(symbol)
        elif symbol in TYPE_WORDS and self._typed_value():
            return
        elif is_word(symbol):
            self._named()
        else:
            self.fail()

    def parenthesised_query(self) -> bool:
        """`( query )`; False, and nothing read, where something else stands in the parentheses.

        A place that held no query once is not tried again, so that nested parentheses cost no more than their square.
        """
        start, distance = self.place, 0
        while self.ahead(distance) == "(" and self.place + distance + 1 < len(self._symbols):
            distance += 1
        if distance == 0 or self.ahead(distance) not in _QUERY_STARTS or start in self._no_query:
            return False
        try:
            self.need("(")
            self.query()
            self.need(")")
        except InvalidSyntax:
            if distance == 1:
                raise
            self.place = start
            self._no_query.add(start)
            return False
        return True

    def _parentheses(self) -> None:
        """A subquery, an expression, or a row of several."""
        if not self.parenthesised_query():
            self.need("(")
            self.expressions()
            self.need(")")

    def _reserved(self, symbol: str) -> None:
        self.place += 1
        if symbol == "CASE":
            self._case()
        elif symbol == "CAST":
            self.need("(")
            self.expression()
            self.need("AS")
            self.type_name()
            self.need(")")
        elif symbol == "ARRAY" and self.take("["):
            if not self.at("]"):
                self.expressions()
            self.need("]")
        elif symbol in _CLOCKS:
            if self.at("("):
                self.digits()
        elif symbol not in ("TRUE", "FALSE", "NULL", "CURRENT_DATE", "CURRENT_USER", "SESSION_USER", "USER"):
            self.place -= 1
            self.fail()

    def _case(self) -> None:
        if not self.at("WHEN"):
            self.expression()
        self.need("WHEN")
        self._when()
        while self.take("WHEN"):
            self._when()
        if self.take("ELSE"):
            self.expression()
        self.need("END")

    def _when(self) -> None:
        self.expression()
        self.need("THEN")
        self.expression()

    def _special(self, symbol: str) -> None:
        """A call that has a rule of its own."""
        if symbol == "EXISTS":
            if not self.parenthesised_query():
                self.fail()
            return
        self.need("(")
        if symbol == "EXTRACT":
            if not self.take(STRING, *_FIELDS):
                self.fail("extract has no field of this name", "write extract(year FROM x)")
            self.need("FROM")
            self.expression()
        elif symbol == "POSITION":
            self.expression(narrow=True)
            self.need("IN")
            self.expression(narrow=True)
        elif symbol == "SUBSTRING":
            self._substring()
        elif symbol == "OVERLAY":
            self._overlay()
        elif symbol == "TRIM":
            self._trim()
        elif symbol == "NULLIF":
            self.expression()
            self.need(",")
            self.expression()
        elif symbol in ("COALESCE", "GREATEST", "LEAST", "ROW", "GROUPING"):
            self.expressions()
        else:
            self.fail()
        self.need(")")

    def _substring(self) -> None:
        """`x FROM 2 FOR 3`, either alone or in either order; or arguments with commas."""
        self.expression()
        if self.take(","):
            self.expressions()
        elif self.take("FROM"):
            self.expression()
            if self.take("FOR"):
                self.expression()
        elif self.take("FOR"):
            self.expression()
            if self.take("FROM"):
                self.expression()

    def _overlay(self) -> None:
        """`x PLACING 'a' FROM 2 FOR 3`; or arguments with commas."""
        self.expression()
        if self.take(","):
            self.expressions()
        elif self.take("PLACING"):
            self.expression()
            self.need("FROM")
            self.expression()
            if self.take("FOR"):
                self.expression()

    def _trim(self) -> None:
        self.take("BOTH", "LEADING", "TRAILING")
        if not self.take("FROM"):
            self.expression()
            if not self.take("FROM"):
                while self.take(","):
                    self.expression()
                return
        self.expressions()

    def _typed_value(self) -> bool:
        """`TIMESTAMP '...'`, `INTERVAL '3' MONTH`; False, and nothing read, for a column of such a name."""
        start, word = self.place, self.ahead()
        if self.ahead(1) == STRING:
            self.place += 2
            if word == "INTERVAL":
                self.unit()
            return True
        if word == "INTERVAL" and self.ahead(1) != "(":
            return False
        try:
            self.type_name()
        except InvalidSyntax:
            self.place = start
            return False
        if self.take(STRING):
            return True
        self.place = start
        return False

    def _named(self) -> None:
        """A column, a call, or a value after the name of its type."""
        symbol = self.ahead()
        if self.ahead(1) == STRING:
            self.name(function=True)
            self.place += 1
        elif symbol == "DOUBLE" and self.ahead(1) == "PRECISION":
            self.place += 2
            self.need(STRING)
        else:
            self._dotted(symbol)

    def _dotted(self, symbol: str) -> None:
        """A column or a call, with the names before it."""
        self.place += 1
        dotted = False
        while self.take("."):
            dotted = True
            if self.take("*"):
                return
            self.label()
        if self.at("(") and (dotted or symbol not in COLUMNS_ONLY):
            self._call()
        elif symbol in FUNCTIONS_ONLY:
            self.place -= 1
            self.fail()

    def _call(self) -> None:
        self.need("(")
        if not self.take(")"):
            if not self.take("*"):
                self.take("DISTINCT", "ALL")
                self.listed(self._argument)
            self.need(")")
        if self.at("WITHIN") and self.ahead(1) == "GROUP":
            self.place += 2
            self._within_group()
        if self.at("FILTER") and self.ahead(1) == "(":
            self.place += 2
            self.need("WHERE")
            self.expression()
            self.need(")")

    def _argument(self) -> None:
        """`x`, or `days => x`."""
        if self.ahead(1) == "=>" and is_word(self.ahead()):
            self.place += 2
        self.expression()

    def _within_group(self) -> None:
        """`(ORDER BY x DESC)` behind WITHIN GROUP."""
        self.need("(")
        self.need("ORDER")
        self.need("BY")
        self.expression()
        self.take("ASC", "DESC")
        if self.take("NULLS") and not self.take("FIRST", "LAST"):
            self.fail()
        while self.take(","):
            self.expression()
            self.take("ASC", "DESC")
        self.need(")")
