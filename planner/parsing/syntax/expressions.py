"""Expressions: which operators may stand together, by PostgreSQL's table of precedence."""

from __future__ import annotations

from planner.parsing.syntax.terms import Terms

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
