"""PostgreSQL's grammar of expressions: terms, calls, types, and which operators may stand together.

A place in a statement's lexemes, and what every rule of the grammar does there.

Names of types.

What stands between operators: columns, values, calls, CASE, parentheses.

Expressions: which operators may stand together, by PostgreSQL's table of precedence.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NoReturn

from planner.errors import InvalidSyntax, nearest
from planner.parsing.lexer import COLUMNS_ONLY, END, FUNCTIONS_ONLY, NAME, NUMBER, PARAMETER, RESERVED, STRING, Lexeme

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


_OR, _AND, _NOT, _IS, _COMPARED, _TESTED, _ESCAPE, _OTHER, _SUM, _PRODUCT, _POWER, _ZONE, _COLLATE, _SIGN = range(
    1, 15
)
_CAST = 15

_LEFT = {
    "OR": _OR, "AND": _AND, "||": _OTHER, "+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "%": _PRODUCT,
    "^": _POWER,
}  # fmt: skip
_COMPARISONS = frozenset({"=", "<", ">", "<=", ">=", "<>", "!="})
_TESTS = frozenset({"BETWEEN", "IN", "LIKE", "ILIKE", "NOT"})
_WIDE = frozenset({"OR", "AND", "IS", "ISNULL", "NOTNULL", "AT", "COLLATE"}) | _TESTS


class Expressions(Terms):
    """Reads expressions by precedence climbing; comparisons and tests do not chain."""

    def expression(self, least: int = 0, *, narrow: bool = False) -> None:
        """One expression.

        Args:
          least: operators that bind less tightly are left to the caller.
          narrow: without AND, OR, NOT and tests, as in BETWEEN's lower end.
        """
        if self.at("NOT") and not narrow:
            self.place += 1
            self.expression(_NOT)
        elif self.take("+", "-"):
            self.expression(_SIGN, narrow=narrow)
        else:
            self.term()
        self._operators(least, narrow)

    def _operators(self, least: int, narrow: bool) -> None:
        """The operators after an operand; `last` is the level of one that may not follow itself."""
        last = 0
        while True:
            level = self._level()
            if level == 0 or level < least or (narrow and self.ahead() in _WIDE):
                return
            if level == last:
                self.fail()
            last = self._operator(level, narrow)

    def _level(self) -> int:
        """How tightly the operator that follows binds; 0 when none does."""
        symbol = self.ahead()
        if symbol in _LEFT:
            return _LEFT[symbol]
        if symbol in _COMPARISONS:
            return _COMPARED
        if symbol in _TESTS:
            return _TESTED if symbol != "NOT" or self.ahead(1) in _TESTS else 0
        if symbol == "AT":
            return _ZONE if self.ahead(1) in ("TIME", "LOCAL") else 0
        return {"IS": _IS, "ISNULL": _IS, "NOTNULL": _IS, "::": _CAST, "COLLATE": _COLLATE}.get(symbol, 0)

    def _operator(self, level: int, narrow: bool) -> int:
        """Read an operator and what is right of it. Returns the level that may not follow."""
        symbol = self.ahead()
        self.place += 1
        if symbol in _LEFT:
            self.expression(level + 1, narrow=narrow)
            return 0
        if symbol in _COMPARISONS:
            if self.at("ANY", "ALL", "SOME"):
                self.place += 1
                self.need("(")
                self.place -= 1
                self._parentheses()
                return 0
            self.expression(level + 1, narrow=narrow)
            return level
        if symbol == "::":
            self.type_name()
            return 0
        if symbol == "COLLATE":
            self.label()
            return 0
        if symbol == "AT":
            self.need("TIME", "ZONE")
            self.expression(level + 1)
            return 0
        return self._is() if symbol == "IS" else self._test(symbol) if level == _TESTED else 0

    def _is(self) -> int:
        self.take("NOT")
        if self.take("DISTINCT"):
            self.need("FROM")
            self.expression(_IS + 1)
            return _IS
        if not self.take("NULL", "TRUE", "FALSE", "UNKNOWN"):
            self.fail()
        return 0

    def _test(self, symbol: str) -> int:
        """[NOT] BETWEEN, IN, LIKE, ILIKE."""
        if symbol == "NOT":
            symbol = self.ahead()
            self.place += 1
        if symbol == "IN":
            if not self.at("("):
                self.fail()
            self._parentheses()
            return 0
        if symbol == "BETWEEN":
            self.take("SYMMETRIC", "ASYMMETRIC")
            self.expression(narrow=True)
            self.need("AND")
            self.expression(_TESTED + 1)
            return _TESTED
        self.expression(_TESTED + 1)
        if self.take("ESCAPE"):
            self.expression(_ESCAPE + 1)
        return _TESTED
