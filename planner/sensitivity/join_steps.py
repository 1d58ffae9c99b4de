"""How the rows of a join tuple are found from one another: by enforced keys, and by declared fan-outs.

They also tell whether two join tuples never have the same owners and group keys, so that there is nothing to merge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from planner.binding.bound_query import BoundQuery, BoundTable
from planner.policy.policy import Policy
from planner.sensitivity.column_equalities import equal_columns
from planner.sensitivity.provenance import Completion, Provenance
from planner.sql.trees import ColumnRef, column_ref


@dataclass(frozen=True)
class Step:
    """One way to find a row from values that are fixed already.

    Attributes:
      row: index into JoinSteps.rows of the row it finds.
      values: the classes, as bits, whose values must be fixed.
      present: those of them that must not be NULL: a key finds many rows with a NULL key.
      after: the rows, as bits, that must be found before.
      most: the most rows it finds.
      enforced: does a constraint enforce it? Otherwise the policy declares it.
      group: what the found rows have in common; two rows of one group are among the same `most`.
    """

    row: int
    values: int
    present: int
    after: int
    most: int
    enforced: bool
    group: tuple[object, ...]

    def is_open(self, rows: int, values: int, present: int) -> bool:
        """Can it be taken, given the found rows, the fixed classes, and the classes that are not NULL?"""
        missing = self.values & ~values or self.present & ~present or self.after & ~rows
        return not (rows >> self.row & 1 or missing)


class JoinSteps:
    """The steps of a join.

    Rows are the entries of FROM and the joined parents; classes of equal columns are bits of an integer.

    Attributes:
      rows: aliases.
      tables: of the rows.
      steps: all of them, the cheapest first.
      gives: per row, the classes that it fixes.
      shows: per row, the classes that are not NULL if the row is there.
      known: the classes that are never NULL.
      constants: per class that a condition fixes to one value, its text.
      constant: those classes, as bits.
    Cost: linear in columns and keys.
    """

    def __init__(self, query: BoundQuery, found: Provenance, policy: Policy) -> None:
        self._equalities = found.equalities
        self._policy = policy
        self._bits: dict[ColumnRef, int] = {}
        self.rows = tuple(self._equalities.tables)
        self._index = {alias: index for index, alias in enumerate(self.rows)}
        self.tables = tuple(self._equalities.tables.values())
        self.gives, self.shows = [0] * len(self.rows), [0] * len(self.rows)
        self.known = 0
        for row, (alias, table) in enumerate(self._equalities.tables.items()):
            for column in table.columns:
                bit = self.bits([(alias, column.name)])
                self.gives[row] |= bit
                self.shows[row] |= 0 if column.nullable else bit
                self.known |= bit if self._equalities.known((alias, column.name)) else 0
        self.constants = self._equalities.constants
        self.constant = self.bits(self.constants)
        completions = {completion.alias: completion for completion in found.completions}
        entries = {entry.alias: entry for entry in query.tables}
        steps = [step for alias in self.rows for step in self._steps(alias, entries.get(alias), completions, query)]
        self.steps: Sequence[Step] = sorted(steps, key=lambda step: (step.most, step.row))

    def bits(self, columns: Iterator[ColumnRef] | Sequence[ColumnRef] | Mapping[ColumnRef, object]) -> int:
        """The classes of some columns, as bits."""
        mask = 0
        for column in columns:
            mask |= 1 << self._bits.setdefault(self._equalities.find(column), len(self._bits))
        return mask

    def row(self, alias: str) -> int:
        """The row of an alias."""
        return self._index[alias]

    def determined_by(self, alias: str) -> int:
        """The rows, as bits, of which enforced keys allow at most one for a given row of `alias`."""
        return self._determined(1 << self.row(alias), self.gives[self.row(alias)])

    def determined_by_values(self, columns: Sequence[ColumnRef]) -> int:
        """The rows, as bits, of which enforced keys allow at most one for given values of these columns."""
        return self._determined(0, self.bits(columns) | self.constant)

    def _determined(self, rows: int, values: int) -> int:
        enforced = [step for step in self.steps if step.enforced]
        while True:
            step = next((step for step in enforced if step.is_open(rows, values, self.known)), None)
            if step is None:
                return rows
            rows, values = rows | 1 << step.row, values | self.gives[step.row]

    def all_rows(self) -> int:
        """Every row, as bits."""
        return (1 << len(self.rows)) - 1

    def _steps(
        self, alias: str, entry: BoundTable | None, completions: Mapping[str, Completion], query: BoundQuery
    ) -> Iterator[Step]:
        if entry is not None and entry.outer is not None:
            yield from self._outer_steps(entry, query)
            return
        table = self._equalities.tables[alias]
        for names, most in self._bounds(alias):
            columns = [(alias, name) for name in names]
            classes = self.bits(columns)
            # In order: rows with (x, y) and (y, x) in a key's columns have the same classes and different keys.
            group = (table.name, names, tuple(map(self._equalities.find, columns)))
            yield Step(self.row(alias), classes, classes, 0, most or 1, most is None, group)
        completion = completions.get(alias)
        if completion is not None:  # one parent or none
            yield Step(self.row(alias), 0, 0, 1 << self.row(completion.child), 1, True, (alias,))

    def _outer_steps(self, entry: BoundTable, query: BoundQuery) -> Iterator[Step]:
        """The right side of a LEFT JOIN: as many rows as match, or one row of NULLs."""
        fixed = dict(_equal_columns(entry, query))
        for names, most in self._bounds(entry.alias):
            if set(names) <= set(fixed):
                values = self.bits([fixed[name] for name in names])
                yield Step(self.row(entry.alias), values, 0, 0, most or 1, most is None, (entry.alias, names))

    def _bounds(self, alias: str) -> Iterator[tuple[tuple[str, ...], int | None]]:
        """Column lists with the most rows that share their values; None: a unique key."""
        table = self._equalities.tables[alias]
        for key in table.keys:
            yield key, None
        for declared in self._policy.foreign_keys:
            if declared.table == table.name and declared.fanout is not None:
                yield tuple(sorted(declared.columns)), declared.fanout


def _equal_columns(entry: BoundTable, query: BoundQuery) -> Iterator[tuple[str, ColumnRef]]:
    """The columns of a LEFT JOIN's right side that its ON clause equates with another table's, of the same type."""
    for pair in equal_columns(entry.outer or (), query):
        for ours, theirs in (pair, pair[::-1]):
            if ours[0] == entry.alias and theirs[0] != entry.alias:
                yield ours[1], theirs


def are_lone(query: BoundQuery, found: Provenance, join_steps: JoinSteps) -> bool:
    """Whether a tuple's owners and group keys determine each of its rows, by unique keys without NULL.

    Only speed rests on it: tuples of the same owners may be separate or summed up (docs/mathematics.md, section 3.3).
    A computed key, and an owner that is one only if another is absent, prove nothing here.

    Cost: linear in the steps of the join, times its rows.
    """
    shown: list[ColumnRef] = [column for owner in found.owners if not owner.orphan_of for column in owner.columns]
    shown += [column_ref(key.value) for key in query.keys if isinstance(key.value, exp.Column)]
    return join_steps.determined_by_values(shown) == join_steps.all_rows()
