"""Keep joins and subqueries to rows of one owner, where the policy declares that a key has one.

`one_owner = ["order_number"]` says that all rows of a table with one order number have one owner. So a question may
look for the other rows of an order. The conditions made here equate the foreign key to the owner on both sides, of
the rows themselves or of the rows above them that the key belongs to:

    EXISTS (SELECT 1 FROM line b WHERE b.order_number = a.order_number)            as written
    EXISTS (SELECT 1 FROM line b WHERE b.order_number = a.order_number AND b.customer = a.customer)

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

from planner.binding.bound_query import BoundQuery, BoundTable
from planner.binding.scope import generated_alias
from planner.policy.ownership import Ownership, ownership
from planner.policy.policy import Policy
from planner.schema import ForeignKey, Schema, Table
from planner.sensitivity.column_equalities import Equalities
from planner.sensitivity.provenance import join_equalities
from planner.sql.trees import ColumnRef, bound_column


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
        return (
            f"Rows of {self.table.name} meet by {', '.join(self.key)} only where their owner is the same, which the "
            "policy declares of it. Rows without an owner's key meet none."
        )

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
      key: its only owning foreign key.
    """

    table: Table
    alias: str
    held: Mapping[str, ColumnRef]
    key: ForeignKey
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
        if key is None or set(ours.key.columns) <= set(shared):
            return None
        equal = [_equals((ours.alias, name), (theirs.alias, name)) for name in ours.key.columns]
        conditions = (*ours.conditions, *theirs.conditions, *equal)
        return Kept(ours.table, key, (*ours.tables, *theirs.tables), conditions)

    def _above(self, entry: BoundTable) -> Iterator[_Row]:
        """The row, and those above it as long as each has one owning key, and is nobody itself."""
        graph = ownership(self.schema, self.policy)
        key = graph.only_key(entry.table.name) if entry.rows is None else None
        held = {column.name: (entry.alias, column.name) for column in entry.table.columns}
        row = None if key is None else _Row(entry.table, entry.alias, held, key)
        while row is not None:
            yield row
            row = self._parent(row, graph)

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
        entry = BoundTable(alias, parent.name, parent)
        return _Row(parent, alias, held, key, (*row.tables, entry), (*row.conditions, *joined))


def _equals(left: ColumnRef, right: ColumnRef) -> exp.EQ:
    return exp.EQ(this=bound_column(*left), expression=bound_column(*right))
