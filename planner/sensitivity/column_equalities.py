"""Which columns of a join tuple are equal: the closure of join equalities and unique keys."""

from __future__ import annotations

from collections.abc import Iterable

from planner.schema import Table
from planner.sql.columns import ColumnRef


class Equalities:
    """Equivalence classes of columns, where NULL equals NULL.

    Two entries of one table that agree on a unique key without NULL are the same row, so all their columns
    are equal. A class is `known` when its value cannot be NULL in a tuple that passes.
    Cost: near linear in columns; the closure compares entries of one table in pairs.
    """

    def __init__(self) -> None:
        self._parent: dict[ColumnRef, ColumnRef] = {}
        self._known: set[ColumnRef] = set()
        self._tables: dict[str, Table] = {}
        self._constants: dict[ColumnRef, str] = {}
        self._lookups: dict[str, tuple[ColumnRef, ...]] = {}

    @property
    def constants(self) -> dict[ColumnRef, str]:
        """The classes that a condition fixes to one value, and its text."""
        return {self.find(column): value for column, value in self._constants.items()}

    @property
    def lookups(self) -> dict[str, tuple[ColumnRef, ...]]:
        """The aliases of LEFT JOINs whose row, or its absence, follows from these columns of other tables."""
        return dict(self._lookups)

    @property
    def tables(self) -> dict[str, Table]:
        """The entries, by alias."""
        return dict(self._tables)

    def add(self, alias: str, table: Table, *, always_present: bool = True) -> None:
        """Enter a table; `always_present` unless a LEFT JOIN may fill it with NULLs.

        Raises: ValueError for a second table of one alias: what is equal to the one would be proved of the other.
        """
        if alias in self._tables:
            raise ValueError("two tables share an alias")
        self._tables[alias] = table
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
        """The column has one value in every tuple that passes."""
        self._constants[column] = value
        self.know(column)

    def know(self, column: ColumnRef) -> None:
        """The column is not NULL in any tuple that passes."""
        self._known.add(self.find(column))

    def look_up(self, alias: str, columns: Iterable[ColumnRef]) -> None:
        """The row of a LEFT JOIN is found by a unique key from these columns, or is not there."""
        self._lookups[alias] = tuple(columns)

    def find(self, column: ColumnRef) -> ColumnRef:
        """The representative of a column's class: the smallest member, so that it does not depend on order."""
        while self._parent[column] != column:
            column = self._parent[column]
        return column

    def same(self, left: ColumnRef, right: ColumnRef) -> bool:
        """Are the two equal in every tuple?"""
        return self.find(left) == self.find(right)

    def known(self, column: ColumnRef) -> bool:
        """Is the value never NULL?"""
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
        aliases = sorted(self._tables)
        for index, left in enumerate(aliases):
            for right in aliases[index + 1 :]:
                if self._tables[left] == self._tables[right]:
                    yield left, right

    def _merge_rows(self, left: str, right: str) -> bool:
        table = self._tables[left]
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
