"""Per-person tables: whose each row is, and the catalog and policy in which they are tables like any other.

    SELECT patient_id AS k1, count(*) AS a1 FROM visit WHERE ... GROUP BY patient_id

Let J be the tuples of the inner join, which pass its conditions. Condition, decided from keys and equal columns
alone:

    (one) every tuple of J has one owner position, and the group keys hold its key, or a key of a row of the tuple
          that is owned.

Proof that T, the table of the groups, is a table of private rows of which each has one owner, the person u of its
key: by (one) the tuples behind a row of T are u's and nobody else's, since its owner position holds u in each of
them, and rows where it is NULL, which nobody owns, are left out. Keys and aggregates are functions of these tuples
(sums are exact, so the order in which they are read does not matter), and each tuple is made of rows of u's and
public ones. Let I' be I without v and all that v owns. The tuples of u != v are the same in both
(docs/mathematics.md, section 1.4, and `planner.sensitivity.own_rows` where the inner join has optional rows or
semi-joins), so the rows of u are the same in T and T'. Those of v are gone with v.

So T takes part in a join as a table with a foreign key to the relation of u, which owns its rows. It has one row per
group, and where u determines all keys one row per u, which its key says. What u determines of it, aggregates too, is
one value in every instance, and that is all that L0 asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

from sqlglot import exp

from planner.binding.bound_query import BoundQuery, BoundTable, PersonColumn, PersonTable
from planner.errors import PlannerError, UnsupportedSQL
from planner.plan import JoinSize
from planner.policy.ownership import ownership
from planner.policy.policy import ColumnPolicy, Policy, TablePolicy
from planner.rewriting.join_tables import complete_provenance, filter_semi_joins, join_tables
from planner.schema import Column, ForeignKey, Schema, Table
from planner.sensitivity.groups_per_unit import groups_per_unit
from planner.sensitivity.join_size import check_join_size, larger, whole_size
from planner.sensitivity.join_steps import JoinSteps
from planner.sensitivity.own_rows import check_own_rows, check_owner_joins
from planner.sensitivity.provenance import OwnerPosition, Provenance, provenance
from planner.sensitivity.tuples_per_unit import tuples_per_unit
from planner.sql.trees import ColumnRef, add_conditions, bound_column, copied, named_sql

_HINT = (
    "group by the key of the one whose rows they are, in a subquery over rows of that one alone; or aggregate once"
)


@dataclass(frozen=True)
class Persons:
    """A question whose per-person tables are tables of the catalog and the policy; `sizes`: those of their joins."""

    query: BoundQuery
    schema: Schema
    policy: Policy
    sizes: tuple[JoinSize, ...] = ()

    def size(self, own: JoinSize) -> JoinSize:
        """The class of the largest of its joins."""
        return reduce(larger, self.sizes, own)


def with_person_tables(query: BoundQuery, schema: Schema, policy: Policy) -> Persons:
    """Prove whose the rows of each per-person table are, and enter it into catalog and policy.

    Where fan-outs prove a count to be less than it was bound with, the question is bound once more, so that sums of
    it and ranks over it know its range. A question without such tables comes back as it is.

    Raises: UnsupportedSQL where rows may be several people's; what planning a join raises.
    """
    made = {one.alias: _Made.of(one, one.person, schema, policy) for one in query.all_tables if one.person}
    if not made:
        return Persons(query, schema, policy)
    narrower = {one.entry.table.name: one.declared for one in made.values() if one.narrows}
    if narrower and query.again is not None:
        return with_person_tables(replace(query.again(narrower), again=None), schema, policy)
    changed = {alias: one.entry for alias, one in made.items()}
    tables = tuple(changed.get(entry.alias, entry) for entry in query.tables)
    semi_joins = tuple(
        replace(one, tables=tuple(changed.get(entry.alias, entry) for entry in one.tables))
        for one in query.semi_joins
    )
    return Persons(
        replace(query, tables=tables, semi_joins=semi_joins),
        schema.beside({one.entry.table.name: one.entry.table for one in made.values()}),
        policy.beside({one.entry.table.name: one.declared for one in made.values()}),
        tuple(one.size for one in made.values()),
    )


@dataclass(frozen=True)
class _Made:
    """One table: its entry in FROM, what the policy says of it, and of the join behind it."""

    entry: BoundTable
    person: PersonTable
    declared: TablePolicy
    size: JoinSize

    @property
    def narrows(self) -> bool:
        """Is more proved of its columns than they were bound with?"""
        return any(self.declared.columns[one.column.name].range != one.declared.range for one in self.person.columns)

    @classmethod
    def of(cls, entry: BoundTable, person: PersonTable, schema: Schema, policy: Policy) -> _Made:
        try:
            return cls._of(entry, person, schema, policy)
        except PlannerError as refusal:
            if refusal.position is None:
                refusal.position = person.position
            raise

    @classmethod
    def _of(cls, entry: BoundTable, person: PersonTable, schema: Schema, policy: Policy) -> _Made:
        catalog = schema
        inner = with_person_tables(person.query, schema, policy)
        query, schema, policy = inner.query, inner.schema, inner.policy
        check_own_rows(query, schema, policy)
        found = provenance(query, schema, policy)
        check_owner_joins(query, found)
        size = whole_size(query, found, JoinSteps(query, found, policy), schema, policy)
        check_join_size(size, query, schema, policy)
        owner, unit = _owner(found, person, catalog, policy)
        table = Table(entry.table.name, "", _columns(person, unit), (_key(found, person, unit),), (unit,))
        most = tuples_per_unit(query, found, JoinSteps(query, found, policy), schema, policy)
        declared = TablePolicy(
            columns={column.column.name: _declared(column, most) for column in person.columns}, rows=size.most_tuples
        )
        rows = _rows(query, found, person, owner, unit)
        return cls(replace(entry, table=table, rows=rows), person, declared, inner.size(size))


def _owner(
    found: Provenance, person: PersonTable, schema: Schema, policy: Policy
) -> tuple[OwnerPosition, ForeignKey]:
    """The one owner position of the tuples, and the foreign key of the groups that leads to it.

    Raises: UnsupportedSQL where a tuple has several positions, or the group keys hold neither the person's key nor
      that of a row of the tuple that is owned.
    """
    relations = sorted({owner.relation for owner in found.owners})
    if len(found.owners) != 1:
        twice = f"{relations[0]} twice" if len(relations) == 1 else " and ".join(relations)
        message = f"the rows of this subquery with GROUP BY belong to {twice}: one of them would change another's row"
        raise UnsupportedSQL(message, hint=_HINT)
    (owner,) = found.owners
    if owner.orphan_of:
        message = f"a row of {owner.relation} may be a person of its own, so GROUP BY inside FROM is not supported"
        raise UnsupportedSQL(message, hint=_HINT)
    by_class = {found.equalities.find(column.key): column.column.name for column in person.columns if column.key}

    def held(columns: Sequence[ColumnRef]) -> tuple[str, ...] | None:
        names = [by_class.get(found.equalities.find(column)) for column in columns]
        return tuple(name for name in names if name is not None) if all(names) else None

    names = held(owner.columns)
    if names is not None:
        return owner, ForeignKey(names, owner.relation, policy.privacy_units[owner.relation])
    graph = ownership(schema, policy)
    for alias, table in found.equalities.tables.items():
        for key in table.keys if table.name in schema.tables and graph.is_owned(table.name) else ():
            names = held([(alias, name) for name in key])
            if names is not None and (_is_there(found, alias, key) or _leads(found, alias, owner)):
                return owner, ForeignKey(names, table.name, key)
    message = (
        "GROUP BY inside FROM is not supported without a key of the person or of a row that is one person's: "
        "one person's rows would change rows that others share"
    )
    raise UnsupportedSQL(message, hint=f"add the key of {owner.relation} to GROUP BY; or aggregate once, at the top")


def _is_there(found: Provenance, alias: str, key: Sequence[str]) -> bool:
    return all(found.equalities.known((alias, name)) for name in key)


def _leads(found: Provenance, alias: str, owner: OwnerPosition) -> bool:
    """Is a row on the chain by which the owner is found, so that nobody owns a tuple without it?"""
    children = {completion.alias: completion.child for completion in found.completions}
    current: str | None = owner.columns[0][0]
    while current is not None and current != alias:
        current = children.get(current)
    return current is not None


def _columns(person: PersonTable, unit: ForeignKey) -> tuple[Column, ...]:
    """The columns; those that lead to the owner are never NULL, for rows of nobody are left out."""
    return tuple(
        replace(column.column, nullable=column.column.nullable and column.column.name not in unit.columns)
        for column in person.columns
    )


def _key(found: Provenance, person: PersonTable, unit: ForeignKey) -> tuple[str, ...]:
    """What identifies a row: the columns that lead to the owner where they determine the other group keys, else all.

    What one position determines is one value: `groups_per_unit` asks for it as if the columns were an owner's.
    """
    led = [column for column in person.columns if column.column.name in unit.columns and column.key is not None]
    others = [column for column in person.columns if column.is_key and column.column.name not in unit.columns]
    position = OwnerPosition("", tuple(column.key for column in led if column.key is not None))
    keys = [column.key for column in others if column.key is not None]
    if len(keys) == len(others) and groups_per_unit([position], keys, found.equalities) == 1:
        return unit.columns
    return tuple(column.column.name for column in person.columns if column.is_key)


def _declared(column: PersonColumn, most: int | None) -> ColumnPolicy:
    """What is public of a column: a count is at most the number of tuples that follows from declared fan-outs."""
    if most is None or not isinstance(column.value, exp.Count) or column.declared.range is None:
        return column.declared
    low, high = column.declared.range
    return replace(column.declared, range=(low, max(low, min(high, float(most)))))


def _rows(
    query: BoundQuery, found: Provenance, person: PersonTable, owner: OwnerPosition, unit: ForeignKey
) -> exp.Select:
    """The SELECT: the join, completed, of tuples that somebody owns and whose keys lead to that person, grouped."""
    select = complete_provenance(join_tables(query.tables, query.predicates), found.completions, found.ends)
    select = filter_semi_joins(select, query.semi_joins) if query.semi_joins else select
    leading = [
        column.key for column in person.columns if column.column.name in unit.columns and column.key is not None
    ]
    unsure = [column for column in dict.fromkeys([*owner.columns, *leading]) if not found.equalities.known(column)]
    add_conditions(select, [exp.Is(this=bound_column(*one), expression=exp.Null(), negate=True) for one in unsure])
    select.set("expressions", [named_sql(copied(column.value), column.column.name) for column in person.columns])
    places = [place for place, column in enumerate(person.columns, 1) if column.is_key]
    select.set("group", exp.Group(expressions=[exp.Literal.number(place) for place in places]))
    return select
