"""Delta: how many join tuples can belong to one privacy unit, from keys and declared fan-outs."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator, Sequence

from planner.binding.bound_query import BoundQuery
from planner.policy.ownership import ownership
from planner.policy.policy import Policy
from planner.schema import Schema
from planner.sensitivity.join_steps import JoinSteps, Step
from planner.sensitivity.provenance import OwnerPosition, Provenance
from planner.sensitivity.self_join_symmetry import Symmetry
from planner.sql.columns import ColumnRef

_MAX_STATES = 2000


def tuples_per_unit(
    query: BoundQuery, found: Provenance, join_steps: JoinSteps, schema: Schema, policy: Policy
) -> int | None:
    """Delta, a public bound on the join tuples that one privacy unit owns, before compaction.

    A unit may stand in every owner position, so the positions of its relation are added up. In one position its
    key is fixed, and the other rows are found step by step: each by a key (one row) or a fan-out (so many rows), in
    the order with the smallest product. Rows that a condition proves different share a fan-out: D, then
    D - 1. Where strict comparisons break a symmetry of a self-join, its tuples are counted once per orbit.

    A fan-out is a promise of the custodian. If it is false the bound is, and what was spent is the loss without
    amplification.

    Args:
      query: the bound query.
      found: its owner positions, and the columns that are equal in every tuple.
      join_steps: which rows of a tuple are found from which, by keys and declared fan-outs.
      schema, policy: the keys, and the promises of the custodian.
    Returns: the bound, at least 1; None when some row is reached neither by a key nor by a declared fan-out.
    Cost: one shortest-path search over sets of rows per owner position, at most 2,000 states each.
    Source: privacy.md section 3.
    """
    symmetry = Symmetry(
        query, found.equalities, lambda column: join_steps.constants.get(found.equalities.find(column))
    )
    owned = _Owned(query, found, schema, policy)
    totals: dict[str, int] = defaultdict(int)
    for owner in found.owners:
        most = _Search(join_steps, symmetry, [*join_steps.steps, *owned.steps(owner, join_steps)]).most(owner.columns)
        if most is None:
            return None
        totals[owner.relation] += most
    return max(1, *(total // len(symmetry.group) for total in totals.values()))


class _Search:
    """The smallest product of steps that finds every row, from one fixed key."""

    def __init__(self, join_steps: JoinSteps, symmetry: Symmetry, steps: list[Step]) -> None:
        self._join_steps = join_steps
        self._symmetry = symmetry
        self._steps = sorted(steps, key=lambda step: step.most)
        self._groups = defaultdict(set)
        for step in steps:
            self._groups[step.row].add(step.group)
        self._entries = len(symmetry.group[0])

    def most(self, columns: Sequence[ColumnRef]) -> int | None:
        """The bound for the tuples in which `columns` hold the unit's key."""
        start = self._join_steps.bits(columns)
        waiting = [(1, 0, self._join_steps.known | start | self._join_steps.constant)]
        done: set[tuple[int, int]] = set()
        while waiting:
            product, rows, present = heapq.heappop(waiting)
            if rows == self._join_steps.all_rows():
                return product
            if (rows, present) in done:
                continue
            done.add((rows, present))
            following = list(self._following(product, rows, present, start | self._join_steps.constant))
            if len(done) > _MAX_STATES:  # from here on the cheapest step only: a bound still
                following = following[:1]
            for state in following:
                heapq.heappush(waiting, state)
        return None

    def _following(self, product: int, rows: int, present: int, start: int) -> Iterator[tuple[int, int, int]]:
        """Where the steps that can be taken lead; a step that finds one row is taken at once, alone."""
        values = start | self._values(rows)
        open_steps = [
            step
            for step in self._steps
            if not rows >> step.row & 1
            and not step.values & ~values
            and not step.present & ~present
            and not step.after & ~rows
        ]
        free = [step for step in open_steps if step.most == 1 and step.values] or [
            step for step in open_steps if step.most == 1
        ]
        for step in free[:1] or open_steps:
            shown = self._join_steps.shows[step.row] if step.present else 0
            yield product * self._remaining(step, rows), rows | 1 << step.row, present | shown

    def _values(self, rows: int) -> int:
        mask = 0
        for row, given in enumerate(self._join_steps.gives):
            if rows >> row & 1:
                mask |= given
        return mask

    def _remaining(self, step: Step, rows: int) -> int:
        """How many rows a step finds beside those of its group that are found already and proven different."""
        if step.row >= self._entries:
            return step.most
        others: list[int] = []
        for row in range(self._entries):
            beside = rows >> row & 1 and step.group in self._groups[row]
            if beside and all(self._symmetry.distinct(row, other) for other in (step.row, *others)):
                others.append(row)
        return max(1, step.most - len(others))  # never 0: that would be taken for a proof that there is no tuple


class _Owned:
    """The declared numbers of rows of a table that one unit owns."""

    def __init__(self, query: BoundQuery, found: Provenance, schema: Schema, policy: Policy) -> None:
        self._found = found
        self._ownership = ownership(schema, policy)
        self._policy = policy
        self._entries = [entry for entry in query.tables if entry.outer is None]

    def steps(self, owner: OwnerPosition, join_steps: JoinSteps) -> Iterator[Step]:
        """A step for each entry whose row the unit in this position owns, with nothing else fixed."""
        position = (owner.relation, self._roots(owner.columns))
        for entry in self._entries:
            declared = self._policy.tables[entry.table.name].rows_per_unit.get(owner.relation)
            if declared is not None and position in self._owners(entry.alias, set()):
                group = (entry.table.name, owner.relation, self._roots(owner.columns))  # in the key's order
                yield Step(join_steps.row(entry.alias), 0, join_steps.bits(owner.columns), 0, declared, False, group)

    def _roots(self, columns: Sequence[ColumnRef]) -> tuple[ColumnRef, ...]:
        return tuple(map(self._found.equalities.find, columns))

    def _owners(self, alias: str, seen: set[str]) -> set[tuple[str, tuple[ColumnRef, ...]]]:
        """The owner positions of one row, as `planner.sensitivity.provenance` finds them."""
        seen.add(alias)
        table = self._found.equalities.tables[alias]
        owners = set()
        unit_key = self._ownership.unit_key(table.name)
        if unit_key is not None:
            owners.add((table.name, self._roots([(alias, name) for name in unit_key])))
        for key in self._ownership.owning_keys(table.name):
            unit_key, above = self._ownership.unit_key(key.references), dict(zip(key.key, key.columns, strict=True))
            if unit_key and set(unit_key) == set(above) and not self._ownership.owning_keys(key.references):
                owners.add((key.references, self._roots([(alias, above[name]) for name in unit_key])))
                continue
            for other, parent in self._found.equalities.tables.items():
                joined = parent.name == key.references and other not in seen
                if joined and all(self._found.equalities.same((alias, above[name]), (other, name)) for name in above):
                    owners |= self._owners(other, seen)
        return owners
