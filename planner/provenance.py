"""The owners of a join tuple: the union over all of its base rows, each found with as few joins as possible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner.bound_query import BoundQuery, BoundTable, column_ref
from planner.equalities import ColumnRef, Equalities
from planner.errors import PolicyInvalid, SensitivityUnbounded, StatementTooComplex, UnsupportedSQL
from planner.fixed_columns import equal_columns, fixed_columns, known_columns
from planner.limits import MAX_TABLES
from planner.ownership import Ownership, ownership
from planner.policy import Policy
from planner.rules.complete_provenance import Completion
from planner.schema import ForeignKey, Schema, Table
from planner.scope import generated_alias
from planner.trees import columns_of


@dataclass(frozen=True)
class OwnerPosition:
    """Where a join tuple holds the key of a privacy unit.

    Attributes:
      relation: the privacy-unit relation.
      columns: of the unit's key, in the order of the policy.
      orphan_of: the unit is a row that nobody else owns: it owns the tuple only if in each of these groups, the
        columns of an owning foreign key, one is NULL. Empty for other units.
    """

    relation: str
    columns: tuple[ColumnRef, ...]
    orphan_of: tuple[tuple[ColumnRef, ...], ...] = ()


@dataclass(frozen=True)
class Provenance:
    """Who owns a tuple.

    Attributes:
      owners: distinct positions, in the order of FROM.
      completions: the parents to join for them.
      ends: foreign keys that the policy follows no further: a row that still references something is left out.
      equalities: closed, completions included.
    """

    owners: tuple[OwnerPosition, ...]
    completions: tuple[Completion, ...]
    ends: tuple[tuple[ColumnRef, ...], ...]
    equalities: Equalities


def provenance(query: BoundQuery, schema: Schema, policy: Policy) -> Provenance:
    """Find the owners of every base row.

    Raises: UnsupportedSQL when every table is public; SensitivityUnbounded when a private table has no owner.
    Cost: linear in base rows times ownership paths.
    """
    graph = ownership(schema, policy)
    if graph.cycles():
        raise PolicyInvalid("the policy leaves ownership in a circle")
    private = [entry for entry in query.tables if not policy.is_public(entry.table.name)]
    if not private:
        raise UnsupportedSQL("a query over public tables only has nobody to protect", hint="it is answered exactly")
    for entry in private:
        if not graph.is_owned(entry.table.name):
            hint = "the custodian may declare it public, or a foreign key that leads to its owner"
            message = f"table {entry.table.name!r} is private and belongs to nobody"
            raise SensitivityUnbounded(message, hint=hint)
    search = _Search(schema, graph, join_equalities(query))
    for entry in private:
        search.visit(entry.alias, entry.table, {})
    return search.result()


def join_equalities(query: BoundQuery) -> Equalities:
    """The classes of equal columns that the conditions of a query prove (see `planner.fixed_columns`)."""
    equalities = Equalities()
    for entry in query.tables:
        equalities.add(entry.alias, entry.table, always_present=entry.outer is None)
    for left, right in equal_columns(query.predicates, query):
        equalities.equate(left, right, known=True)
    for column in known_columns(query):
        equalities.know(column)
    for column, value in fixed_columns(query):
        equalities.fix(column, value)
    for entry in query.tables:
        columns = _lookup(entry, query)
        if columns is not None:
            equalities.look_up(entry.alias, columns)
    equalities.close()
    return equalities


def _lookup(entry: BoundTable, query: BoundQuery) -> tuple[ColumnRef, ...] | None:
    """The columns of other tables that decide which row a LEFT JOIN finds; None when it may find several."""
    if entry.outer is None:
        return None
    columns = (column_ref(column) for condition in entry.outer for column in columns_of(condition))
    read = dict.fromkeys(column for column in columns if column[0] != entry.alias)
    pairs = [pair for pair in equal_columns(entry.outer, query) if pair[0][0] != pair[1][0]]
    found = {name for pair in pairs for alias, name in pair if alias == entry.alias}
    unique = any(found.issuperset(key) for key in entry.table.unique_keys)
    return tuple(read) if unique else None


_Steps = Mapping[tuple[str, ForeignKey], int]
"""How often a path has followed each foreign key of limited depth."""


class _Search:
    """Walks up the owning keys from each base row.

    A path that follows a foreign key of depth d for the d-th time may end only where the next reference is NULL.
    So every row that stays has all of its owners, and a row vanishes with any row above it: T' = T + D.
    """

    def __init__(self, schema: Schema, graph: Ownership, equalities: Equalities) -> None:
        self._schema = schema
        self._ownership = graph
        self._equalities = equalities
        self._owners: list[OwnerPosition] = []
        self._completions: list[Completion] = []
        self._ends: dict[tuple[ColumnRef, ...], None] = {}

    def result(self) -> Provenance:
        """The distinct owners; two positions whose columns are equal are one."""
        first: dict[object, OwnerPosition] = {}
        for owner in self._owners:
            first.setdefault((owner.relation, self._classes(owner.columns), owner.orphan_of), owner)
        return Provenance(tuple(first.values()), tuple(self._completions), tuple(self._ends), self._equalities)

    def visit(self, alias: str, table: Table, steps: _Steps) -> None:
        """Collect the owners of one row."""
        unit_key, row_key = self._ownership.unit_key(table.name), self._ownership.orphan_key(table.name)
        keys = self._ownership.owning_keys(table.name)
        if unit_key is not None:
            self._owners.append(OwnerPosition(table.name, tuple((alias, name) for name in unit_key)))
        if row_key is not None:
            references = tuple(tuple((alias, name) for name in key.columns) for key in keys)
            if not any(all(map(self._equalities.known, columns)) for columns in references):
                columns = tuple((alias, name) for name in row_key)
                self._owners.append(OwnerPosition(table.name, columns, references))
        for key in keys:
            self._follow(alias, table, key, steps)

    def _classes(self, columns: tuple[ColumnRef, ...]) -> tuple[ColumnRef, ...]:
        return tuple(map(self._equalities.find, columns))

    def _follow(self, alias: str, table: Table, key: ForeignKey, steps: _Steps) -> None:
        """The owners behind one foreign key; its own columns when they hold a unit's key and nothing is above."""
        depth, taken = self._ownership.depth(table.name, key), steps.get((table.name, key), 0)
        if depth is not None and taken == depth:
            self._ends[tuple((alias, name) for name in key.columns)] = None
            return
        parent = self._schema.tables[key.references]
        unit_key = self._ownership.unit_key(parent.name) or self._ownership.orphan_key(parent.name)
        above = dict(zip(key.key, key.columns, strict=True))
        if unit_key is not None and set(unit_key) == set(above) and not self._ownership.owning_keys(parent.name):
            self._owners.append(OwnerPosition(parent.name, tuple((alias, above[name]) for name in unit_key)))
        elif not self._joined(alias, key, parent):
            self._complete(alias, key, parent, steps if depth is None else {**steps, (table.name, key): taken + 1})

    def _joined(self, alias: str, key: ForeignKey, parent: Table) -> bool:
        """Is the parent's row already in the tuple? Its owners are, or will be, counted there."""
        pairs = list(zip(key.columns, key.key, strict=True))
        return any(
            table == parent and all(self._equalities.same((alias, name), (other, above)) for name, above in pairs)
            for other, table in self._equalities.tables.items()
        )

    def _complete(self, alias: str, key: ForeignKey, parent: Table, steps: _Steps) -> None:
        equalities = self._equalities
        if len(equalities.tables) >= 2 * MAX_TABLES:
            raise StatementTooComplex("finding the owners takes too many joins", hint="join fewer tables")
        nullable = tuple(name for name in key.columns if not equalities.known((alias, name)))
        added = generated_alias(parent.name, len(equalities.tables))
        equalities.add(added, parent, always_present=not nullable)
        if len(key.columns) == 1 or not nullable:  # with one part NULL, the other parts have no partner
            for name, above in zip(key.columns, key.key, strict=True):
                equalities.equate((alias, name), (added, above), known=False)
        equalities.close()
        self._completions.append(Completion(added, parent, alias, key, nullable))
        self.visit(added, parent, steps)
