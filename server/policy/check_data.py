"""Compare a policy with the data, for the administrator: exact counts of rows that contradict it.

Delta rests on declared numbers of rows, and so does the charge of a sample. Answers leave out rows that are too deep,
have no owner, or have lost their owner. Nothing here is differentially private. It runs from the command line of
someone with the policy and the database's password; no client can reach it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from psycopg import sql
from sqlglot import exp, parse_one

from planner.binding.bound_query import BoundQuery, BoundTable
from planner.binding.scope import generated_alias
from planner.errors import PlannerError, PolicyInvalid
from planner.examine_views import RefusedView, check_declared_views, examined_views
from planner.plan import Owner
from planner.policy.declared import with_declared_keys
from planner.policy.ownership import Ownership
from planner.policy.policy import ROWS, ROWS_PER, ColumnPolicy, DeclaredForeignKey, Policy
from planner.policy.toml_section import section_of
from planner.policy.validate import advice, validate
from planner.released_expression import Display
from planner.rewriting.join_tables import complete_provenance, join_tables
from planner.rewriting.rewrite import to_sql
from planner.schema import Column, ForeignKey, Schema, Table
from planner.sensitivity.provenance import Provenance, owner_sql, provenance
from planner.sql.datetimes import moment_form
from planner.sql.literals import number_sql
from planner.sql.sql_types import Family, sql_type
from planner.sql.trees import bound_column, cast_sql, copied
from server.backends.custody import Custody, Misfit
from server.errors import BackendFailed
from server.policy.verified_keys import Finding, Probe, Severity, beyond, key_probes, present, shared_key, table_name

_COSTS = "samples cost more privacy than is charged; EXPLAIN shows how much as epsilon_if_fanouts_fail"
"""The effect of a false declared bound on rows: Delta rests on it."""


_MISSES = "intervals may miss the true value"
"""The effect of a false `at_most`: only accuracy rests on it."""


def fanout_probes(policy: Policy, schema: Schema) -> Iterator[Probe]:
    """One probe per declared fan-out, `rows_per_unit`, `at_most` and `one_owner`, and per table below a depth.

    A fan-out is counted over all rows of its table. The rows that one unit owns are counted where they stand, as
    `planner.sensitivity.provenance` defines it. They are the same rows in every join, so the number holds for each
    position of the table. A unit with several positions in one row owns it once. Cost of each: one sort of the table,
    joined with the rows above it for the latter two.
    """
    for declared in policy.foreign_keys:
        table = schema.tables.get(declared.table)
        if declared.fanout is not None and table is not None and all(map(table.column, declared.columns)):
            yield _fanout(table, declared, declared.fanout)
    for name, settings in policy.tables.items():
        for relation, most in settings.rows_per_unit.items():
            if name in schema.tables and relation in schema.tables:
                yield from _rows_per_unit(schema.tables[name], relation, most, policy, schema)
        for amount, limit in settings.at_most.items():
            if name in schema.tables and not settings.public:
                yield from _exceeding(schema.tables[name], amount, limit, policy, schema)
        owner = Ownership(schema, policy).only_key(name) if settings.one_owner and name in schema.tables else None
        if owner is not None and all(map(schema.tables[name].column, owner.columns)):
            keys = (key for key in settings.one_owner if all(map(schema.tables[name].column, key)))
            yield from (_several_owners(schema.tables[name], key, owner) for key in keys)
        if name in schema.tables and not settings.public:
            yield from _too_deep(schema.tables[name], policy, schema)


def _several_owners(table: Table, key: tuple[str, ...], owner: ForeignKey) -> Probe:
    """Rows that share a key of `one_owner` with a row of another owner, or of none."""
    differ = [
        sql.SQL("count(DISTINCT {0}) > 1 OR count({0}) < count(*)").format(sql.Identifier(name))
        for name in owner.columns
    ]
    count = sql.SQL(
        "SELECT coalesce(sum(n), 0)::bigint FROM (SELECT count(*) AS n FROM {table} WHERE {present} "
        "GROUP BY {names} HAVING count(*) > 1 AND ({differ})) d"
    ).format(
        table=table_name(table),
        present=present(key),
        names=sql.SQL(", ").join(map(sql.Identifier, key)),
        differ=sql.SQL(" OR ").join(differ),
    )
    message = "share it with rows of another owner, or of none: answers look for rows of the same owner only"
    return Probe("warning", f"{table.name}.{', '.join(key)}", message, count)


def _fanout(table: Table, declared: DeclaredForeignKey, most: int) -> Probe:
    """Rows beyond the fan-out; a NULL references nothing."""
    count = beyond(table, declared.columns, sql.SQL("n - {}").format(sql.Literal(most)), most)
    subject = f"{table.name}.{', '.join(declared.columns)}"
    return Probe("error", subject, f"exceed the declared fan-out of {most}: {_COSTS}", count)


def _rows_per_unit(table: Table, relation: str, most: int, policy: Policy, schema: Schema) -> Iterator[Probe]:
    """Rows beyond what one unit owns, each row counted once for each of its owners, as in answers."""
    one = _alone(table, policy, schema)
    keys = [] if one is None else [owner.key for owner in one.owners if owner.relation == relation]
    if one is None or not keys:
        return
    owners = parse_one("(SELECT DISTINCT u FROM UNNEST(ARRAY[]) AS k(u) WHERE u IS NOT NULL)", dialect="postgres")
    next(owners.find_all(exp.Array)).set("expressions", keys)
    owned = (
        one.rows()
        .select(exp.column("u", table="o"))
        .join(exp.Lateral(this=owners, alias=exp.TableAlias(this=exp.to_identifier("o"))), join_type="cross")
    )
    text = (
        f"SELECT coalesce(sum(n - {most}), 0)::bigint FROM "
        f"(SELECT count(*) AS n FROM ({to_sql(owned)}) r GROUP BY u HAVING count(*) > {most}) d"
    )
    message = f"exceed the declared {most} rows per unit of {relation}: {_COSTS}"
    yield Probe("error", table.name, message, text.encode())


def _exceeding(table: Table, amount: str, most: float, policy: Policy, schema: Schema) -> Iterator[Probe]:
    """Units above `at_most`: of rows, in one period or in all, or of a column's absolute values, as in sums."""
    one = _alone(table, policy, schema)
    is_rows = amount == ROWS or amount in ROWS_PER
    if one is None or len(one.owners) != 1 or not (is_rows or table.column(amount)):
        return
    period = exp.null() if amount not in ROWS_PER else _period(one.entry, ROWS_PER[amount], policy)
    if period is None:
        return
    added: exp.Expr = exp.Literal.number(1)
    if not is_rows:
        value: exp.Expr = cast_sql(bound_column(one.entry.alias, amount), "DOUBLE PRECISION")
        declared = policy.column(table.name, amount).range
        if declared is not None:
            low, high = (number_sql(Decimal(repr(end))) for end in declared)
            beyond = exp.Case().when(exp.LT(this=value, expression=low), low)
            value = beyond.when(exp.GT(this=copied(value), expression=high), high).else_(copied(value))
        added = exp.Abs(this=value)
    owned = one.rows().select(exp.alias_(one.owners[0].key, "u"), exp.alias_(added, "x"), exp.alias_(period, "p"))
    text = (
        f"SELECT count(DISTINCT u)::bigint FROM (SELECT u FROM ({to_sql(owned)}) r WHERE u IS NOT NULL"
        f"{' AND p IS NOT NULL' if amount in ROWS_PER else ''} GROUP BY u, p HAVING sum(x) > {most!r}) d"
    )
    what = f"of {amount}" if not is_rows else f"rows in one {ROWS_PER[amount]}" if amount in ROWS_PER else "rows"
    message = f"people exceed the at_most of {most:,.15g} {what}: {_MISSES}"
    yield Probe("warning", f"{table.name}.at_most.{amount}", message, text.encode())


def _period(entry: BoundTable, unit: str, policy: Policy) -> exp.Expr | None:
    """The first moment of a row's day, week, ..., at UTC; None without `append_only`."""
    grows = policy.tables[entry.table.name].append_only
    column = None if grows is None else entry.table.column(grows.column)
    if column is None:
        return None
    moment: exp.Expr = bound_column(entry.alias, column.name)
    if sql_type(column.type).family is Family.TIMESTAMPTZ:
        moment = exp.AtTimeZone(this=moment, zone=exp.Literal.string("UTC"))
    return exp.TimestampTrunc(this=cast_sql(moment, "TIMESTAMP"), unit=exp.var(unit.upper()))


def _too_deep(table: Table, policy: Policy, schema: Schema) -> Iterator[Probe]:
    """Rows that no answer counts because a chain above them is longer than its depth.

    A row with a broken chain is counted with the declared foreign key.
    """
    one = _alone(table, policy, schema)
    if one is None or not one.found.ends:
        return
    present = [
        exp.and_(*(exp.column(name, alias).is_(exp.null()).not_() for alias, name in end)) for end in one.found.ends
    ]
    deep = complete_provenance(join_tables([one.entry], []), one.found.completions)
    deep = deep.select(exp.Count(this=exp.Star()))
    message = "have a chain of references longer than the declared depth: no answer counts them"
    yield Probe("warning", table.name, message, to_sql(deep.where(exp.or_(*present))).encode())


@dataclass(frozen=True)
class _Alone:
    """A table as the only one of a question, with the owners of its rows."""

    entry: BoundTable
    found: Provenance
    owners: tuple[Owner, ...]

    def rows(self) -> exp.Select:
        """The rows that answers may count, without a select list."""
        return complete_provenance(join_tables([self.entry], []), self.found.completions, self.found.ends)


def _alone(table: Table, policy: Policy, schema: Schema) -> _Alone | None:
    """The table's owners; None if the policy is wrong, which the validation reports."""
    entry = BoundTable(generated_alias(table.relation, 0), table.name, table)
    owning = [key for key in policy.foreign_keys if key.owning]
    ends = [*policy.privacy_units.items(), *((key.table, key.columns) for key in owning)]
    ends += [(key.references, key.key) for key in owning]
    if not all(name in schema.tables and all(map(schema.tables[name].column, columns)) for name, columns in ends):
        return None
    try:
        found = provenance(BoundQuery((entry,), (), (), (), Display()), schema, policy)
        return _Alone(entry, found, tuple(owner_sql(owner, found.equalities) for owner in found.owners))
    except PlannerError:
        return None


def lost_rows(policy: Policy, schema: Schema) -> Iterator[Probe]:
    """Rows without their parent, shared owning keys, and rows without an owner.

    Rows without their parent are counted per foreign key that the database does not enforce over every row, if it
    owns or lists groups. Rows without an owner are counted per table.
    Cost: one join each; one sort for shared keys.
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
                    message = "share a key that a foreign key references: joins would multiply them"
                    yield shared_key(parent, key.key, message)
            elif name in policy.tables and not policy.is_public(name) and policy.is_public(parent.name):
                yield _outside(table, parent, key)
    for name in policy.tables:
        if name in schema.tables and not policy.is_public(name):
            yield from _without_owner(schema.tables[name], policy, schema)


def _orphans(table: Table, parent: Table, key: ForeignKey, policy: Policy, ownership: Ownership) -> Probe:
    """Rows without their owner's row.

    If the key is the unit's own and the unit has no owner, a question about this table alone reads the owner from the
    row (`planner.sensitivity.provenance`). An orphan then counts as a person without a row.
    """
    unit = ownership.unit_key(parent.name) or ownership.orphan_key(parent.name)
    direct = unit is not None and set(unit) == set(key.key) and not ownership.owning_keys(parent.name)
    counted = (
        f"answers count them as separate people, and only without {parent.name} in the join"
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
        f"have no row in {parent.name}, which owns them{_unproven(table, key)}: {counted}",
        _without_parent(table, parent, key),
        None if declared is None else declared.accepted_orphans,
        f"add `accepted_orphans = {{rows}}` to {place}"
        if declared is not None
        else f"write {place} with `accepted_orphans = {{rows}}`; a draft has it in a comment",
    )


def _outside(table: Table, parent: Table, key: ForeignKey) -> Probe:
    return Probe(
        "warning",
        f"{table.name}.{', '.join(key.columns)}",
        f"have no row in {parent.name}{_unproven(table, key)}: answers that join it, or group by its key, leave the "
        "rows out",
        _without_parent(table, parent, key),
    )


def _unproven(table: Table, key: ForeignKey) -> str:
    """The reason, if the database has the key but not over every row."""
    return ", although the database has the key, not enforced over every row" if key in table.unproven_keys else ""


def _without_parent(table: Table, parent: Table, key: ForeignKey) -> sql.Composed:
    """The number of rows without a parent. A row with a NULL in the key references nothing and is not counted."""
    pairs = zip(key.columns, key.key, strict=True)
    matches = sql.SQL(" AND ").join(
        sql.SQL("p.{} = t.{}").format(sql.Identifier(theirs), sql.Identifier(ours)) for ours, theirs in pairs
    )
    return sql.SQL(
        "SELECT count(*) FROM {table} t WHERE {present} AND NOT EXISTS (SELECT 1 FROM {parent} p WHERE {matches})"
    ).format(table=table_name(table), present=present(key.columns, "t."), parent=table_name(parent), matches=matches)


def _without_owner(table: Table, policy: Policy, schema: Schema) -> Iterator[Probe]:
    """Rows that are kept but hold no owner's key; none if an owning key can never be NULL."""
    one = _alone(table, policy, schema)
    if one is None:
        return
    known = one.found.equalities.known
    if any(owner.orphan_of or all(map(known, owner.columns)) for owner in one.found.owners):
        return
    absent = [owner.key.is_(exp.null()) for owner in one.owners]
    rows = one.rows().select(exp.Count(this=exp.Star())).where(exp.and_(*absent))
    yield Probe(
        "warning",
        table.name,
        "have no owner, since their owning keys are NULL: no answer counts them",
        to_sql(rows).encode(),
        policy.tables[table.name].accepted_null_owners,
        f"add `accepted_null_owners = {{rows}}` to {section_of(table.name, policy.schemas)}, or "
        "`rows_are_units = true` if each is a privacy unit of its own",
    )


_SEVERITIES = ("error", "warning", "accepted")


def check_policy(
    custody: Custody,
    policy: Policy,
    schema: Schema,
    announce: Callable[[str], None] = lambda _: None,
) -> tuple[Finding, ...]:
    """Compare a policy with the catalog and the rows. Returns the findings, errors first; none if all is well.

    Args:
      custody: in one read-only snapshot, as a role that may read every table of the policy.
      schema: with the policy's views declared (`Schema.declaring`).
      announce: is called with what is counted next.
    Raises: BackendFailed if the database refuses to count.
    Cost: one scan per range and per domain. One sort per key without a constraint, per fan-out and per
      `rows_per_unit`. One join per owning foreign key without a constraint, per table with possible rows without an
      owner, and per table below a depth.
    """
    grants = custody.grants(policy.namespaces, policy.tables)
    findings = [*_structure(policy, schema, f"as the database's owner: {grants}" if grants else None)]
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
    """What to count, without tables and columns that the catalog lacks: the validation names those."""
    schema = with_declared_keys(schema, policy)
    return (
        *_unit_probes(policy, schema),
        *key_probes(schema),
        *_rows_probes(policy, schema),
        *_column_probes(policy, schema),
        *lost_rows(policy, schema),
        *fanout_probes(policy, schema),
    )


def _structure(policy: Policy, schema: Schema, granting: str | None) -> Iterator[Finding]:
    try:
        validate(policy, schema)
        check_declared_views(policy, schema)
    except PolicyInvalid as error:
        heading, *problems = error.message.splitlines()
        for problem in problems or [heading]:
            subject, colon, message = problem.removeprefix("- ").partition(": ")
            said = (subject, message) if colon else ("policy", problem)
            step = granting if "may not read it" in said[1] else None
            yield Finding("error", *said, next_step=step, stops=True)


def _views(policy: Policy, schema: Schema) -> Iterator[Finding]:
    """Views of the policy's tables that cannot be queried."""
    for view in examined_views(with_declared_keys(schema, policy), policy):
        if isinstance(view, RefusedView) and not view.reads_unnamed:
            yield Finding("warning", view.name, view.reason if view.hint is None else f"{view.reason}; {view.hint}")


def _run(custody: Custody, probe: Probe) -> Finding | None:
    """Count the rows of a probe."""
    try:
        rows = custody.count(probe.count)
    except Misfit:
        return Finding("error", probe.subject, "the declaration does not fit the column's type")
    except BackendFailed as error:
        raise BackendFailed(f"the database could not count the rows of {probe.subject}", hint=error.hint) from error
    return probe.finding(rows) if rows else None


def _unit_probes(policy: Policy, schema: Schema) -> Iterator[Probe]:
    """A unit's key must be unique and not NULL."""
    for relation, key in policy.privacy_units.items():
        table = schema.tables.get(relation)
        if table is None or any(table.column(column) is None for column in key):
            continue
        message = "have a NULL in the privacy unit's key, so they have no owner and no answer counts them"
        where = sql.SQL(" OR ").join(sql.SQL("{} IS NULL").format(sql.Identifier(column)) for column in key)
        yield Probe("warning", f"{relation}.{', '.join(key)}", message, _count(table, where))
        if not any(set(unique) <= set(key) for unique in table.keys):
            yield shared_key(table, key, "share a privacy unit's key: several people would be protected as one")


def _rows_probes(policy: Policy, schema: Schema) -> Iterator[Probe]:
    """No table may have more rows than its declared public number."""
    for name, declared in policy.tables.items():
        if declared.rows is not None and name in schema.tables:
            count = sql.SQL("SELECT greatest(count(*) - {}, 0) FROM {}").format(
                sql.Literal(declared.rows), table_name(schema.tables[name])
            )
            message = f"exceed the declared {declared.rows} rows, on which planned durations rest"
            yield Probe("error", name, message, count)


def _column_probes(policy: Policy, schema: Schema) -> Iterator[Probe]:
    """Values lie in their ranges and domains, and on their steps. `other` accepts values outside of a domain."""
    for name, declared in policy.tables.items():
        table = schema.tables.get(name)
        for column, says in declared.columns.items():
            found = None if table is None else table.column(column)
            severity: Severity = "warning" if says.other is None or says.range is not None else "accepted"
            if table is not None and found is not None:
                for where, message in _misfits(found, says):
                    yield Probe(severity, f"{table.name}.{column}", message, _count(table, where))


def _misfits(column: Column, declared: ColumnPolicy) -> Iterator[tuple[sql.Composed, str]]:
    """Conditions on a value that is not as declared. NaN is outside every range, NULL inside each."""
    named = sql.Identifier(column.name)
    kept = declared.other is not None
    grouped = f"answers grouped by it {'count them in the group for other values' if kept else 'leave the rows out'}"
    if declared.forms:
        known = [sql.SQL("{} ~ {}").format(named, sql.Literal(moment_form(form))) for form in declared.forms]
        where = sql.SQL("NOT ({})").format(sql.SQL(" OR ").join(known))
        yield where, f"that state no date as {' or '.join(declared.forms)}: questions read these texts as NULL"
        return
    if declared.dates is not None:  # days count, at UTC as in answers
        first, last = declared.dates
        zoned = sql_type(column.type).family is Family.TIMESTAMPTZ
        moment = sql.SQL("({} AT TIME ZONE 'UTC')" if zoned else "{}").format(named)
        yield (
            sql.SQL("NOT ({moment} >= {first}::date AND {moment} < {last}::date + 1)").format(
                moment=moment, first=sql.Literal(first.isoformat()), last=sql.Literal(last.isoformat())
            ),
            f"outside the range [{first}, {last}]: {grouped}, but conditions see their values",
        )
    if declared.range is not None:
        low, high = declared.range
        ends = (sql.Literal(Decimal(repr(end))) for end in declared.range)
        fractions = sql_type(column.type).family is not Family.INTEGER
        nan, left_out = (" or NaN", ", or leave NaN out,") if fractions else ("", "")
        yield (
            sql.SQL("NOT ({column} >= {} AND {column} <= {})").format(*ends, column=named),
            f"outside the range [{low:g}, {high:g}]{nan}: sums use its nearest end{left_out} and {grouped}",
        )
        if isinstance(declared.step, int) and declared.step > 1:  # a moment belongs to the month that it is in
            origin, step = sql.Literal(Decimal(repr(low))), sql.Literal(declared.step)
            where = sql.SQL("({} - {}) % {} <> 0").format(named, origin, step)
            yield where, f"off the declared step of {declared.step}: {grouped}"
    if declared.domain is not None:  # compared as the column's type, as the text of a literal would be
        listed = sql.SQL(", ").join(sql.Literal(str(value)) for value in declared.domain)
        where = sql.SQL("{} NOT IN ({})").format(named, listed)
        yield where, f"outside the declared domain: {grouped}"


def _count(table: Table, where: sql.Composed) -> sql.Composed:
    return sql.SQL("SELECT count(*) FROM {} t WHERE {}").format(table_name(table), where)
