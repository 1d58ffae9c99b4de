"""Delta: how many join tuples can belong to one privacy unit, from keys, declared fan-outs and self-joins.

If entries of a self-join can change places, a condition like a.x < b.x divides its tuples.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from sqlglot import exp

from planner.binding.bound_query import BoundQuery
from planner.policy.ownership import ownership
from planner.policy.policy import Policy
from planner.schema import Schema
from planner.sensitivity.column_equalities import Equalities
from planner.sensitivity.join_steps import JoinSteps, Step
from planner.sensitivity.provenance import OwnerPosition, Provenance
from planner.sql.sql_types import Family
from planner.sql.trees import ColumnRef, column_ref

Permutation = tuple[int, ...]
"""Entry i of FROM takes the place of entry permutation[i]."""

_Image = dict[ColumnRef, ColumnRef]
_Pairs = set[tuple[ColumnRef, ColumnRef]]

_MAX_GROUP = 720


class Symmetry:
    """The symmetries of a join, a group with the identity, that its strict comparisons break.

    Let T be the join tuples, and let every permutation of a group G map the equal columns of the join to equal
    columns. So a permuted tuple passes the same equalities. If no tuple passes the strict comparisons together with
    one of its own images, the images of T are |G| disjoint sets. A unit has the same number of tuples in each, since
    the owners are a set. So it has in T a |G|-th of what the equalities allow. `e1.src = e2.src AND e1.dst < e2.dst`
    counts each pair of edges once: |G| = 2. At most 720 permutations are examined; if there are more, the group is
    trivial, which is sound.
    """

    def __init__(self, query: BoundQuery, equalities: Equalities, colour: Callable[[ColumnRef], object]) -> None:
        self._entries = query.tables
        self._smaller = _closure(_comparisons(query, equalities, (exp.LT, exp.GT)))
        unequal = _comparisons(query, equalities, (exp.NEQ,)) | self._smaller
        self._different = unequal | {(b, a) for a, b in unequal}
        compared = {column for pair in self._different for column in pair}
        self._classes = _classes(query, equalities, compared, colour) if compared else []
        self.group = self._broken()
        self.distinct = cache(self._distinct)

    def _distinct(self, left: int, right: int) -> bool:
        """Are two entries of one table different rows, in every image of every tuple?"""
        apart = cache(self._apart)
        return all(apart(image[left], image[right]) for image in self.group)

    def _apart(self, left: int, right: int) -> bool:
        one, other = self._entries[left], self._entries[right]
        if not self._different or one.table != other.table or one.outer is not None or other.outer is not None:
            return False
        pairs = zip(self._classes[left], self._classes[right], strict=True)
        return any((a[0], b[0]) in self._different for a, b in pairs)

    def _broken(self) -> list[Permutation]:
        """The largest group found whose every permutation but the identity contradicts the comparisons."""
        identity = tuple(range(len(self._entries)))
        outer = any(entry.outer is not None for entry in self._entries)
        everything = {} if outer or not self._smaller else self._automorphisms()
        broken = {places for places, image in everything.items() if self._contradicts(image)} | {identity}
        if len(broken) == len(everything):
            return list(everything)
        group = [identity]
        for permutation in sorted(broken):
            if permutation not in group:
                group = _generated([*group, permutation], broken) or group
        return group

    def _automorphisms(self) -> dict[Permutation, _Image]:
        """The permutations that keep tables, equalities and colours, with their images; none if too many."""
        found: dict[Permutation, _Image] = {(): {}}
        for _ in self._entries:
            found = {
                (*places, place): grown
                for places, image in found.items()
                for place in range(len(self._entries))
                if place not in places and (grown := self._grown(image, len(places), place)) is not None
            }
            if len(found) > _MAX_GROUP:
                return {}
        return found

    def _grown(self, image: _Image, entry: int, place: int) -> _Image | None:
        """The image with one more entry; None if equal columns would not stay equal, or others become equal."""
        if self._entries[entry].table != self._entries[place].table:
            return None
        grown = dict(image)
        for (ours, colour), (theirs, other) in zip(self._classes[entry], self._classes[place], strict=True):
            if colour != other or grown.setdefault(ours, theirs) != theirs:
                return None
        return grown  # different classes stay different in the end: every class is the image of one

    def _contradicts(self, image: _Image) -> bool:
        """Can no tuple pass the comparisons together with its image?"""
        return any((image[b], image[a]) in self._smaller for a, b in self._smaller)


def _classes(
    query: BoundQuery, equalities: Equalities, compared: set[ColumnRef], colour: Callable[[ColumnRef], object]
) -> list[list[tuple[ColumnRef, object]]]:
    """Per entry, the class and colour of each column that some entry of its table joins, compares or colours."""
    joined: dict[ColumnRef, int] = {}
    columns = [(entry, column.name) for entry in query.tables for column in entry.table.columns]
    nullable = {column for entry in query.tables for column in entry.table.columns if column.nullable}
    for entry, name in columns:
        root = equalities.find((entry.alias, name))
        joined[root] = joined.get(root, 0) + 1
    used: dict[str, set[str]] = {}
    for entry, name in columns:
        root = equalities.find((entry.alias, name))
        known = equalities.known(root) and entry.table.column(name) in nullable
        if joined[root] > 1 or root in compared or known or colour(root):
            used.setdefault(entry.table.name, set()).add(name)
    return [
        [
            (
                equalities.find((entry.alias, name)),
                (equalities.known((entry.alias, name)), colour((entry.alias, name))),
            )
            for name in sorted(used.get(entry.table.name, ()))
        ]
        for entry in query.tables
    ]


def _comparisons(query: BoundQuery, equalities: Equalities, kinds: tuple[type[exp.Expr], ...]) -> _Pairs:
    """The pairs of classes that some condition compares, the smaller one first; only equal types count."""
    found = set()
    for condition in query.predicates:
        left, right = condition.args.get("this"), condition.args.get("expression")
        if not isinstance(condition, kinds) or not isinstance(left, exp.Column) or not isinstance(right, exp.Column):
            continue
        family = query.type_of(left).family
        if family is query.type_of(right).family and family is not Family.OTHER:
            a, b = (equalities.find(column_ref(column)) for column in (left, right))
            found.add((b, a) if isinstance(condition, exp.GT) else (a, b))
    return found


def _closure(pairs: _Pairs) -> _Pairs:
    """The transitive closure."""
    closed = set(pairs)
    while more := {(a, d) for a, b in closed for c, d in closed if b == c} - closed:
        closed |= more
    return closed


def _generated(members: Sequence[Permutation], allowed: set[Permutation]) -> list[Permutation]:
    """The group that some permutations generate, or nothing if it leaves `allowed`."""
    group = set(members)
    while more := {tuple(a[i] for i in b) for a in group for b in group} - group:
        if not more <= allowed:
            return []
        group |= more
    return sorted(group)


_MAX_STATES = 2000


def tuples_per_unit(
    query: BoundQuery, found: Provenance, join_steps: JoinSteps, schema: Schema, policy: Policy
) -> int | None:
    """Delta, a public bound on the join tuples of one unit, before merging (docs/mathematics.md, section 2.6).

    A unit may be in every owner position, so the positions of its relation are added up. In one position its key is
    fixed. The other rows are found step by step, by a key (one row) or a fan-out (that many rows), in the order with
    the smallest product. Rows that a condition proves different share a fan-out: D, then D - 1. If strict comparisons
    break a symmetry of a self-join, its tuples are counted once per orbit.

    A column that a condition fixes to a constant completes keys, but breaks a symmetry. So the bound is the smaller
    of two: with these conditions, and of the join without them, which has no fewer tuples.

    If a declared fan-out is false, so is the bound. Then the loss without amplification was spent.

    Returns: the bound, at least 1; None if neither a key nor a declared fan-out reaches some row.
    Cost: two shortest-path searches over sets of rows per owner position, at most 2,000 states each; one if no column
      is fixed.
    """
    owned = _Owned(query, found, schema, policy)
    fixing = {bool(join_steps.constants), False}
    bounds = [_bound(query, found, join_steps, owned, fixed=fixed) for fixed in fixing]
    return min((bound for bound in bounds if bound is not None), default=None)


def _bound(query: BoundQuery, found: Provenance, join_steps: JoinSteps, owned: _Owned, *, fixed: bool) -> int | None:
    """The bound, using or ignoring the columns that conditions fix to constants."""
    constants = join_steps.constants if fixed else {}
    symmetry = Symmetry(query, found.equalities, lambda column: constants.get(found.equalities.find(column)))
    totals: dict[str, int] = defaultdict(int)
    for owner in found.owners:
        steps = [*join_steps.steps, *owned.steps(owner, join_steps)]
        most = _Search(join_steps, symmetry, steps, join_steps.constant if fixed else 0).most(owner.columns)
        if most is None:
            return None
        totals[owner.relation] += most
    return max(1, *(total // len(symmetry.group) for total in totals.values()))


class _Search:
    """The smallest product of steps that finds every row, from one fixed key."""

    def __init__(self, join_steps: JoinSteps, symmetry: Symmetry, steps: list[Step], constant: int) -> None:
        self._join_steps, self._constant = join_steps, constant
        self._symmetry = symmetry
        self._steps = sorted(steps, key=lambda step: step.most)
        self._groups = defaultdict(set)
        for step in steps:
            self._groups[step.row].add(step.group)
        self._entries = len(symmetry.group[0])

    def most(self, columns: Sequence[ColumnRef]) -> int | None:
        """The bound for the tuples in which `columns` hold the unit's key."""
        start = self._join_steps.bits(columns)
        waiting = [(1, 0, self._join_steps.known | start | self._constant)]
        done: set[tuple[int, int]] = set()
        while waiting:
            product, rows, present = heapq.heappop(waiting)
            if rows == self._join_steps.all_rows():
                return product
            if (rows, present) in done:
                continue
            done.add((rows, present))
            following = list(self._following(product, rows, present, start | self._constant))
            if len(done) > _MAX_STATES:  # from here on the cheapest step only: a bound still
                following = following[:1]
            for state in following:
                heapq.heappush(waiting, state)
        return None

    def _following(self, product: int, rows: int, present: int, start: int) -> Iterator[tuple[int, int, int]]:
        """The states after the possible steps; a step that finds one row is taken at once, alone."""
        values = start | self._values(rows)
        open_steps = [step for step in self._steps if step.is_open(rows, values, present)]
        free = [step for step in open_steps if step.most == 1]
        free = [step for step in free if step.values] or free
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
        """How many rows a step finds beside those of its group that are already found and proved different."""
        if step.row >= self._entries:
            return step.most
        others: list[int] = []
        for row in range(self._entries):
            beside = rows >> row & 1 and step.group in self._groups[row]
            if beside and all(self._symmetry.distinct(row, other) for other in (step.row, *others)):
                others.append(row)
        return max(1, step.most - len(others))  # never 0: that would be taken for a proof that there is no tuple


class _Owned:
    """The declared numbers of rows that one unit owns in a table."""

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
