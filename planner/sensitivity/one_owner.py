"""Keep joins and subqueries to rows of one owner, where the policy declares that a key has one.

`one_owner = ["order_number"]` says that all rows of a table with one order number have one owner. So a question may
look for the other rows of an order. The conditions made here equate the foreign key to the owner on both sides, of
the rows themselves or of the rows above them that the key belongs to:

    EXISTS (SELECT 1 FROM line b WHERE b.order_number = a.order_number)            as written
    EXISTS (SELECT 1 FROM line b WHERE b.order_number = a.order_number AND b.customer = a.customer)

Groups and partitions by such a key are by the owner, too (`planner.planning.person_tables`).

Proof that no privacy rests on the declaration (docs/mathematics.md, section 2.2). Let q be the question as written,
and q* the one with these conditions. Only q* is planned: its owners are found, and (own) of `own_rows` is proved for
it from keys and equal columns alone, or it is refused. So theorems 1.4 and 2.2 hold for q* over all data. If the
declaration is true and the foreign keys are not NULL, each of these conditions holds wherever those of q do, and q*
has the answer of q. A row without an owner's key meets no row.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from sqlglot import exp

from planner.binding.bound_query import BoundQuery, BoundTable, PersonTable
from planner.binding.scope import generated_alias
from planner.policy.ownership import Ownership, ownership
from planner.policy.policy import Policy
from planner.schema import ForeignKey, Schema, Table
from planner.sensitivity.column_equalities import Equalities
from planner.sensitivity.provenance import join_equalities
from planner.sql.trees import ColumnRef, bound_column


def note_of(table: str, key: Sequence[str]) -> str:
    """What an answer says where rows meet by a key that the policy declares to have one owner."""
    return (
        f"Rows of {table} meet by {', '.join(key)} only where their owner is the same, which the policy declares of "
        "it. Rows without an owner's key meet none."
    )


@dataclass(frozen=True)
class Kept:
    """Tables and conditions that keep rows to those of one owner.

    Attributes:
      table, key: what is declared, or would have to be.
    """

    table: Table
    key: tuple[str, ...]
    tables: tuple[BoundTable, ...]
    conditions: tuple[exp.Expr, ...]

    @property
    def note(self) -> str:
        """What an answer says of it."""
        return note_of(self.table.name, self.key)

    @property
    def hint(self) -> str:
        """What the administrator could declare."""
        written = json.dumps([*self.key] if len(self.key) == 1 else [[*self.key]], ensure_ascii=False)
        return (
            f"if rows of {self.table.name} with one {', '.join(self.key)} have one owner, the administrator can "
            f"declare `one_owner = {written}` for the table"
        )


@dataclass(frozen=True)
class _Row:
    """A row, or the row above it along owning keys, which `tables` and `conditions` join.

    Attributes:
      held: its columns that are there without those tables.
      key, owner: its only owning foreign key, and the columns that hold it.
    """

    table: Table
    alias: str
    held: Mapping[str, ColumnRef]
    key: ForeignKey
    owner: tuple[ColumnRef, ...]
    tables: tuple[BoundTable, ...] = ()
    conditions: tuple[exp.Expr, ...] = ()


@dataclass(frozen=True)
class OneOwner:
    """What the policy declares, over one question. `taken`: the aliases of all its rows."""

    schema: Schema
    policy: Policy
    taken: set[str]

    def kept(
        self, joined: BoundQuery, beside: Sequence[BoundTable], rows: Sequence[BoundTable], *, declared: bool = True
    ) -> Iterator[Kept]:
        """How each of the rows is kept to the owner of one beside it, if they share a declared key.

        Args:
          joined: the question with all of these rows, and the conditions that hold when they are there.
          declared: False: as if whatever columns they share were declared.
        """
        equalities = join_equalities(joined)
        for row in rows:
            pairs = ((ours, theirs) for other in beside for ours in self._above(other) for theirs in self._above(row))
            found = (one for pair in pairs if (one := self._pair(*pair, equalities, declared)) is not None)
            yield from [one for one in [next(found, None)] if one is not None]

    def _pair(self, ours: _Row, theirs: _Row, equalities: Equalities, declared: bool) -> Kept | None:
        if ours.table != theirs.table:
            return None
        shared = [name for name in theirs.held if name in ours.held]
        shared = [name for name in shared if equalities.same(ours.held[name], theirs.held[name])]
        known = self.policy.tables[ours.table.name].one_owner if declared else (tuple(shared),)
        key = next((key for key in known if key and set(key) <= set(shared)), None)
        tables, pairs = (*theirs.tables, *ours.tables), list(zip(ours.owner, theirs.owner, strict=True))
        if key is None or (not tables and all(equalities.same(*pair) for pair in pairs)):
            return None
        conditions = (*ours.conditions, *theirs.conditions, *(_equals(*pair) for pair in pairs))
        return Kept(ours.table, key, tables, conditions)

    def _above(self, entry: BoundTable) -> Iterator[_Row]:
        """The row, and those above it as long as each has one owning key, and is nobody itself."""
        graph = ownership(self.schema, self.policy)
        key = graph.only_key(entry.table.name)
        if key is None:
            return
        if entry.person is not None:
            yield from self._behind(entry, entry.person, key)
            return
        held = {column.name: (entry.alias, column.name) for column in entry.table.columns}
        row: _Row | None = _Row(entry.table, entry.alias, held, key, _columns(entry.alias, key))
        while row is not None:
            yield row
            row = self._parent(row, graph)

    def _behind(self, entry: BoundTable, person: PersonTable, unit: ForeignKey) -> Iterator[_Row]:
        """The rows behind one of a per-person subquery, which shows their columns and the key of their owner."""
        shown = {one.key: (entry.alias, one.column.name) for one in person.columns if one.key is not None}
        owner = dict(zip(unit.key, _columns(entry.alias, unit), strict=True))
        for row in (row for inner in person.query.tables for row in self._above(inner)):
            if row.key.references == unit.references and owner.keys() == set(row.key.key):
                held = {name: shown[column] for name, column in row.held.items() if column in shown}
                yield _Row(row.table, entry.alias, held, row.key, tuple(owner[name] for name in row.key.key))

    def _parent(self, row: _Row, graph: Ownership) -> _Row | None:
        parent = self.schema.tables[row.key.references]
        key = graph.only_key(parent.name)
        if key is None:
            return None
        names = (generated_alias(parent.relation, place) for place in count(len(self.taken)))
        alias = next(name for name in names if name not in self.taken)
        self.taken.add(alias)
        pairs = list(zip(row.key.columns, row.key.key, strict=True))
        held = {above: row.held[name] for name, above in pairs if name in row.held}
        joined = (_equals((row.alias, name), (alias, above)) for name, above in pairs)
        tables = (*row.tables, BoundTable(alias, parent.name, parent))
        return _Row(parent, alias, held, key, _columns(alias, key), tables, (*row.conditions, *joined))


def _columns(alias: str, key: ForeignKey) -> tuple[ColumnRef, ...]:
    return tuple((alias, name) for name in key.columns)


def _equals(left: ColumnRef, right: ColumnRef) -> exp.EQ:
    return exp.EQ(this=bound_column(*left), expression=bound_column(*right))
