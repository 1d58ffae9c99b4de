"""Which sources of group keys belong together: those that a key or a condition of the query reads jointly."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from planner.binding.bound_query import column_type
from planner.group_domains.column_values import MAX_BASE, STEPS_PER_DAY, finest_step
from planner.group_domains.enumerate_domain import Rows
from planner.group_domains.key_sources import ColumnValues, KeySources, PublicRows, Source, substituted
from planner.sql.sql_types import Family
from planner.sql.trees import ColumnRef, bound_column, column_ref, columns_of

SourceId = tuple[str, str]
"""(alias, column) of a private column's values, (alias, "") of a public table's rows."""


def source_id(source: Source) -> SourceId:
    """What tells one source from another."""
    return (source.alias, source.name) if isinstance(source, ColumnValues) else (source.alias, "")


@dataclass
class Block:
    """Sources that one statement reads, and the conditions that it may ask of them."""

    sources: dict[SourceId, Source]
    conditions: list[exp.Expr] = field(default_factory=list)
    on: dict[str, tuple[exp.Expr, ...]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """The combinations of values of private columns."""
        return math.prod(s.base.size + s.null for s in self.sources.values() if isinstance(s, ColumnValues))

    @property
    def columns(self) -> list[ColumnValues]:
        """The private columns of the block, whose values follow from the policy or from conditions."""
        return [source for source in self.sources.values() if isinstance(source, ColumnValues)]

    def rows(self, order: Mapping[str, int]) -> list[Rows]:
        """The public tables, in the order of FROM; those of a LEFT JOIN with what is known of its conditions."""
        found = [source for source in self.sources.values() if isinstance(source, PublicRows)]
        found.sort(key=lambda source: order.get(source.alias, len(order)))
        rows = []
        for source in found:
            outer = source.entry.outer
            on = self.on.get(source.alias, ()) if outer is not None or source.may_miss else None
            missing = source.may_miss or (on is not None and outer is not None and len(on) < len(outer))
            rows.append(Rows(source.entry, on, missing))
        return rows


class GroupBlocks:
    """The blocks of a query's group keys; whatever is left out of a statement only leaves groups in."""

    def __init__(self, keys: KeySources) -> None:
        self._keys = keys
        self._blocks: dict[SourceId, Block] = {}

    def add(self, sources: Sequence[Source]) -> None:
        """Enter what a key reads; it becomes one block."""
        for source in sources:
            self._blocks.setdefault(source_id(source), Block({source_id(source): source}))
        self._join([source_id(source) for source in sources])

    def close(self) -> None:
        """Enter public tables that are joined with the sources, and every condition over sources alone."""
        self._reach()
        self._equal_columns()
        for condition in self._keys.query.predicates:
            if not _equates_one_class(condition, self._keys):
                self._ask(condition)
        for block in list(self._blocks.values()):
            for source in list(block.sources.values()):
                if isinstance(source, PublicRows) and source.entry.outer and source.alias not in block.on:
                    self._outer(source)

    def of(self, sources: Iterable[Source]) -> Block:
        """The block of sources that were entered together."""
        return self._blocks[source_id(next(iter(sources)))]

    def _reach(self) -> None:
        """Public rows whose columns equal, in every tuple, a column of a source."""
        waiting = list(self._blocks.values())
        while waiting:
            block = waiting.pop()
            for source in list(block.sources.values()):
                for column in self._linked(source):
                    for alias, _ in self._keys.joined.get(self._keys.equalities.find(column), ()):
                        rows = self._keys.rows(alias)
                        if rows is not None and (alias, "") not in self._blocks:
                            self._blocks[alias, ""] = Block({(alias, ""): rows})
                            waiting.append(self._blocks[alias, ""])

    def _linked(self, source: Source) -> list[ColumnRef]:
        """The columns by which a source may be joined with others."""
        if isinstance(source, ColumnValues):
            return [(source.alias, source.name)]
        if source.entry.outer is not None:
            return [column_ref(column) for condition in source.entry.outer for column in columns_of(condition)]
        if self._keys.rows(source.alias) is None:
            return []
        return [(source.alias, column.name) for column in source.entry.table.columns]

    def _equal_columns(self) -> None:
        """Each class of equal columns as a chain of equalities between sources, through private columns too."""
        equalities = self._keys.equalities
        classes: dict[ColumnRef, list[ColumnRef]] = {}
        for (alias, name), block in self._blocks.items():
            source = block.sources[alias, name]
            if isinstance(source, PublicRows) and source.entry.outer is not None:
                continue
            for column in self._linked(source):
                if equalities.known(column):
                    classes.setdefault(equalities.find(column), []).append(column)
        for first, *others in classes.values():
            if not others and self._keys.rows(first[0]) is not None and self._keys.is_nullable(first):
                self._ask(exp.Is(this=bound_column(*first), expression=exp.Null(), negate=True))
            for other in others:
                self._ask(exp.EQ(this=bound_column(*first), expression=bound_column(*other)))

    def _ask(self, condition: exp.Expr) -> None:
        """Enter a condition that reads sources alone."""
        found = self._read(condition)
        if not found:
            return
        meant, ids = found
        size = Block({key: source for i in ids for key, source in self._blocks[i].sources.items()}).size
        if size <= MAX_BASE:
            self._join(ids)
            self._blocks[ids[0]].conditions.append(substituted(condition, meant))

    def _outer(self, rows: PublicRows) -> None:
        """The conditions of a LEFT JOIN that sources alone decide."""
        known = []
        for condition in rows.entry.outer or ():
            found = self._read(condition)
            if found:
                meant, ids = found
                self._join([(rows.alias, ""), *ids])
                known.append(substituted(condition, meant))
        self._blocks[rows.alias, ""].on[rows.alias] = tuple(known)

    def _read(self, condition: exp.Expr) -> tuple[dict[ColumnRef, ColumnRef], list[SourceId]] | None:
        """The sources of a condition's columns; None where some column has none here, or one that is too coarse."""
        meant: dict[ColumnRef, ColumnRef] = {}
        ids: dict[SourceId, None] = {}
        for column in columns_of(condition):
            ref = column_ref(column)
            place = self._place(ref)
            if place is None:
                return None
            other, identity = place
            source = self._blocks[identity].sources[identity]
            if isinstance(source, ColumnValues) and not _tells(source, condition):
                return None
            meant[ref] = other
            ids[identity] = None
        return (meant, list(ids)) if ids else None

    def _place(self, column: ColumnRef) -> tuple[ColumnRef, SourceId] | None:
        """The column of a source that has the column's value in every tuple."""
        for identity in ((column[0], ""), column):
            if identity in self._blocks:
                return column, identity
        if self._keys.rows(column[0]) is not None:
            return None
        for other in self._keys.joined.get(self._keys.equalities.find(column), ()):
            if (other[0], "") in self._blocks and self._same_family(column, other):
                return other, (other[0], "")
        known = self._keys.known_source(column)
        if known is not None and source_id(known[0]) in self._blocks:
            return known[1], source_id(known[0])
        return None

    def _same_family(self, column: ColumnRef, other: ColumnRef) -> bool:
        kinds = [self._keys.type_of(name).family for name in (column, other)]
        return kinds[0] is kinds[1]

    def _join(self, ids: Sequence[SourceId]) -> None:
        """Make one block of several."""
        first = self._blocks[ids[0]]
        for other in ids[1:]:
            block = self._blocks[other]
            if block is not first:
                first.sources |= block.sources
                first.conditions += block.conditions
                first.on |= block.on
                for identity in block.sources:
                    self._blocks[identity] = first


def _equates_one_class(condition: exp.Expr, keys: KeySources) -> bool:
    """Is it an equality of columns that `_equal_columns` writes anyway?"""
    if not isinstance(condition, exp.EQ):
        return False
    left, right = condition.this, condition.expression
    if not (isinstance(left, exp.Column) and isinstance(right, exp.Column)):
        return False
    return keys.equalities.same(column_ref(left), column_ref(right))


def _tells(source: ColumnValues, condition: exp.Expr) -> bool:
    """Is the condition the same for all times that one value of a series stands for?"""
    unit = source.base.unit
    kind = column_type(source.table, source.name)
    if unit == "number" or kind.family is Family.DATE:
        return True
    step = finest_step([condition], (source.alias, source.name), kind, source.declared)
    return step is not None and STEPS_PER_DAY[step] <= STEPS_PER_DAY[unit]
