"""Compare a policy with the data, for the custodian: exact counts of rows that belie what the policy declares.

Nothing here is differentially private. It runs from the command line of whoever holds the policy and the database's
password; no client can reach it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal

from psycopg import sql

from planner.errors import PolicyInvalid
from planner.policy.declared_keys import with_declared_keys
from planner.policy.lint import advice
from planner.policy.policy import ColumnPolicy, Policy
from planner.policy.validate import validate
from planner.schema import Schema, Table
from planner.sql.sql_types import Family, sql_type
from planner.views.declared import check_declared_views
from planner.views.examine import RefusedView, examined_views
from server.backends.custody.custody import Custody, Misfit
from server.errors import BackendFailed
from server.policy.fanout_probes import fanout_probes
from server.policy.finding import Finding, Probe
from server.policy.lost_rows import lost_rows
from server.policy.verified_keys import key_probes, shared_key, table_name

_SEVERITIES = ("error", "warning", "accepted")


def check_policy(
    custody: Custody,
    policy: Policy,
    schema: Schema,
    announce: Callable[[str], None] = lambda _: None,
) -> tuple[Finding, ...]:
    """Compare a policy with the catalog and with the rows.

    Args:
      custody: in one read-only snapshot, as a role that may read every table that the policy names.
      schema: with the policy's views declared (`Schema.declaring`).
      announce: is told what is counted next.
    Returns: the findings, errors first; empty when all is well.
    Raises: BackendFailed when the database refuses to count.
    Cost: one scan per range and per domain; per key that no constraint enforces, per fan-out and per number of rows
      of a unit, one sort; per declared owning foreign key that no constraint enforces, per table whose rows may be
      nobody's, and per table below a depth, one join.
    """
    findings = [*_structure(policy, schema)]
    findings += (Finding("warning", subject, message) for subject, message in advice(policy, schema))
    if not any(finding.severity == "error" for finding in findings):  # plans need a sound policy
        findings += _views(policy, schema)
    for probe in probes(policy, schema):
        announce(f"{probe.subject}: {probe.message}")
        finding = _run(custody, probe)
        if finding is not None:
            findings.append(finding)
    return tuple(sorted(findings, key=lambda finding: (_SEVERITIES.index(finding.severity), finding.subject)))


def probes(policy: Policy, schema: Schema) -> tuple[Probe, ...]:
    """What to count. Tables and columns that the catalog lacks are left out: the validation names them."""
    schema = with_declared_keys(schema, policy)
    return (
        *_unit_probes(policy, schema),
        *key_probes(schema),
        *_rows_probes(policy, schema),
        *_column_probes(policy, schema),
        *lost_rows(policy, schema),
        *fanout_probes(policy, schema),
    )


def _structure(policy: Policy, schema: Schema) -> Iterator[Finding]:
    """What the planner's own validation says: unknown names, unenforced keys, cycles of ownership."""
    try:
        validate(policy, schema)
        check_declared_views(policy, schema)
    except PolicyInvalid as error:
        heading, *problems = error.message.splitlines()
        for problem in problems or [heading]:
            subject, colon, message = problem.removeprefix("- ").partition(": ")
            yield Finding("error", subject, message) if colon else Finding("error", "policy", problem)


def _views(policy: Policy, schema: Schema) -> Iterator[Finding]:
    """Views of what may be asked that cannot be asked themselves."""
    for view in examined_views(with_declared_keys(schema, policy), policy):
        if isinstance(view, RefusedView) and not view.reads_unnamed:
            yield Finding("warning", view.name, view.reason if view.hint is None else f"{view.reason}; {view.hint}")


def _run(custody: Custody, probe: Probe) -> Finding | None:
    """Count the rows of a probe."""
    try:
        rows = custody.count(probe.count)
    except Misfit:
        return Finding("error", probe.subject, "what the policy declares does not fit the column's type")
    except BackendFailed as error:
        raise BackendFailed(f"the database refused to count {probe.subject}", hint=error.hint) from error
    return probe.finding(rows) if rows else None


def _unit_probes(policy: Policy, schema: Schema) -> Iterator[Probe]:
    """A unit's key is unique and there."""
    for relation, key in policy.privacy_units.items():
        table = schema.tables.get(relation)
        if table is None or any(table.column(column) is None for column in key):
            continue
        message = "NULL in the privacy unit's key: the row is nobody's, so no answer counts it"
        where = sql.SQL(" OR ").join(sql.SQL("{} IS NULL").format(sql.Identifier(column)) for column in key)
        yield Probe("warning", f"{relation}.{', '.join(key)}", message, _count(table, where))
        if not any(set(unique) <= set(key) for unique in table.keys):
            yield shared_key(table, key, "share a privacy unit's key: several people would hide as one")


def _rows_probes(policy: Policy, schema: Schema) -> Iterator[Probe]:
    """No table has more rows than the number that is public."""
    for name, declared in policy.tables.items():
        if declared.rows is not None and name in schema.tables:
            count = sql.SQL("SELECT greatest(count(*) - {}, 0) FROM {}").format(
                sql.Literal(declared.rows), table_name(schema.tables[name])
            )
            message = f"more than the declared {declared.rows} rows: a promise that planned durations rest on"
            yield Probe("error", name, message, count)


def _column_probes(policy: Policy, schema: Schema) -> Iterator[Probe]:
    """Values lie in their ranges and domains, and on their steps."""
    for name, declared in policy.tables.items():
        table = schema.tables.get(name)
        for column, column_policy in declared.columns.items():
            if table is not None and table.column(column) is not None:
                yield from _range_probe(table, column, column_policy)
                yield from _domain_probe(table, column, column_policy)
                yield from _step_probe(table, column, column_policy)


def _range_probe(table: Table, column: str, declared: ColumnPolicy) -> Iterator[Probe]:
    """NaN lies outside of every range, NULL in each; of datetimes days count, at UTC as in answers."""
    if declared.dates is not None:
        first, last = declared.dates
        found = table.column(column)
        zoned = found is not None and sql_type(found.type).family is Family.TIMESTAMPTZ
        moment = sql.SQL("({} AT TIME ZONE 'UTC')" if zoned else "{}").format(sql.Identifier(column))
        where = sql.SQL("NOT ({moment} >= {first}::date AND {moment} < {last}::date + 1)").format(
            moment=moment, first=sql.Literal(first.isoformat()), last=sql.Literal(last.isoformat())
        )
        message = f"outside of the range [{first}, {last}]: no group has these rows; conditions see the values"
    elif declared.range is not None:
        low, high = declared.range
        where = sql.SQL("NOT ({column} >= {low} AND {column} <= {high})").format(
            column=sql.Identifier(column), low=sql.Literal(Decimal(repr(low))), high=sql.Literal(Decimal(repr(high)))
        )
        message = f"outside of the range [{low:g}, {high:g}]: sums take the nearest end, and no group has these rows"
    else:
        return
    yield Probe("warning", f"{table.name}.{column}", message, _count(table, where))


def _domain_probe(table: Table, column: str, declared: ColumnPolicy) -> Iterator[Probe]:
    """The declared values are compared as the column's type, as the text of a literal would be."""
    if declared.domain is None:
        return
    listed = sql.SQL(", ").join(sql.Literal(str(value)) for value in declared.domain)
    where = sql.SQL("{} NOT IN ({})").format(sql.Identifier(column), listed)
    message = "outside of the declared domain: answers grouped by it leave the rows out"
    yield Probe("warning", f"{table.name}.{column}", message, _count(table, where))


def _step_probe(table: Table, column: str, declared: ColumnPolicy) -> Iterator[Probe]:
    """Numbers alone: a moment belongs to the day or month that it is in."""
    if not isinstance(declared.step, int) or declared.step == 1 or declared.range is None:
        return
    origin = sql.Literal(Decimal(repr(declared.range[0])))
    where = sql.SQL("({} - {}) % {} <> 0").format(sql.Identifier(column), origin, sql.Literal(declared.step))
    message = f"off the declared step of {declared.step}: answers grouped by it leave the rows out"
    yield Probe("warning", f"{table.name}.{column}", message, _count(table, where))


def _count(table: Table, where: sql.Composed) -> sql.Composed:
    return sql.SQL("SELECT count(*) FROM {} t WHERE {}").format(table_name(table), where)
