"""How large a join can become, from schema and policy alone, and the refusal of one that may become too large.

If a join explodes for one person, its duration and its failure tell about that person. So its class is decided before
anything is read, by the structure that may explode:

* linear: the rows of one table lead to all others by enforced keys, and by declared fan-outs with a small product;
* equi_joined: keys connect its private tables: by such steps, or by equal columns that reference one key of a private
  table, as two edges that meet at a person; how many rows share a person is unknown;
* unbounded: anything else, or nothing, connects them: inequalities, OR, columns without keys, keys of a public table.
  `visit.ward = staff.ward` is of this class: with ten wards, it is a tenth of the cross product.

A comparison with a constant connects nothing: `a.id = 1 AND a.hiv` beside a second table decides between no tuple and
all of its rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, reduce

from planner.binding.bound_query import BoundQuery, BoundTable
from planner.errors import UnsupportedSQL
from planner.plan import SIZE_CLASSES, JoinSize, SizeClass
from planner.policy.ownership import ownership
from planner.policy.policy import Policy
from planner.schema import Schema
from planner.sensitivity.column_equalities import Equalities
from planner.sensitivity.join_steps import JoinSteps
from planner.sensitivity.own_rows import with_rows_there
from planner.sensitivity.provenance import Provenance, provenance
from planner.sql.trees import ColumnRef

LINEAR_FANOUT = 1000
"""The largest product of fan-outs of a linear join: that many tuples of one row take milliseconds."""

_Reference = tuple[str, tuple[tuple[str, str], ...]]
"""A table, and pairs of its key's column and the column that references it, in order."""


@dataclass(frozen=True)
class _Found:
    """The rows (as bits) that follow from some rows, the product of fan-outs, and the entries it starts from."""

    rows: int
    product: int
    starts: tuple[int, ...]


def join_size(
    query: BoundQuery, found: Provenance, join_steps: JoinSteps, schema: Schema, policy: Policy
) -> JoinSize:
    """Classify a join, with the tables that find its owners, and bound its tuples.

    Cost: a search over the steps for each pair of entries, of which there are at most `planner.limits.MAX_TABLES`.
    """
    return _JoinSize(query.tables, found.equalities, join_steps, schema, policy).result()


@dataclass(frozen=True)
class _JoinSize:
    entries: Sequence[BoundTable]
    equalities: Equalities
    join_steps: JoinSteps
    schema: Schema
    policy: Policy

    def result(self) -> JoinSize:
        """The size."""
        covers = [self._cover(row) for row in range(len(self.entries))]
        fewest = min(len(cover.starts) - 1 for cover in covers)
        bounds = [bound for cover in covers if (bound := self._tuples(cover)) is not None]
        least = min(bounds, default=None)
        undeclared: tuple[str, ...] = ()
        if least is None:
            cheapest = min(covers, key=lambda cover: (len(cover.starts), cover.product))
            names = {self.entries[row].table.name for row in cheapest.starts}
            undeclared = tuple(sorted(name for name in names if self._declared(name) is None))
        kind, apart = self._kind(fewest, covers)
        private = min(sum(not self._is_public(self.entries[row]) for row in cover.starts) for cover in covers)
        return JoinSize(kind, fewest, least, undeclared, apart, explodes=private > 1)

    def _kind(self, fewest: int, covers: Sequence[_Found]) -> tuple[SizeClass, tuple[str, str] | None]:
        if any(len(cover.starts) == 1 and cover.product <= LINEAR_FANOUT for cover in covers):
            return "linear", None
        apart = self._apart() or self._public_apart()
        return ("equi_joined", None) if apart is None else ("unbounded", apart)

    def _apart(self) -> tuple[str, str] | None:
        """Two private tables that no keys connect; None if all are connected."""
        private = [row for row, entry in enumerate(self.entries) if not self._is_public(entry)]
        reached = {row: self._closure(_Found(1 << row, 1, (row,))).rows for row in private}
        parts, held = {row: {row} for row in private}, cache(self._held)
        for left in private:
            for right in private:
                if parts[left] is parts[right]:
                    continue
                if reached[left] >> right & 1 or (left < right and held(left) & held(right)):
                    parts[left] |= parts[right]
                    for row in parts[left]:
                        parts[row] = parts[left]
        for row in private[1:]:
            if parts[row] is not parts[private[0]]:
                return self.entries[private[0]].table.name, self.entries[row].table.name
        return None

    def _public_apart(self) -> tuple[str, str] | None:
        """Two public tables that multiply the rows, if the policy does not declare their `rows`."""
        private = [row for row, entry in enumerate(self.entries) if not self._is_public(entry)]
        start = _Found(sum(1 << row for row in private), 1, tuple(private))
        loose, found = [], self._closure(start)
        for row, entry in enumerate(self.entries):
            if not found.rows >> row & 1:
                loose.append(entry.table.name)
                found = self._closure(_Found(found.rows | 1 << row, found.product, found.starts))
        few = len(loose) < 2 or all(self._declared(name) is not None for name in loose)
        return None if few else (loose[0], loose[-1])

    def _is_public(self, entry: BoundTable) -> bool:
        return self.policy.is_public(entry.table.name)

    def _declared(self, table: str) -> int | None:
        declared = self.policy.tables.get(table)
        return None if declared is None else declared.rows

    def _tuples(self, cover: _Found) -> int | None:
        rows = [self._declared(self.entries[row].table.name) for row in cover.starts]
        known = [count for count in rows if count is not None]
        return cover.product * math.prod(known) if len(known) == len(rows) else None

    def _cover(self, first: int) -> _Found:
        """Every row, from a first one: if no step goes on, the entry that finds most is added."""
        found = self._closure(_Found(1 << first, 1, (first,)))
        while found.rows != self.join_steps.all_rows():
            left = [row for row in range(len(self.entries)) if not found.rows >> row & 1]
            assert left, "completions are found from their children"
            tried = [
                self._closure(_Found(found.rows | 1 << row, found.product, (*found.starts, row))) for row in left
            ]
            found = max(tried, key=lambda one: (one.rows.bit_count(), -one.product))
        return found

    def _closure(self, found: _Found) -> _Found:
        """All rows that keys and fan-outs find from some rows, without constants; the cheapest step first."""
        join_steps, rows, product = self.join_steps, found.rows, found.product
        while True:
            values, present = 0, join_steps.known
            for row in range(len(join_steps.rows)):
                if rows >> row & 1:
                    values, present = values | join_steps.gives[row], present | join_steps.shows[row]
            step = next((step for step in join_steps.steps if step.is_open(rows, values, present)), None)
            if step is None:
                return _Found(rows, product, found.starts)
            rows, product = rows | 1 << step.row, product * step.most

    def _held(self, row: int) -> set[tuple[str, tuple[tuple[str, ColumnRef], ...]]]:
        """The keys of private tables that a row holds, including its own, with the classes of their columns."""
        alias, name = self.entries[row].alias, self.entries[row].table.name
        found: set[_Reference] = set()
        waiting = [(name, tuple((one, one) for one in sorted(key))) for key in self.schema.tables[name].keys]
        waiting += self._foreign(name)
        while waiting:
            reference = waiting.pop()
            if reference not in found:
                found.add(reference)
                waiting += self._further(*reference)
        return {
            (parent, tuple((column, self.equalities.find((alias, held))) for column, held in pairs))
            for parent, pairs in found
            if not self.policy.is_public(parent)
        }

    def _foreign(self, table: str) -> Iterator[_Reference]:
        for key in ownership(self.schema, self.policy).foreign_keys(table):
            yield key.references, tuple(sorted(zip(key.key, key.columns, strict=True)))

    def _further(self, parent: str, pairs: tuple[tuple[str, str], ...]) -> Iterator[_Reference]:
        """The references of the parent's key itself."""
        held = dict(pairs)
        for above, columns in self._foreign(parent):
            if all(column in held for _, column in columns):
                yield above, tuple((name, held[column]) for name, column in columns)


def whole_size(
    bound: BoundQuery, found: Provenance, connected: JoinSteps, schema: Schema, policy: Policy
) -> JoinSize:
    """The size of the join; optional rows and semi-joins raise its class to that of the join with them.

    A database finds no more matches than that join has. So it takes no longer for any person than the class says. The
    number of tuples is the question's own.
    """
    size = join_size(bound, found, connected, schema, policy)
    if not bound.semi_joins and not any(entry.optional for entry in bound.tables):
        return size
    sizes = []
    for joined in with_rows_there(bound):
        owners = provenance(joined, schema, policy)
        sizes.append(join_size(joined, owners, JoinSteps(joined, owners, policy), schema, policy))
    return replace(reduce(larger, sizes), most_tuples=size.most_tuples, undeclared=size.undeclared)


def check_join_size(size: JoinSize, bound: BoundQuery, schema: Schema, policy: Policy) -> None:
    """Refuse a join that may become larger than the policy allows. Raises: UnsupportedSQL."""
    settings = policy.side_channels
    if size.apart is not None and not settings.unbounded_joins:
        refusal = _apart(*size.apart, schema, policy)
        starts = [entry.start for entry in bound.tables if entry.start and entry.table.name in size.apart]
        refusal.position = max(starts, default=None)
        raise refusal
    if settings.max_join_tuples is None:
        return
    if size.most_tuples is None:
        tables = ", ".join(size.undeclared)
        message = "the policy limits the rows of a join, and the size of this join is unknown"
        raise UnsupportedSQL(message, hint=f"the administrator can declare the `rows` of {tables}")
    if size.most_tuples > settings.max_join_tuples:
        message = f"the join may have {size.most_tuples:,} rows, more than the policy's {settings.max_join_tuples:,}"
        raise UnsupportedSQL(message, hint="join fewer tables, or along keys; WHERE does not lower this number")


def _apart(first: str, second: str, schema: Schema, policy: Policy) -> UnsupportedSQL:
    why = "one person's rows can make this join slow, so its duration would tell about them"
    if policy.is_public(first) and policy.is_public(second):
        hint = (
            f"join one of them along its key; or the administrator declares the `rows` of {first} and {second}, "
            "or allows `unbounded_joins`"
        )
        return UnsupportedSQL(f"{first} and {second} both multiply the rows of the join: {why}", hint=hint)
    named = f"two rows of {first}" if first == second else f"{first} and {second}"
    ways = [*_references(first, second, schema, policy), *_references(second, first, schema, policy)]
    along = f"on all columns of a foreign key: {'; '.join(dict.fromkeys(ways))}" if ways else "along foreign keys"
    hint = (
        f"join them {along}, or count each table by the column that they share and join these answers; "
        "or the administrator allows `unbounded_joins`"
    )
    return UnsupportedSQL(f"no key connects {named}: {why}", hint=hint)


def _references(child: str, parent: str, schema: Schema, policy: Policy) -> Iterator[str]:
    for key in ownership(schema, policy).foreign_keys(child):
        if key.references == parent:
            yield f"{child} ({', '.join(key.columns)}) references {parent} ({', '.join(key.key)})"


def larger(one: JoinSize, other: JoinSize) -> JoinSize:
    """The larger class of two joins, one of which is made for the other; the number of tuples of the first.

    >>> larger(JoinSize("linear", most_tuples=7), JoinSize("equi_joined", 1)).kind
    'equi_joined'
    """
    worst = max(one, other, key=lambda size: (SIZE_CLASSES.index(size.kind), size.free_steps))
    explodes = any(size.explodes for size in (one, other) if size.kind != "linear")
    return replace(one, kind=worst.kind, free_steps=worst.free_steps, apart=worst.apart, explodes=explodes)
