"""Which columns of a join tuple are fixed or equal: conditions that compare exactly, and their closure under keys.

An equality of two types compares converted values, which many values may share. Beside a double precision PostgreSQL
converts whole numbers and numerics to doubles, and near 2^62 a thousand bigints are one double.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlglot import exp

from planner.binding.bound_query import BoundQuery
from planner.schema import Table
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import ColumnRef, column_ref, holds

MAX_EXACT_DIGITS = 38
"""The most digits of a literal that every engine reads as an exact number: DuckDB makes doubles of longer ones."""

_EXACT = frozenset({Family.INTEGER, Family.NUMERIC})
_CASTS: dict[object, frozenset[Family]] = {
    exp.DataType.Type.DECIMAL: _EXACT | {Family.FLOAT},
    exp.DataType.Type.DOUBLE: frozenset({Family.FLOAT}),
    exp.DataType.Type.UUID: frozenset({Family.UUID}),
    exp.DataType.Type.DATE: frozenset({Family.DATE, Family.TIMESTAMP}),
    exp.DataType.Type.TIMESTAMP: frozenset({Family.TIMESTAMP}),
}
"""Types of cast literals, each with the column types of which the literal equals at most one value."""


def fixed_columns(query: BoundQuery) -> Iterator[tuple[ColumnRef, str]]:
    """The columns with one value in every passing tuple, each with text that is equal only for equal values.

    The doubles 0 and -0 are one value, since no function tells them apart (`planner.sql.sql_types.Family`).
    Cost: linear in the conditions.
    """
    for column, constant in _equal_to_constants(query):
        family = query.type_of(column).family
        if _is_one_value(constant, family):
            yield column_ref(column), f"{family.value} {_written(constant)}"


def known_columns(query: BoundQuery) -> Iterator[ColumnRef]:
    """The columns that equal an expression without columns, or are IS NOT NULL, so that they are not NULL."""
    for column, _ in _equal_to_constants(query):
        yield column_ref(column)
    for test in query.predicates:
        there = isinstance(test, exp.Is) and test.args.get("negate") and isinstance(test.expression, exp.Null)
        if there and isinstance(test.this, exp.Column):
            yield column_ref(test.this)


def equal_columns(conditions: Iterable[exp.Expr], query: BoundQuery) -> Iterator[tuple[ColumnRef, ColumnRef]]:
    """The pairs of columns of one type that conditions equate."""
    for left, right in _equations(conditions):
        if isinstance(right, exp.Column) and compare_exactly(query.type_of(left), query.type_of(right)):
            yield column_ref(left), column_ref(right)


def _equations(conditions: Iterable[exp.Expr]) -> Iterator[tuple[exp.Column, exp.Expr]]:
    """The sides of each `column = anything`."""
    for condition in conditions:
        if isinstance(condition, exp.EQ) and isinstance(condition.this, exp.Column):
            yield condition.this, condition.args["expression"]


def _equal_to_constants(query: BoundQuery) -> Iterator[tuple[exp.Column, exp.Expr]]:
    for column, value in _equations(query.predicates):
        if not holds(value, exp.Column):
            yield column, value


def compare_exactly(left: SqlType, right: SqlType) -> bool:
    """Whether `=` of two types is transitive and equal values are the same to every function."""
    return left.family is right.family is not Family.OTHER


def _is_one_value(constant: exp.Expr, family: Family) -> bool:
    """Does at most one value of a family equal this constant? So for literals, and casts of them to the family."""
    if isinstance(constant, exp.Boolean):
        return family is Family.BOOL
    node, signed = _unsigned(constant)
    if isinstance(node, exp.Cast):
        target = node.to
        if signed or target.expressions or family not in _CASTS.get(target.this, ()):
            return False
        node, signed = _unsigned(node.this)
        if isinstance(node, exp.Literal) and node.is_string:
            return not signed and family not in _EXACT | {Family.FLOAT}
    if not isinstance(node, exp.Literal):
        return False
    if node.is_string:
        return not signed and family in (Family.TEXT, Family.CHAR)
    return family is Family.FLOAT or (family in _EXACT and is_exact(node.name))


def _unsigned(node: exp.Expr) -> tuple[exp.Expr, bool]:
    """The expression behind parentheses and signs; was there a sign?"""
    signed = False
    while isinstance(node, (exp.Paren, exp.Neg)):
        signed |= isinstance(node, exp.Neg)
        node = node.this
    return node, signed


def is_exact(text: str) -> bool:
    """Does every engine read this number as exact? It has digits and a point, few enough of them, and no exponent.

    >>> is_exact("12.50"), is_exact("1e18"), is_exact("1" + "0" * 38)
    (True, False, False)
    """
    whole, _, fraction = text.partition(".")
    return (whole + fraction).isdecimal() and len(whole + fraction) <= MAX_EXACT_DIGITS


def _written(value: exp.Expr) -> str:
    if isinstance(value, exp.Literal):  # most are, and the generator takes long
        return repr(value.name) if value.is_string else value.name
    return value.sql("postgres")


class Equalities:
    """Equivalence classes of columns, where NULL equals NULL.

    Two entries of one table that agree on a unique key without NULL are the same row, so all their columns are equal.
    A class is `known` if its value cannot be NULL in a passing tuple.

    Attributes:
      tables: the entries, by alias.
      lookups: the aliases of LEFT JOINs, each with the columns of other tables that decide its row, or its absence.
    Cost: near linear in columns; the closure compares entries of one table in pairs.
    """

    def __init__(self) -> None:
        self._parent: dict[ColumnRef, ColumnRef] = {}
        self._known: set[ColumnRef] = set()
        self.tables: dict[str, Table] = {}
        self._constants: dict[ColumnRef, str] = {}
        self.lookups: dict[str, tuple[ColumnRef, ...]] = {}

    @property
    def constants(self) -> dict[ColumnRef, str]:
        """The classes that a condition fixes to one value, with its text."""
        return {self.find(column): value for column, value in self._constants.items()}

    def add(self, alias: str, table: Table, *, always_present: bool = True) -> None:
        """Add a table; `always_present` unless a LEFT JOIN may fill it with NULLs.

        Raises: ValueError for a second table of one alias, whose equalities would mix with the first's.
        """
        if alias in self.tables:
            raise ValueError("two tables share an alias")
        self.tables[alias] = table
        for column in table.columns:
            self._parent[alias, column.name] = (alias, column.name)
            if always_present and not column.nullable:
                self._known.add((alias, column.name))

    def equate(self, left: ColumnRef, right: ColumnRef, *, known: bool) -> None:
        """Join two classes; `known` for an equality that passes no NULL."""
        a, b = sorted((self.find(left), self.find(right)))
        self._parent[b] = a
        if known or a in self._known or b in self._known:
            self._known.add(a)

    def fix(self, column: ColumnRef, value: str) -> None:
        """Record that the column has one value in every passing tuple."""
        self._constants[column] = value
        self.know(column)

    def know(self, column: ColumnRef) -> None:
        """Record that the column is not NULL in any passing tuple."""
        self._known.add(self.find(column))

    def look_up(self, alias: str, columns: Iterable[ColumnRef]) -> None:
        """Record that these columns find the row of a LEFT JOIN by a unique key, or its absence."""
        self.lookups[alias] = tuple(columns)

    def find(self, column: ColumnRef) -> ColumnRef:
        """The representative of a column's class: its smallest member, whatever the order of additions."""
        while self._parent[column] != column:
            column = self._parent[column]
        return column

    def same(self, left: ColumnRef, right: ColumnRef) -> bool:
        """Whether two columns are equal in every tuple."""
        return self.find(left) == self.find(right)

    def known(self, column: ColumnRef) -> bool:
        """Whether a column is never NULL."""
        return self.find(column) in self._known

    def members(self, column: ColumnRef) -> list[ColumnRef]:
        """All columns of the class, in order."""
        root = self.find(column)
        return sorted(other for other in self._parent if self.find(other) == root)

    def close(self) -> None:
        """Identify entries of one table that agree on a unique key, until nothing changes."""
        while any(self._merge_rows(left, right) for left, right in self._pairs()):
            pass

    def _pairs(self) -> Iterable[tuple[str, str]]:
        aliases = sorted(self.tables)
        for index, left in enumerate(aliases):
            for right in aliases[index + 1 :]:
                if self.tables[left] == self.tables[right]:
                    yield left, right

    def _merge_rows(self, left: str, right: str) -> bool:
        table = self.tables[left]
        if not any(self._agree(left, right, key) for key in table.keys):
            return False
        changed = False
        for column in table.columns:
            if not self.same((left, column.name), (right, column.name)):
                self.equate((left, column.name), (right, column.name), known=False)
                changed = True
        return changed

    def _agree(self, left: str, right: str, key: tuple[str, ...]) -> bool:
        return all(self.same((left, name), (right, name)) and self.known((left, name)) for name in key)
