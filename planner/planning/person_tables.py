"""Per-person subqueries: who owns each of their rows, and their place in the catalog and the policy.

    SELECT patient_id AS k1, count(*) AS a1 FROM visit WHERE ... GROUP BY patient_id

Let J be the tuples of the inner join that pass its conditions. The condition, decided from keys and equal columns:

    (one) every tuple of J has one owner position, and the group keys hold its key, or a key of a row of the tuple
          that is owned.

Proof that each row of the result T has one owner, the person u of its key (docs/mathematics.md, section 2.3). By
(one) the tuples behind a row of T belong to u alone, since its owner position holds u in each of them. Rows with a
NULL there have no owner and are left out. Keys and aggregates are functions of these tuples; sums are exact, so the
order does not matter. Each tuple is made of u's rows and public ones. Let I' be I without v and all that v owns. The
tuples of u != v are the same in both (docs/mathematics.md, section 1.4; `planner.sensitivity.own_rows` for optional
rows and semi-joins). So the rows of u are the same in T and T', and those of v are gone with v.

T therefore joins like a table with an owning foreign key to the relation of u. It has one row per group. If u
determines all keys it has one row per u, which its key says.

    SELECT patient_id AS k1, row_number() OVER (PARTITION BY patient_id ORDER BY day, visit_id) AS a2 FROM visit

With window functions T has one row per tuple of J, and (one) is asked of every PARTITION BY instead of the group
keys. So the tuples of a partition belong to one person. A row of T is a tuple of J and the values of its windows,
which are functions of the tuples in their partitions:

1. Aggregates over whole partitions, or over rows up to the current one's equals, and ranks read which rows are equal
   or less, not their order. Sums are exact.
2. Other functions read an order. Theirs ends with a key of the tuple (`_without_ties`), so it is one order, whatever
   the database stores or how many workers it has. Without that key the order of equal rows may depend on other
   people's rows. If a table has no key, these functions are refused.

So the rows of u in T are functions of the tuples of u in J, and those of v are gone with v, as above. The same holds
if a tuple becomes several rows, one for each element of a list in it (`planner.binding.listed_rows`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

from sqlglot import exp

from planner.binding.bound_query import BoundQuery, BoundTable, PersonColumn, PersonTable
from planner.binding.derived_columns import EQUATE_THE_OWNER, OF_OTHERS
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
from planner.sensitivity.provenance import OwnerPosition, Provenance, check_not_owned, provenance
from planner.sensitivity.tuples_per_unit import tuples_per_unit
from planner.sql.trees import ColumnRef, add_conditions, bound_column, columns_of, copied, named_sql

_COUNTS = (exp.Count, exp.RowNumber, exp.Ntile, exp.Rank, exp.DenseRank)
"""Aggregates and window functions that are at most the number of a person's tuples."""

_HINT = "group by the owner's key in a subquery over the rows of one owner; or aggregate once, at the top"


@dataclass(frozen=True)
class Persons:
    """A question whose per-person subqueries are tables of the catalog and the policy; `sizes` are their joins'."""

    query: BoundQuery
    schema: Schema
    policy: Policy
    sizes: tuple[JoinSize, ...] = ()

    def size(self, own: JoinSize) -> JoinSize:
        """The size of the largest join, its own or that of a subquery."""
        return reduce(larger, self.sizes, own)


def with_person_tables(query: BoundQuery, schema: Schema, policy: Policy) -> Persons:
    """Prove who owns the rows of each per-person subquery, and enter it into catalog and policy.

    If fan-outs bound a count more tightly than binding did, the question is bound again, so that sums and ranks over
    it know the range. A question without such subqueries is returned unchanged.

    Raises: UnsupportedSQL if rows may belong to several people; otherwise as planning a join.
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
    """One subquery: its entry in FROM, its policy, and the size of its join."""

    entry: BoundTable
    person: PersonTable
    declared: TablePolicy
    size: JoinSize

    @property
    def narrows(self) -> bool:
        """Are its columns bounded more tightly than at binding?"""
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
        if person.partitions is None and all(policy.is_public(one.table.name) for one in query.all_tables):
            return cls._of_public(entry, person, query, schema, policy)
        check_own_rows(query, schema, policy)
        found = provenance(query, schema, policy)
        check_owner_joins(query, found)
        size = whole_size(query, found, JoinSteps(query, found, policy), schema, policy)
        check_join_size(size, query, schema, policy)
        try:
            owner, units = _owner(found, person, catalog, policy)
        except UnsupportedSQL:
            if entry.label is None:
                raise
            message = OF_OTHERS.format(entry.label)
            raise UnsupportedSQL(message, hint=EQUATE_THE_OWNER, position=entry.position) from None
        unit, row = units[0], _row_key(query)
        person = _with_row_key(person, query, row)
        key = _key(found, person, unit, row)
        table = Table(entry.table.name, "", _columns(person, unit), () if key is None else (key,), (unit,))
        most = tuples_per_unit(query, found, JoinSteps(query, found, policy), schema, policy)
        declared = TablePolicy(
            columns={one.column.name: _declared(one, most, query, policy) for one in person.columns},
            rows=None if person.expands else size.most_tuples,
        )
        rows = _rows(query, found, person, owner, units, row)
        return cls(replace(entry, table=table, rows=rows), person, declared, inner.size(size))

    @classmethod
    def _of_public(
        cls, entry: BoundTable, person: PersonTable, query: BoundQuery, schema: Schema, policy: Policy
    ) -> _Made:
        """Groups of public rows are public rows, and their keys identify them."""
        check_not_owned(query.all_tables, ownership(schema, policy), policy)
        columns = tuple(column.column for column in person.columns)
        keys = tuple(column.column.name for column in person.columns if column.is_key)
        declared = TablePolicy(public=True, columns={one.column.name: one.declared for one in person.columns})
        table = Table(entry.table.name, "", columns, (keys,), ())
        rows = _computed(join_tables(query.tables, query.predicates), query, person)
        return cls(replace(entry, table=table, rows=rows), person, declared, JoinSize())


def _owner(
    found: Provenance, person: PersonTable, schema: Schema, policy: Policy
) -> tuple[OwnerPosition, tuple[ForeignKey, ...]]:
    """The one owner position of the tuples, and the foreign keys of the groups or of each partition that lead to it.

    Raises: UnsupportedSQL if a tuple has several positions, or the columns hold neither the person's key nor that of
      an owned row of the tuple.
    """
    relations = sorted({owner.relation for owner in found.owners})
    if len(found.owners) != 1:
        twice = f"{relations[0]} twice" if len(relations) == 1 else " and ".join(relations)
        message = f"the rows of this subquery with GROUP BY belong to {twice}, so one unit could change another's row"
        raise UnsupportedSQL(message, hint=_HINT)
    (owner,) = found.owners
    if owner.orphan_of:
        message = f"GROUP BY inside FROM is not supported: a row of {owner.relation} may be a privacy unit itself"
        raise UnsupportedSQL(message, hint=_HINT)
    return owner, tuple(_leading(found, owner, person, part, schema, policy) for part in person.parts)


def _leading(
    found: Provenance, owner: OwnerPosition, person: PersonTable, part: Sequence[str], schema: Schema, policy: Policy
) -> ForeignKey:
    """The foreign key that leads from the columns of a group or partition to the owner of its tuples."""
    by_class = {
        found.equalities.find(column.key): column.column.name
        for column in person.columns
        if column.key and column.column.name in part
    }

    def held(columns: Sequence[ColumnRef]) -> tuple[str, ...] | None:
        names = [by_class.get(found.equalities.find(column)) for column in columns]
        return tuple(name for name in names if name is not None) if all(names) else None

    names = held(owner.columns)
    if names is not None:
        return ForeignKey(names, owner.relation, policy.privacy_units[owner.relation])
    graph = ownership(schema, policy)
    for alias, table in found.equalities.tables.items():
        for key in table.keys if table.name in schema.tables and graph.is_owned(table.name) else ():
            names = held([(alias, name) for name in key])
            if names is not None and (_is_there(found, alias, key) or _leads(found, alias, owner)):
                return ForeignKey(names, table.name, key)
    if person.partitions is not None:
        message = (
            "a window function or DISTINCT ON without the owner's key is not supported: other people's rows would "
            "change what it finds"
        )
        hint = f"add the key of {owner.relation} to PARTITION BY, or to DISTINCT ON"
        raise UnsupportedSQL(message, hint=hint, position=person.partitions[tuple(part)])
    message = (
        "GROUP BY inside FROM is not supported without the owner's key, or the key of a row with one owner: one "
        "person's rows would change rows that others share"
    )
    raise UnsupportedSQL(message, hint=f"add the key of {owner.relation} to GROUP BY, or aggregate once, at the top")


def _is_there(found: Provenance, alias: str, key: Sequence[str]) -> bool:
    return all(found.equalities.known((alias, name)) for name in key)


def _leads(found: Provenance, alias: str, owner: OwnerPosition) -> bool:
    """Is the row on the chain that finds the owner, so that no tuple has an owner without it?"""
    children = {completion.alias: completion.child for completion in found.completions}
    current: str | None = owner.columns[0][0]
    while current is not None and current != alias:
        current = children.get(current)
    return current is not None


def _columns(person: PersonTable, unit: ForeignKey) -> tuple[Column, ...]:
    """The columns; those that lead to the owner are never NULL, since rows without an owner are left out."""
    return tuple(
        replace(column.column, nullable=column.column.nullable and column.column.name not in unit.columns)
        for column in person.columns
    )


def _row_key(query: BoundQuery) -> tuple[ColumnRef, ...] | None:
    """Columns that identify a tuple: a key of each of its tables; None if one has none."""
    if any(entry.row_key is None for entry in query.tables):
        return None
    return tuple((entry.alias, name) for entry in query.tables for name in entry.row_key or ())


def _with_row_key(person: PersonTable, query: BoundQuery, row: Sequence[ColumnRef] | None) -> PersonTable:
    """Let a windowed subquery show the key of its rows, which windows over it may need."""
    if person.partitions is None:
        return person
    shown = {column.key for column in person.columns}
    made: list[PersonColumn] = []
    for alias, name in [ref for ref in row or () if ref not in shown]:
        column = bound_column(alias, name)
        known = query.table_of(column).table.column(name)
        assert known is not None, "a column of its key"
        known = replace(known, name=f"r{len(made) + 1}", nullable=True, nan=False)
        made.append(PersonColumn(known, column, ColumnPolicy(), (alias, name), is_key=True))
    return replace(person, columns=(*person.columns, *made))


def _key(
    found: Provenance, person: PersonTable, unit: ForeignKey, row: Sequence[ColumnRef] | None
) -> tuple[str, ...] | None:
    """The columns that identify a row: those that lead to the owner if they determine the other group keys.

    Else all keys. It asks `groups_per_unit` as if those columns were an owner's. A row of a windowed subquery has the
    key of its tuple, if the subquery shows it; None otherwise.
    """
    if person.expands:
        return None
    if person.partitions is not None:
        shown = {found.equalities.find(column.key): column.column.name for column in person.columns if column.key}
        names = [shown.get(found.equalities.find(column)) for column in row or ()]
        return tuple(dict.fromkeys(name for name in names if name is not None)) if names and all(names) else None
    led = [column for column in person.columns if column.column.name in unit.columns and column.key is not None]
    others = [column for column in person.columns if column.is_key and column.column.name not in unit.columns]
    position = OwnerPosition("", tuple(column.key for column in led if column.key is not None))
    keys = [column.key for column in others if column.key is not None]
    if len(keys) == len(others) and groups_per_unit([position], keys, found.equalities) == 1:
        return unit.columns
    return tuple(column.column.name for column in person.columns if column.is_key)


def _declared(column: PersonColumn, most: int | None, query: BoundQuery, policy: Policy) -> ColumnPolicy:
    """The public range of a column, and whether partition selection may show its values.

    A count is at most the number of tuples by declared fan-outs. It shows no value of a column, so that it is open;
    other values are open if all columns are that they are computed from.
    """
    value = column.value.this if isinstance(column.value, exp.Window) else column.value
    if not isinstance(value, _COUNTS):
        read = [(query.table_of(one).table.name, one.name) for one in columns_of(column.value)]
        closed = (one for one in read if not policy.is_public(one[0]) and not policy.discovers(*one))
        return replace(column.declared, discover=not any(closed))
    if most is None or column.declared.range is None:
        return replace(column.declared, discover=True)
    low, high = column.declared.range
    return replace(column.declared, range=(low, max(low, min(high, float(most)))), discover=True)


def _rows(
    query: BoundQuery,
    found: Provenance,
    person: PersonTable,
    owner: OwnerPosition,
    units: Sequence[ForeignKey],
    row: Sequence[ColumnRef] | None,
) -> exp.Select:
    """The SELECT: the completed join of owned tuples whose keys lead to their owner, grouped or with its windows."""
    select = complete_provenance(join_tables(query.tables, query.predicates), found.completions, found.ends)
    leading = [
        column.key
        for column in person.columns
        if any(column.column.name in unit.columns for unit in units) and column.key is not None
    ]
    unsure = [column for column in dict.fromkeys([*owner.columns, *leading]) if not found.equalities.known(column)]
    add_conditions(select, [exp.Is(this=bound_column(*one), expression=exp.Null(), negate=True) for one in unsure])
    return _computed(select, query, person, row)


def _computed(
    select: exp.Select, query: BoundQuery, person: PersonTable, row: Sequence[ColumnRef] | None = None
) -> exp.Select:
    """The SELECT of a joined FROM, in place: its semi-joins, its columns, and its groups or windows."""
    filter_semi_joins(select, query.semi_joins)
    values = [_without_ties(column.value, row) if column.ties else copied(column.value) for column in person.columns]
    names = [column.column.name for column in person.columns]
    select.set("expressions", [named_sql(value, name) for value, name in zip(values, names, strict=True)])
    if person.partitions is not None:
        return select
    places = [place for place, column in enumerate(person.columns, 1) if column.is_key]
    if places:
        select.set("group", exp.Group(expressions=[exp.Literal.number(place) for place in places]))
    return select


def _without_ties(value: exp.Expr, row: Sequence[ColumnRef] | None) -> exp.Expr:
    """A window function whose ORDER BY ends with the key of its row.

    Raises: UnsupportedSQL if the rows have no key.
    """
    if row is None:
        message = "a window function that reads the order of rows needs a table with a key"
        raise UnsupportedSQL(message, hint="use rank(), dense_rank(), or an aggregate without ROWS")
    value = copied(value)
    for window in [value, *value.find_all(exp.Window)]:
        if isinstance(window, exp.Window):
            order = window.args.get("order")
            known = [] if order is None else order.expressions
            last = [exp.Ordered(this=bound_column(*column), desc=False, nulls_first=False) for column in row]
            window.set("order", exp.Order(expressions=[*known, *last]))
    return value
