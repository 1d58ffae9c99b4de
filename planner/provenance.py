"""The owners of a join tuple: the union over all of its base rows, each found with as few joins as possible."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from planner.bound_query import BoundQuery
from planner.equalities import ColumnRef, Equalities
from planner.errors import PolicyInvalid, SensitivityUnbounded, StatementTooComplex, UnsupportedSQL
from planner.limits import MAX_TABLES
from planner.ownership import Ownership
from planner.policy import Policy
from planner.rules.complete_provenance import Completion
from planner.schema import ForeignKey, Schema, Table
from planner.scope import generated_alias
from planner.sql_types import Family


@dataclass(frozen=True)
class Provenance:
    """Who owns a tuple.

    Attributes:
      owners: distinct (relation, column) positions, in the order of FROM.
      completions: the parents to join for them.
      equalities: closed, completions included.
    """

    owners: tuple[tuple[str, ColumnRef], ...]
    completions: tuple[Completion, ...]
    equalities: Equalities


def provenance(query: BoundQuery, schema: Schema, policy: Policy) -> Provenance:
    """Find the owners of every base row.

    Raises: UnsupportedSQL when every table is public; SensitivityUnbounded when a private table has no owner.
    Cost: linear in base rows times ownership paths.
    """
    ownership = Ownership(schema, policy)
    if ownership.cycles():
        raise PolicyInvalid("the policy leaves ownership in a circle")
    private = [entry for entry in query.tables if not policy.is_public(entry.table.name)]
    if not private:
        raise UnsupportedSQL("a query over public tables only is not answered yet", hint="join a private table")
    for entry in private:
        if not ownership.is_owned(entry.table.name):
            hint = "the custodian may declare it public, or a foreign key that leads to its owner"
            message = f"table {entry.table.name!r} is private and belongs to nobody"
            raise SensitivityUnbounded(message, hint=hint)
    search = _Search(schema, ownership, join_equalities(query))
    for entry in private:
        search.visit(entry.alias, entry.table)
    return search.result()


def join_equalities(query: BoundQuery) -> Equalities:
    """The classes of equal columns that the conditions of a query prove; only equal types count."""
    equalities = Equalities()
    for entry in query.tables:
        equalities.add(entry.alias, entry.table, always_present=entry.outer is None)
    for condition in query.predicates:
        if not isinstance(condition, exp.EQ):
            continue
        left, right = condition.this, condition.expression
        if isinstance(left, exp.Column) and isinstance(right, exp.Column):
            family = query.type_of(left).family
            if family is query.type_of(right).family and family is not Family.OTHER:
                equalities.equate((left.table, left.name), (right.table, right.name), known=True)
    equalities.close()
    return equalities


class _Search:
    """Walks up the owning keys from each base row."""

    def __init__(self, schema: Schema, ownership: Ownership, equalities: Equalities) -> None:
        self._schema = schema
        self._ownership = ownership
        self._equalities = equalities
        self._owners: list[tuple[str, ColumnRef]] = []
        self._completions: list[Completion] = []

    def result(self) -> Provenance:
        """The distinct owners; two positions whose columns are equal are one."""
        first: dict[tuple[str, ColumnRef], tuple[str, ColumnRef]] = {}
        for relation, column in self._owners:
            first.setdefault((relation, self._equalities.find(column)), (relation, column))
        return Provenance(tuple(first.values()), tuple(self._completions), self._equalities)

    def visit(self, alias: str, table: Table) -> None:
        """Collect the owners of one row."""
        unit_key = self._ownership.unit_key(table.name)
        if unit_key is not None:
            self._owners.append((table.name, (alias, unit_key)))
        for key in self._ownership.owning_keys(table.name):
            self._follow(alias, key)

    def _follow(self, alias: str, key: ForeignKey) -> None:
        """The owners behind one foreign key; the column itself when it holds a unit's key and nothing is above."""
        parent = self._schema.tables[key.references]
        unit_key = self._ownership.unit_key(parent.name)
        if key.key == (unit_key,) and not self._ownership.owning_keys(parent.name):
            self._owners.append((parent.name, (alias, key.columns[0])))
            return
        if not self._joined(alias, key, parent):
            self._complete(alias, key, parent)

    def _joined(self, alias: str, key: ForeignKey, parent: Table) -> bool:
        """Is the parent's row already in the tuple? Its owners are, or will be, counted there."""
        pairs = list(zip(key.columns, key.key, strict=True))
        return any(
            table == parent and all(self._equalities.same((alias, name), (other, above)) for name, above in pairs)
            for other, table in self._equalities.tables.items()
        )

    def _complete(self, alias: str, key: ForeignKey, parent: Table) -> None:
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
        self.visit(added, parent)
