"""SELECT, its clauses, its FROM, and set operations."""

from __future__ import annotations

from planner.parsing.expression_syntax import Expressions, is_word
from planner.parsing.lexer import END, FUNCTIONS_ONLY, NEED_AS, NUMBER, RESERVED, Lexeme

_SIDES = ("LEFT", "RIGHT", "FULL")
_AFTER_OUTPUTS = (
    END, ")", ";", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "FETCH",
    "UNION", "EXCEPT", "INTERSECT",
)  # fmt: skip
_SETS = {"UNION": 1, "EXCEPT": 1, "INTERSECT": 2}


class Queries(Expressions):
    """Reads whole queries by PostgreSQL's rules: WITH, set operations, SELECT and its clauses, FROM and joins."""

    def __init__(self, lexemes: list[Lexeme]) -> None:
        super().__init__(lexemes)
        self._no_query = set()
        self._stars: list[int] = []

    def statement(self) -> None:
        """A query and nothing after it, but semicolons."""
        self.query()
        while self.take(";"):
            pass
        self.need(END)

    def query(self) -> None:
        """`[WITH ...] SELECT ... [UNION SELECT ...] [ORDER BY ...] [LIMIT ...]`."""
        if self.take("WITH"):
            self.listed(self._common_table)
        self._set_operations(1)
        if self.take("ORDER"):
            self.need("BY")
            self.listed(self._sort_key)
        self._rows()

    def _common_table(self) -> None:
        self.name()
        if self.at("("):
            self.names()
        self.need("AS")
        self.take("NOT")
        self.take("MATERIALIZED")
        if not self.parenthesised_query():
            self.fail()

    def _set_operations(self, least: int) -> None:
        if self.at("("):
            if not self.parenthesised_query():
                self.fail()
        else:
            self._select()
        while _SETS.get(self.ahead(), 0) >= least:
            level = _SETS[self.ahead()]
            self.place += 1
            self.take("ALL", "DISTINCT")
            self._set_operations(level + 1)

    def _sort_key(self) -> None:
        self.expression()
        self.take("ASC", "DESC")
        if self.take("NULLS") and not self.take("FIRST", "LAST"):
            self.fail()

    def _rows(self) -> None:
        """LIMIT or FETCH, and OFFSET, in either order, each once."""
        seen: set[str] = set()
        while self.at("LIMIT", "FETCH", "OFFSET"):
            word = "LIMIT" if self.at("FETCH") else self.ahead()
            if word in seen:
                self.fail()
            seen.add(word)
            fetch = self.ahead() == "FETCH"
            self.place += 1
            if fetch:
                self._fetch()
            elif not (word == "LIMIT" and self.take("ALL")):
                self.expression()
                if word == "OFFSET":
                    self.take("ROW", "ROWS")

    def _fetch(self) -> None:
        if not self.take("FIRST", "NEXT"):
            self.fail()
        if not self.at("ROW", "ROWS"):
            self.take("+", "-")
            self.term()
        if not self.take("ROW", "ROWS"):
            self.fail()
        self.need("ONLY")

    def _select(self) -> None:
        self.need("SELECT")
        distinct = not self.take("ALL") and self.take("DISTINCT")
        if distinct and self.take("ON"):
            self.need("(")
            self.expressions()
            self.need(")")
        if self.at("TOP") and self.ahead(1) == NUMBER:
            self.place += 1
            number = self._lexemes[self.place].text
            self.place -= 1
            self.fail("TOP is not supported", f"write LIMIT {number} at the end of the SELECT, below ORDER BY")
        stars = len(self._stars)
        if distinct or not self.at(*_AFTER_OUTPUTS):
            self.listed(self._output)
        if self.take("FROM"):
            self.listed(self._table)
        elif len(self._stars) > stars:  # all columns of nothing
            self.place = self._stars[stars]
            self.fail()
        del self._stars[stars:]
        if self.take("WHERE"):
            self.expression()
        if self.take("GROUP"):
            self.need("BY")
            self.take("ALL", "DISTINCT")
            self.listed(self._group_key)
        if self.take("HAVING"):
            self.expression()

    def _output(self) -> None:
        if self.take("*"):
            self._stars.append(self.place - 1)
            return
        self.expression()
        if self.take("AS"):
            self.label()
        elif is_word(self.ahead()) and self.ahead() not in NEED_AS:
            self.place += 1

    def _group_key(self) -> None:
        if self.at("(") and self.ahead(1) == ")":
            self.place += 2
        else:
            self.expression()

    def _table(self) -> None:
        """An item of FROM with the joins after it."""
        self._item()
        while self._join():
            pass

    def _join(self) -> bool:
        """One join; a qualified one takes everything up to its own ON or USING, joins included."""
        if self.take("CROSS"):
            self.need("JOIN")
            self._item()
            return True
        natural = self.take("NATURAL")
        if self.take(*_SIDES):
            self.take("OUTER")
            self.need("JOIN")
        elif self.take("INNER"):
            self.need("JOIN")
        elif not self.take("JOIN"):
            if natural:
                self.fail()
            return False
        if natural:
            self._item()
            return True
        self._table()
        if self.take("ON"):
            self.expression()
        elif self.take("USING"):
            self.names()
            if self.take("AS"):
                self.name()
        else:
            self.fail("JOIN lacks its ON or USING", "write ON with the columns that are equal")
        return True

    def _item(self) -> None:
        if self.at("("):
            if not self.parenthesised_query():
                self._joined()
            self._alias()
            return
        self.name()
        while self.take("."):
            self.label()
        self._alias()
        if self.take("TABLESAMPLE"):
            self.name(function=True)
            self.need("(")
            self.expressions()
            self.need(")")

    def _joined(self) -> None:
        """Joins in parentheses; a lone table in them is no SQL."""
        self.need("(")
        start = self.at("(")
        self._item()
        joined = False
        while self._join():
            joined = True
        if not joined and not start:
            self.fail()
        self.need(")")

    def _alias(self) -> None:
        symbol = self.ahead()
        if self.take("AS"):
            self.name()
        elif is_word(symbol) and symbol not in RESERVED and symbol not in FUNCTIONS_ONLY:
            self.place += 1
        else:
            return
        if self.at("("):
            self.names()


def check_syntax(lexemes: list[Lexeme]) -> None:
    """Refuse a statement that PostgreSQL's grammar does not derive.

    Only what `planner.parsing.grammar` or `planner.public.route` names has a rule here, so it comes after them.
    Args:
      lexemes: from `planner.parsing.lexer.lex`.
    Raises: InvalidSyntax with the place where PostgreSQL stops.
    Cost: about linear, 0.3 ms for TPC-H Q5.
    """
    Queries(lexemes).statement()
