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

A subquery with neither has a row per tuple (`planner.binding.person_rows`). So (one) needs no key: a row is one
tuple, and a hidden column holds its owner's key where no other column does. Under UNION ALL the rows of each SELECT
are kept or gone with their owner, whatever the others have. All SELECTs must lead to one unit relation, by columns of
the same names (docs/mathematics.md, section 2.4).

A group whose key to the owner is NULL could hold rows of several: it is left out, and a note says so. A row whose
column is NULL is left out where a condition of the question refuses that NULL, which changes no tuple.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from sqlglot import exp

from planner.binding.bound_query import BoundQuery, BoundTable, PersonColumn, PersonTable, column_type
from planner.binding.conditions import normal_form
from planner.binding.derived_columns import EQUATE_THE_OWNER, OF_OTHERS
from planner.errors import PlannerError, UnsupportedSQL
from planner.group_domains.column_values import never_null
from planner.plan import JoinSize
from planner.policy.ownership import is_open, ownership
from planner.policy.policy import ColumnPolicy, Policy, TablePolicy
from planner.rewriting.join_tables import complete_provenance, filter_semi_joins, join_tables
from planner.schema import Column, ForeignKey, Schema, Table
from planner.sensitivity.groups_per_unit import groups_per_unit
from planner.sensitivity.join_size import check_join_size, larger, whole_size
from planner.sensitivity.join_steps import JoinSteps
from planner.sensitivity.one_owner import note_of
from planner.sensitivity.own_rows import check_owner_joins, left_out, rows_without_owner, with_own_rows
from planner.sensitivity.provenance import OwnerPosition, Provenance, check_not_owned, provenance
from planner.sensitivity.tuples_per_unit import tuples_per_unit
from planner.sql.sql_types import Family
from planner.sql.trees import (
    ColumnRef,
    add_conditions,
    bound_column,
    column_ref,
    columns_of,
    copied,
    named_sql,
    rebuilt,
)

_COUNTS = (exp.Count, exp.RowNumber, exp.Ntile, exp.Rank, exp.DenseRank)
"""Aggregates and window functions that are at most the number of a person's tuples."""

_HINT = "group by the owner's key in a subquery over the rows of one owner; or aggregate once, at the top"


@dataclass(frozen=True)
class Persons:
    """A question whose per-person subqueries are tables of the catalog and the policy; `sizes` and
    `notes` are their joins'.
    """

    query: BoundQuery
    schema: Schema
    policy: Policy
    sizes: tuple[JoinSize, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_public(self) -> bool:
        """Does it read public tables only?"""
        return all(self.policy.is_public(entry.table.name) for entry in self.query.all_tables)

    def size(self, own: JoinSize) -> JoinSize:
        """The size of the largest join, its own or that of a subquery."""
        return reduce(larger, self.sizes, own)


def with_person_tables(query: BoundQuery, schema: Schema, policy: Policy) -> Persons:
    """Prove who owns the rows of each per-person subquery, and enter it into catalog and policy.

    If fan-outs bound a count more tightly than binding did, the question is bound again, so that sums and ranks over
    it know the range. A question without such subqueries is returned unchanged.

    Raises: UnsupportedSQL if rows may belong to several people; otherwise as planning a join.
    """
    literals = [entry for entry in query.all_tables if entry.constants is not None]
    schema = schema.beside({one.table.name: one.table for one in literals}) if literals else schema
    if literals:
        policy = policy.beside({one.table.name: TablePolicy(public=True, rows=one.constants) for one in literals})
    tested = [(entry, (*query.predicates, *(entry.outer or ()))) for entry in query.tables]
    tested += [(entry, semi_join.predicates) for semi_join in query.semi_joins for entry in semi_join.tables]
    made = {
        one.alias: _Made.of(one, _without_null(one, one.person, conditions), schema, policy)
        for one, conditions in tested
        if one.person
    }
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
        tuple(dict.fromkeys(note for one in made.values() for note in one.notes)),
    )


def _without_null(entry: BoundTable, person: PersonTable, conditions: Sequence[exp.Expr]) -> PersonTable:
    """Leave out the rows of a subquery that no row beside it accepts, since a condition refuses a NULL of theirs.

    Who owns rows without a key may then not matter: a sale without a customer meets no customer.
    """
    refused = {
        column.column.name
        for column in person.columns
        if column.column.nullable and never_null((entry.alias, column.column.name), conditions)
    }
    return _requiring(person, refused) if refused else person


def _requiring(person: PersonTable, names: Collection[str]) -> PersonTable:
    """Require that the columns of these names are not NULL: only those that keep or leave out whole groups."""
    whole = [column for column in person.columns if all(column.column.name in part for part in person.parts)]
    values = [column.value for column in whole if column.column.name in names and column.key is not None]
    there = tuple(exp.Is(this=copied(value), expression=exp.Null(), negate=True) for value in values)
    query = replace(person.query, predicates=(*person.query.predicates, *there))
    return replace(person, query=query, others=tuple(_requiring(one, names) for one in person.others))


@dataclass(frozen=True)
class _Made:
    """One subquery: its entry in FROM, its policy, the size of its join, and what answers say of its rows."""

    entry: BoundTable
    person: PersonTable
    declared: TablePolicy
    size: JoinSize
    notes: tuple[str, ...] = ()

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
        inside = [with_person_tables(one.query, schema, policy) for one in person.selects]
        if person.partitions is None and inside[0].is_public:
            return cls._of_public(entry, person, inside[0])
        parts = [_Part.of(one, inner, schema, entry) for one, inner in zip(person.selects, inside, strict=True)]
        unit = _unit(parts, policy)
        parts = [part.with_owner(unit) for part in parts]
        if len(parts) == 1 and person.partitions is not None:
            parts = [parts[0].with_row_key()]
        first = parts[0]
        key = first.key(unit) if len(parts) == 1 else None
        table = Table(entry.table.name, "", _columns(first.person, unit), () if key is None else (key,), (unit,))
        counts = [part.most_rows for part in parts]
        beside = [part.declared() for part in parts]
        declared = TablePolicy(
            columns={
                name: replace(one, discover=all(part[name].discover for part in beside))
                for name, one in beside[0].items()
            },
            rows=sum(count for count in counts if count is not None) if None not in counts else None,
        )
        selects: list[exp.Query] = [part.rows(unit) for part in parts]
        rows = reduce(lambda one, other: exp.Union(this=one, expression=other, distinct=False), selects)
        size = reduce(larger, [part.size for part in parts])
        notes = tuple(note for part in parts for note in part.notes)
        return cls(replace(entry, table=table, rows=rows), first.person, declared, size, notes)

    @classmethod
    def _of_public(cls, entry: BoundTable, person: PersonTable, inner: Persons) -> _Made:
        """Groups of public rows are public rows, and their keys identify them."""
        query = inner.query
        check_not_owned(query.all_tables, ownership(inner.schema, inner.policy), inner.policy)
        columns = tuple(column.column for column in person.columns)
        keys = tuple(column.column.name for column in person.columns if column.is_key)
        declared = TablePolicy(public=True, columns={one.column.name: one.declared for one in person.columns})
        table = Table(entry.table.name, "", columns, (keys,), ())
        rows = _computed(join_tables(query.tables, query.predicates), query, person)
        return cls(replace(entry, table=table, rows=rows), person, declared, JoinSize())


@dataclass(frozen=True)
class _Part:
    """One SELECT of a subquery: its join, its owner, the size of its join, and the most tuples of one unit."""

    person: PersonTable
    query: BoundQuery
    schema: Schema
    policy: Policy
    found: Provenance
    owner: OwnerPosition
    units: tuple[ForeignKey, ...]
    size: JoinSize
    most: int | None
    notes: tuple[str, ...]

    @classmethod
    def of(cls, person: PersonTable, inner: Persons, catalog: Schema, entry: BoundTable) -> _Part:
        """Raises: UnsupportedSQL if rows may belong to several people."""
        query, schema, policy = inner.query, inner.schema, inner.policy
        query, kept = with_own_rows(query, schema, policy)
        person, query, found, more = _of_one_owner(person, query, schema, policy)
        notes = (*inner.notes, *kept, *more)
        orphans = _keys_of_orphans(found, person) if person.partitions is None else ()
        if orphans:
            there = _requiring(person, orphans).query.predicates[len(person.query.predicates) :]
            query = replace(query, predicates=(*query.predicates, *there))
            found = provenance(query, schema, policy)
            labels = " or ".join(column.label for column in person.columns if column.column.name in orphans)
            notes = (*notes, f"Groups of a subquery whose {labels} is NULL are left out: they hold several owners.")
        check_owner_joins(query, found)
        steps = JoinSteps(query, found, policy)
        size = whole_size(query, found, steps, schema, policy)
        check_join_size(size, query, schema, policy)
        try:
            owner = _owner(found)
            units = tuple(_leading(found, owner, person, part, catalog, policy) for part in person.parts)
        except UnsupportedSQL:
            if entry.label is None:
                raise
            message = OF_OTHERS.format(entry.label)
            raise UnsupportedSQL(message, hint=EQUATE_THE_OWNER, position=entry.position) from None
        units = units or _shown(found, owner, person, policy)
        most = tuples_per_unit(query, found, steps, schema, policy)
        notes = (*notes, *rows_without_owner(query, found), *left_out(query))
        return cls(person, query, schema, policy, found, owner, units, inner.size(size), most, notes)

    def with_owner(self, unit: ForeignKey) -> _Part:
        """Add the owner's key as columns that no statement names, unless it is there."""
        if {one.column.name for one in self.person.columns}.issuperset(unit.columns):
            return self
        tables = self.found.equalities.tables
        added = []
        for name, (alias, above) in zip(unit.columns, self.owner.columns, strict=True):
            declared = tables[alias].column(above)
            assert declared is not None, "owner columns exist"
            column = Column(name, declared.type, False)
            added.append(PersonColumn(column, bound_column(alias, above), ColumnPolicy(), key=(alias, above)))
        return self._with(added)

    def with_row_key(self) -> _Part:
        """Show the key of its rows, which windows over them may need."""
        shown = {column.key for column in self.person.columns}
        added: list[PersonColumn] = []
        for alias, name in [ref for ref in self.row_key or () if ref not in shown]:
            column = bound_column(alias, name)
            known = self.query.table_of(column).table.column(name)
            assert known is not None, "a column of its key"
            known = replace(known, name=f"r{len(added) + 1}", nullable=True, nan=False)
            added.append(PersonColumn(known, column, ColumnPolicy(), (alias, name), is_key=True))
        return self._with(added)

    def _with(self, added: Sequence[PersonColumn]) -> _Part:
        return replace(self, person=replace(self.person, columns=(*self.person.columns, *added)))

    @property
    def row_key(self) -> tuple[ColumnRef, ...] | None:
        """Columns that identify a tuple: a key of each of its tables; None if one has none."""
        if any(entry.row_key is None for entry in self.query.tables):
            return None
        return tuple((entry.alias, name) for entry in self.query.tables for name in entry.row_key or ())

    @property
    def ties(self) -> tuple[ColumnRef, ...] | None:
        """Columns that order the tuples which ORDER BY leaves equal; None if some cannot be ordered.

        For each of its tables a key, or without one all columns that are read of it. Tuples that are equal in what is
        read are interchangeable, as no function tells equal values apart.
        """
        found: list[ColumnRef] = []
        read = dict.fromkeys(column_ref(one) for shown in self.person.columns for one in columns_of(shown.value))
        for entry in self.query.tables:
            names = entry.row_key or [name for alias, name in read if alias == entry.alias]
            if entry.row_key is None and any(column_type(entry.table, name).family is Family.OTHER for name in names):
                return None
            found += [(entry.alias, name) for name in names]
        return tuple(found)

    @property
    def most_rows(self) -> int | None:
        """The most rows that it lists; None if nothing bounds them."""
        return None if self.person.expands else self.size.most_tuples

    def declared(self) -> Mapping[str, ColumnPolicy]:
        """What is public about its columns."""
        tables = self.found.equalities.tables
        declared = {}
        for one in self.person.columns:
            read = [(tables[column.table].name, column.name) for column in columns_of(_shown_of(one.value))]
            private = (column for column in read if not self.policy.is_public(column[0]))
            shown = all(is_open(self.schema, self.policy, *column) for column in private)
            declared[one.column.name] = _declared(one, self.most, shown=shown)
        return declared

    def key(self, unit: ForeignKey) -> tuple[str, ...] | None:
        """The columns that identify a row: those that lead to the owner if they determine the other group keys.

        Else all keys. It asks `groups_per_unit` as if those columns were an owner's. A row without groups has the key
        of its tuple, if the subquery shows it; None otherwise.
        """
        if self.person.expands:
            return None
        columns, equalities = self.person.columns, self.found.equalities
        if self.person.partitions is not None:
            shown = {equalities.find(column.key): column.column.name for column in columns if column.key}
            names = [shown.get(equalities.find(column)) for column in self.row_key or ()]
            return tuple(dict.fromkeys(name for name in names if name is not None)) if names and all(names) else None
        led = [column for column in columns if column.column.name in unit.columns and column.key is not None]
        others = [column for column in columns if column.is_key and column.column.name not in unit.columns]
        position = OwnerPosition("", tuple(column.key for column in led if column.key is not None))
        keys = [column.key for column in others if column.key is not None]
        if len(keys) == len(others) and groups_per_unit([position], keys, equalities) == 1:
            return unit.columns
        return tuple(column.column.name for column in columns if column.is_key)

    def rows(self, unit: ForeignKey) -> exp.Select:
        """The completed join of owned tuples whose keys lead to their owner, grouped, with windows, or as it is."""
        query, found, person = self.query, self.found, self.person
        select = complete_provenance(join_tables(query.tables, query.predicates), found.completions, found.ends)
        units = (unit, *self.units) if person.parts else (unit,)
        read = {name for one in units for name in one.columns}
        leading = [column.key for column in person.columns if column.column.name in read and column.key is not None]
        held = dict.fromkeys([*self.owner.columns, *leading])
        unsure = [column for column in held if not found.equalities.known(column)]
        there = [exp.Is(this=bound_column(*one), expression=exp.Null(), negate=True) for one in unsure]
        add_conditions(select, there)
        return _computed(select, query, person, self.ties)


def _of_one_owner(
    person: PersonTable, query: BoundQuery, schema: Schema, policy: Policy
) -> tuple[PersonTable, BoundQuery, Provenance, tuple[str, ...]]:
    """Group or part rows by their owner, too, if they are by a key that the policy declares to have one.

    (one) is then proved as if the question had named the owner, so nothing rests on the declaration. If it is true,
    the groups are the same. Parents that only find the owner are joined as tables of the query.

    Returns: both, the provenance of the tuples, and a note for each key.
    """
    found = provenance(query, schema, policy, {entry.alias for entry in query.all_tables})
    used = _keys_declared(person, query, found, schema, policy)
    if not used:
        return person, query, found, ()
    if found.completions:
        added = tuple(BoundTable(one.alias, one.table.name, one.table) for one in found.completions)
        joined = [condition for one in found.completions for condition in one.conditions]
        query = replace(query, tables=(*query.tables, *added), predicates=normal_form([*query.predicates, *joined]))
        found = provenance(query, schema, policy)
    (owner,) = _people(found)
    made: list[PersonColumn] = []
    for place, (alias, name) in enumerate(owner.columns, 1):
        known = found.equalities.tables[alias].column(name)
        assert known is not None, "owner columns exist"
        column, value = replace(known, name=f"owner{place}", nan=False), bound_column(alias, name)
        made.append(PersonColumn(column, value, ColumnPolicy(), (alias, name), is_key=True, label=name))
    names = tuple(one.column.name for one in made)
    parts = person.partitions and {(*part, *names): position for part, position in person.partitions.items()}
    read = [replace(one, value=_parted(one.value, owner.columns)) for one in person.columns]
    person = replace(person, columns=(*read, *made), partitions=parts)
    return person, query, found, tuple(dict.fromkeys(note_of(*one) for one in used))


def _people(found: Provenance) -> list[OwnerPosition]:
    """The owner positions, without rows that are units themselves."""
    return [owner for owner in found.owners if not owner.orphan_of]


def _keys_declared(
    person: PersonTable, query: BoundQuery, found: Provenance, schema: Schema, policy: Policy
) -> list[tuple[str, tuple[str, ...]]]:
    """The tables and keys of `one_owner` by which rows are grouped or parted; none if the owner is known without."""
    graph, find = ownership(schema, policy), found.equalities.find
    declared = [(one, key) for one in query.tables for key in graph.keys_of_one_owner(one.table.name)]
    owners = _people(found)
    if not declared or len(owners) != 1 or any(one.nullable for one in found.completions):
        return []
    used = []
    for part in person.parts:
        try:
            _leading(found, owners[0], person, part, schema, policy)
        except UnsupportedSQL:
            held = {find(one.key) for one in person.columns if one.key is not None and one.column.name in part}
            keys = [(one, key) for one, key in declared if {find((one.alias, name)) for name in key} <= held]
            used += [(one.table.name, key) for one, key in keys]
    return used


def _parted(value: exp.Expr, columns: Sequence[ColumnRef]) -> exp.Expr:
    """Part the windows of a column by further columns."""
    value = copied(value)
    for window in value.find_all(exp.Window):
        window.set(
            "partition_by", [*(window.args.get("partition_by") or ()), *(bound_column(*one) for one in columns)]
        )
    return value


def _keys_of_orphans(found: Provenance, person: PersonTable) -> tuple[str, ...]:
    """The group keys that are NULL in each tuple whose row is a privacy unit itself; none if some have none."""
    names = {column.key: column.column.name for column in person.columns if column.is_key and column.key is not None}
    missing = [columns for owner in found.owners for columns in owner.orphan_of]
    return tuple(names[one] for columns in missing for one in columns if one in names)


def _owner(found: Provenance) -> OwnerPosition:
    """The one owner position of the tuples. Raises: UnsupportedSQL if a tuple has several positions."""
    relations = sorted({owner.relation for owner in found.owners})
    if len(found.owners) != 1:
        twice = f"{relations[0]} twice" if len(relations) == 1 else " and ".join(relations)
        message = f"the rows of this subquery belong to {twice}, so one unit could change another's row"
        raise UnsupportedSQL(message, hint=_HINT)
    (owner,) = found.owners
    if owner.orphan_of:
        message = f"a subquery per person is not supported: a row of {owner.relation} may be a privacy unit itself"
        raise UnsupportedSQL(message, hint=_HINT)
    return owner


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


def _shown(found: Provenance, owner: OwnerPosition, person: PersonTable, policy: Policy) -> tuple[ForeignKey, ...]:
    """The foreign keys to the owner that columns of rows without groups are; none for a key of several columns."""
    key = policy.privacy_units[owner.relation]
    classes = {column.column.name: found.equalities.find(column.key) for column in person.columns if column.key}
    held = [name for name, known in classes.items() if known == found.equalities.find(owner.columns[0])]
    return tuple(ForeignKey((name,), owner.relation, key) for name in held) if len(key) == 1 else ()


def _unit(parts: Sequence[_Part], policy: Policy) -> ForeignKey:
    """The foreign key to the owner that the rows of all parts have: in columns that are there, or in hidden ones."""
    first, *others = parts
    for unit in first.units:
        if all(unit in part.units for part in others):
            return unit
    relations = list(dict.fromkeys(part.owner.relation for part in parts))
    if len(relations) > 1:
        named = " and ".join(relations)
        raise UnsupportedSQL(f"the rows of this UNION belong to {named}", hint="ask one question for each of them")
    key = policy.privacy_units[relations[0]]
    return ForeignKey(tuple(f"owner{place}" for place in range(1, len(key) + 1)), relations[0], key)


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


def _shown_of(value: exp.Expr) -> exp.Expr:
    """What a column's values are made of: not what chooses the rows of a window, its PARTITION BY and ORDER BY."""
    if isinstance(value, (exp.Column, exp.Window)):
        return value if isinstance(value, exp.Column) else value.args["this"]
    return rebuilt(value, _shown_of)


def _declared(column: PersonColumn, most: int | None, *, shown: bool) -> ColumnPolicy:
    """The public range of a column, and whether partition selection may show its values.

    A count is at most the number of tuples by declared fan-outs. It shows no value of a column, so that it is open;
    other values are open if all columns are that they are computed from.
    """
    value = column.value.this if isinstance(column.value, exp.Window) else column.value
    if not isinstance(value, _COUNTS):
        return replace(column.declared, discover=shown)
    if most is None or column.declared.range is None:
        return replace(column.declared, discover=True)
    low, high = column.declared.range
    return replace(column.declared, range=(low, max(low, min(high, float(most)))), discover=True)


def _computed(
    select: exp.Select, query: BoundQuery, person: PersonTable, row: Sequence[ColumnRef] | None = None
) -> exp.Select:
    """The SELECT of a joined FROM, in place: its semi-joins, its columns, and its groups or windows."""
    filter_semi_joins(select, query.semi_joins)
    values = [_without_ties(column.value, row) if column.ties else copied(column.value) for column in person.columns]
    names = [column.column.name for column in person.columns]
    select.set("expressions", [named_sql(value, name) for value, name in zip(values, names, strict=True)])
    places = [place for place, column in enumerate(person.columns, 1) if column.is_key]
    if places and person.partitions is None:
        select.set("group", exp.Group(expressions=[exp.Literal.number(place) for place in places]))
    return select


def _without_ties(value: exp.Expr, row: Sequence[ColumnRef] | None) -> exp.Expr:
    """A window function whose ORDER BY ends with columns that tell its rows apart.

    Raises: UnsupportedSQL if there are none.
    """
    if row is None:
        message = "a window function over rows without a key cannot read columns that have no order"
        raise UnsupportedSQL(message, hint="leave those columns out, or use rank() or dense_rank()")
    value = copied(value)
    for window in [value, *value.find_all(exp.Window)]:
        if isinstance(window, exp.Window):
            order = window.args.get("order")
            known = [] if order is None else order.expressions
            last = [exp.Ordered(this=bound_column(*column), desc=False, nulls_first=False) for column in row]
            window.set("order", exp.Order(expressions=[*known, *last]))
    return value
