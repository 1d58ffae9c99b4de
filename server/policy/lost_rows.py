"""Rows that answers count less than others: that belong to nobody, or whose owner is gone. For the custodian."""

from __future__ import annotations

from collections.abc import Iterator

from psycopg import sql
from sqlglot import exp

from planner.policy.ownership import Ownership
from planner.policy.policy import Policy
from planner.policy.table_settings import section_of
from planner.rewriting.rewrite import to_sql
from planner.rules.complete_provenance import complete_provenance
from planner.rules.join_tables import join_tables
from planner.schema import ForeignKey, Schema, Table
from planner.sensitivity.provenance import owner_sql
from server.policy.fanout_probes import alone
from server.policy.finding import Probe
from server.policy.verified_keys import shared_key, table_name


def lost_rows(policy: Policy, schema: Schema) -> Iterator[Probe]:
    """Per foreign key that the database does not enforce over every row, the rows without their parent: of an owning
    key, and of one that lists groups; parents that share an owning key; per table, the rows that belong to nobody.

    Cost: of each one join, but for the shared keys, which take a sort.
    """
    ownership = Ownership(schema, policy)
    for name, table in schema.tables.items():
        owning = ownership.owning_keys(name)
        for key in ownership.foreign_keys(name):
            parent = schema.tables.get(key.references)
            if table.enforces(key) or parent is None:
                continue
            if not (all(map(table.column, key.columns)) and all(map(parent.column, key.key))):
                continue
            if key in owning:
                yield _orphans(table, parent, key, policy, ownership)
                if not any(set(unique) <= set(key.key) for unique in parent.keys):
                    message = "share a key that a foreign key names: joins would multiply"
                    yield shared_key(parent, key.key, message)
            elif name in policy.tables and not policy.is_public(name) and policy.is_public(parent.name):
                yield _outside(table, parent, key)
    for name in policy.tables:
        if name in schema.tables and not policy.is_public(name):
            yield from _nobodys(schema.tables[name], policy, schema)


def _orphans(table: Table, parent: Table, key: ForeignKey, policy: Policy, ownership: Ownership) -> Probe:
    """Rows without their owner's.

    Where the key is the unit's own and nobody owns the unit, a question about the table alone reads the owner from
    the row (`planner.sensitivity.provenance`): there an orphan counts as a person that no row stands for.
    """
    unit = ownership.unit_key(parent.name) or ownership.orphan_key(parent.name)
    direct = unit is not None and set(unit) == set(key.key) and not ownership.owning_keys(parent.name)
    counted = (
        f"answers count them, as people of their own, only where {parent.name} is not joined"
        if direct
        else "no answer counts them"
    )
    declared = next(
        (one for one in policy.foreign_keys if one.table == table.name and one.foreign_key.pairs == key.pairs), None
    )
    place = f"the [[foreign_keys]] of {table.name} ({', '.join(key.columns)}) to {parent.name}"
    return Probe(
        "error",
        f"{table.name}.{', '.join(key.columns)}",
        f"without their row in {parent.name}, which owns them{_unproven(table, key)}: {counted}",
        _without_parent(table, parent, key),
        None if declared is None else declared.accepted_orphans,
        f"add `accepted_orphans = {{rows}}` to {place}"
        if declared is not None
        else f"write {place}, with `accepted_orphans = {{rows}}`: a draft has it in a comment",
    )


def _outside(table: Table, parent: Table, key: ForeignKey) -> Probe:
    """Rows whose group the public table does not list."""
    return Probe(
        "warning",
        f"{table.name}.{', '.join(key.columns)}",
        f"without their row in {parent.name}{_unproven(table, key)}: answers that join it, or are grouped by its "
        "key, leave the rows out",
        _without_parent(table, parent, key),
    )


def _unproven(table: Table, key: ForeignKey) -> str:
    """The reason, where the database has the key and rows that break it."""
    return ", though the database has the key: not enforced over every row" if key in table.unproven_keys else ""


def _without_parent(table: Table, parent: Table, key: ForeignKey) -> sql.Composed:
    """Their number. A row with a NULL in the key references nothing, and is none of them."""
    pairs = zip(key.columns, key.key, strict=True)
    matches = sql.SQL(" AND ").join(
        sql.SQL("p.{} = t.{}").format(sql.Identifier(theirs), sql.Identifier(ours)) for ours, theirs in pairs
    )
    present = sql.SQL(" AND ").join(sql.SQL("t.{} IS NOT NULL").format(sql.Identifier(name)) for name in key.columns)
    return sql.SQL(
        "SELECT count(*) FROM {table} t WHERE {present} AND NOT EXISTS (SELECT 1 FROM {parent} p WHERE {matches})"
    ).format(table=table_name(table), present=present, parent=table_name(parent), matches=matches)


def _nobodys(table: Table, policy: Policy, schema: Schema) -> Iterator[Probe]:
    """Rows that stand and hold no owner's key; none where a key that says whose a row is can never be NULL."""
    entry, found = alone(table, policy, schema)
    if found is None:
        return
    columns = [owner.columns for owner in found.owners]
    if any(owner.orphan_of for owner in found.owners) or any(
        all(map(found.equalities.known, owner)) for owner in columns
    ):
        return
    absent = [owner_sql(owner, found.equalities).key.is_(exp.null()) for owner in found.owners]
    source = complete_provenance(join_tables([entry], []), found.completions, found.ends)
    rows = source.select(exp.Count(this=exp.Star())).where(exp.and_(*absent))
    yield Probe(
        "warning",
        table.name,
        "belong to nobody, since what says whose they are is NULL: no answer counts them",
        to_sql(rows).encode(),
        policy.tables[table.name].accepted_null_owners,
        f"add `accepted_null_owners = {{rows}}` to {section_of(table.name, policy.schemas)}, or "
        "`rows_are_units = true` where each is a person's of its own",
    )
