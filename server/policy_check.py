"""Compare a policy with the data, for the custodian: exact counts of rows that belie what the policy declares.

Nothing here is differentially private. It runs from the command line of whoever holds the policy and the database's
password; no client can reach it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import psycopg
from psycopg import errors, sql

from planner.errors import PolicyInvalid
from planner.ownership import Ownership
from planner.policy import ColumnPolicy, Policy
from planner.policy_advice import advice
from planner.policy_check import validate
from planner.schema import ForeignKey, Schema, Table
from server.errors import BackendFailed
from server.fanout_probes import fanout_probes
from server.probe import Finding, Probe

# The database found no sense in comparing a column with what the policy declares of it.
_MISFIT = (psycopg.DataError, errors.UndefinedFunction, errors.DatatypeMismatch)


def check_policy(
    connection: psycopg.Connection[Any],
    policy: Policy,
    schema: Schema,
    announce: Callable[[str], None] = lambda _: None,
) -> tuple[Finding, ...]:
    """Compare a policy with the catalog and with the rows.

    Args:
      connection: in one read-only snapshot, as a role that may read every table that the policy names.
      announce: is told what is counted next.
    Returns: the findings, errors first; empty when all is well.
    Raises: BackendFailed when the database refuses to count.
    Cost: one scan per range and per domain; per key that no constraint enforces, and per fan-out, one sort; per
      declared owning foreign key that no constraint enforces, one join.
    """
    findings = [*_structure(policy, schema)]
    findings += (Finding("warning", subject, message) for subject, message in advice(policy, schema))
    for probe in probes(policy, schema):
        announce(f"{probe.subject}: {probe.message}")
        finding = _run(connection, probe)
        if finding is not None:
            findings.append(finding)
    return tuple(sorted(findings, key=lambda finding: (finding.severity, finding.subject)))


def probes(policy: Policy, schema: Schema) -> tuple[Probe, ...]:
    """What to count. Tables and columns that the catalog lacks are left out: the validation names them."""
    return (
        *_unit_probes(policy, schema),
        *_column_probes(policy, schema),
        *_foreign_key_probes(policy, schema),
        *fanout_probes(policy, schema),
    )


def _structure(policy: Policy, schema: Schema) -> Iterator[Finding]:
    """What the planner's own validation says: unknown names, unenforced keys, cycles of ownership."""
    try:
        validate(policy, schema)
    except PolicyInvalid as error:
        heading, *problems = error.message.splitlines()
        for problem in problems or [heading]:
            subject, colon, message = problem.removeprefix("- ").partition(": ")
            yield Finding("error", subject, message) if colon else Finding("error", "policy", problem)


def _run(connection: psycopg.Connection[Any], probe: Probe) -> Finding | None:
    """Count the rows of a probe."""
    try:
        with connection.transaction():
            row = connection.execute(probe.count).fetchone()
    except _MISFIT:
        return Finding("error", probe.subject, "what the policy declares does not fit the column's type")
    except psycopg.Error as error:
        raise BackendFailed(
            f"the database refused to count {probe.subject}", hint="may the role SELECT it?"
        ) from error
    assert row is not None, "an aggregate without GROUP BY returns one row"
    return Finding(probe.severity, probe.subject, probe.message, row[0]) if row[0] else None


def _unit_probes(policy: Policy, schema: Schema) -> Iterator[Probe]:
    """A unit's key is unique and there."""
    for relation, key in policy.privacy_units.items():
        table = schema.tables.get(relation)
        if table is None or any(table.column(column) is None for column in key):
            continue
        message = "NULL in the privacy unit's key: the row is nobody's, so no answer counts it"
        where = sql.SQL(" OR ").join(sql.SQL("{} IS NULL").format(sql.Identifier(column)) for column in key)
        yield Probe("warning", f"{relation}.{', '.join(key)}", message, _count(table, where))
        yield from _duplicates(table, key, "share a privacy unit's key: several people would hide as one")


def _column_probes(policy: Policy, schema: Schema) -> Iterator[Probe]:
    """Values lie in their ranges and domains."""
    for name, declared in policy.tables.items():
        table = schema.tables.get(name)
        for column, column_policy in declared.columns.items():
            if table is not None and table.column(column) is not None:
                yield from _range_probe(table, column, column_policy)
                yield from _domain_probe(table, column, column_policy)


def _range_probe(table: Table, column: str, declared: ColumnPolicy) -> Iterator[Probe]:
    """NaN lies outside of every range, NULL in each."""
    if declared.range is None:
        return
    low, high = declared.range
    where = sql.SQL("NOT ({column} >= {low} AND {column} <= {high})").format(
        column=sql.Identifier(column), low=sql.Literal(Decimal(repr(low))), high=sql.Literal(Decimal(repr(high)))
    )
    message = f"outside of the range [{low:g}, {high:g}]: answers see the values clamped to it"
    yield Probe("warning", f"{table.name}.{column}", message, _count(table, where))


def _domain_probe(table: Table, column: str, declared: ColumnPolicy) -> Iterator[Probe]:
    """The declared values are compared as the column's type, as the text of a literal would be."""
    if declared.domain is None:
        return
    where = sql.SQL("{} <> ALL ({})").format(sql.Identifier(column), sql.Literal(_array(declared.domain)))
    message = "outside of the declared domain: answers grouped by it leave the rows out"
    yield Probe("warning", f"{table.name}.{column}", message, _count(table, where))


def _foreign_key_probes(policy: Policy, schema: Schema) -> Iterator[Probe]:
    """Rows that a declared owning key points from have a parent, and one only."""
    ownership = Ownership(schema, policy)
    for name, table in schema.tables.items():
        for key in ownership.owning_keys(name):
            parent = schema.tables.get(key.references)
            if key in table.foreign_keys or parent is None:
                continue
            if all(map(table.column, key.columns)) and all(map(parent.column, key.key)):
                yield _orphans(table, parent, key)
                yield from _duplicates(parent, key.key, "share a key that a foreign key names: joins would multiply")


def _orphans(table: Table, parent: Table, key: ForeignKey) -> Probe:
    """A row with a NULL in the key references nothing and is no orphan."""
    pairs = zip(key.columns, key.key, strict=True)
    matches = sql.SQL(" AND ").join(
        sql.SQL("p.{} = t.{}").format(sql.Identifier(theirs), sql.Identifier(ours)) for ours, theirs in pairs
    )
    present = sql.SQL(" AND ").join(sql.SQL("t.{} IS NOT NULL").format(sql.Identifier(name)) for name in key.columns)
    where = sql.SQL("{present} AND NOT EXISTS (SELECT FROM {parent} p WHERE {matches})").format(
        present=present, parent=_name(parent), matches=matches
    )
    message = f"without their row in {parent.name}, which owns them: no answer counts them"
    return Probe("error", f"{table.name}.{', '.join(key.columns)}", message, _count(table, where))


def _duplicates(table: Table, key: tuple[str, ...], message: str) -> Iterator[Probe]:
    """Rows that share a key with another; nothing to count where a constraint enforces the key."""
    if any(set(unique) <= set(key) for unique in table.unique_keys):
        return
    names = sql.SQL(", ").join(map(sql.Identifier, key))
    present = sql.SQL(" AND ").join(sql.SQL("{} IS NOT NULL").format(sql.Identifier(name)) for name in key)
    count = sql.SQL(
        "SELECT coalesce(sum(n), 0)::bigint FROM "
        "(SELECT count(*) AS n FROM {table} WHERE {present} GROUP BY {names} HAVING count(*) > 1) d"
    ).format(table=_name(table), present=present, names=names)
    yield Probe("error", f"{table.name}.{', '.join(key)}", message, count)


def _count(table: Table, where: sql.Composed) -> sql.Composed:
    return sql.SQL("SELECT count(*) FROM {} t WHERE {}").format(_name(table), where)


def _name(table: Table) -> sql.Composed:
    return sql.SQL("{}.{}").format(sql.Identifier(table.namespace), sql.Identifier(table.name))


def _array(values: tuple[str | int | float | bool, ...]) -> str:
    """An array literal without a type, so that the database reads it as the column's own."""
    escaped = (str(value).replace("\\", "\\\\").replace('"', '\\"') for value in values)
    return "{" + ",".join(f'"{value}"' for value in escaped) + "}"
