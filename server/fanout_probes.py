"""Do the rows keep the fan-outs that a policy promises? Delta rests on them, and what sampling may claim."""

from __future__ import annotations

from collections.abc import Iterator

from psycopg import sql
from sqlglot import exp, parse_one

from planner.bound_query import BoundQuery, BoundTable
from planner.errors import PlannerError
from planner.owner_sql import owner_sql
from planner.policy import DeclaredForeignKey, Policy
from planner.provenance import provenance
from planner.rewrite import to_sql
from planner.rules.complete_provenance import complete_provenance
from planner.rules.join_tables import join_tables
from planner.schema import Schema, Table
from planner.scope import generated_alias
from server.probe import Probe


def fanout_probes(policy: Policy, schema: Schema) -> Iterator[Probe]:
    """One probe per declared fan-out and per declared number of rows that one unit owns.

    Cost of each: one sort of the table, joined with its owners for the latter.
    """
    for declared in policy.foreign_keys:
        table = schema.tables.get(declared.table)
        if declared.fanout is not None and table is not None and all(map(table.column, declared.columns)):
            yield _fanout(table, declared, declared.fanout)
    for name, settings in policy.tables.items():
        for relation, most in settings.rows_per_unit.items():
            if name in schema.tables and relation in schema.tables:
                yield from _rows_per_unit(schema.tables[name], relation, most, policy, schema)


def _fanout(table: Table, declared: DeclaredForeignKey, most: int) -> Probe:
    """Rows beyond the fan-out; NULL references nothing and joins nothing."""
    names = sql.SQL(", ").join(map(sql.Identifier, declared.columns))
    present = sql.SQL(" AND ").join(
        sql.SQL("{} IS NOT NULL").format(sql.Identifier(name)) for name in declared.columns
    )
    count = sql.SQL(
        "SELECT coalesce(sum(n - {most}), 0)::bigint FROM "
        "(SELECT count(*) AS n FROM {table} WHERE {present} GROUP BY {names} HAVING count(*) > {most}) d"
    ).format(
        most=sql.Literal(most),
        table=sql.SQL("{}.{}").format(sql.Identifier(table.namespace), sql.Identifier(table.name)),
        present=present,
        names=names,
    )
    subject = f"{table.name}.{', '.join(declared.columns)}"
    return Probe("error", subject, f"more than the declared fan-out of {most}: a promise that Delta rests on", count)


def _rows_per_unit(table: Table, relation: str, most: int, policy: Policy, schema: Schema) -> Iterator[Probe]:
    """Rows beyond what one unit owns, each row counted once for each of its owners, as answers see them."""
    entry = BoundTable(generated_alias(table.name, 0), table.name, table)
    try:
        found = provenance(BoundQuery((entry,), (), (), (), ()), schema, policy)
        keys = [owner_sql(owner, found.equalities).key for owner in found.owners if owner.relation == relation]
    except PlannerError:  # the validation says what is wrong with the policy
        return
    if not keys:
        return
    source = complete_provenance(join_tables([entry], []), found.completions, found.ends)
    owners = parse_one("(SELECT DISTINCT u FROM UNNEST(ARRAY[]) AS k(u) WHERE u IS NOT NULL)", dialect="postgres")
    next(owners.find_all(exp.Array)).set("expressions", keys)
    owned = source.select(exp.column("u", table="o")).join(
        exp.Lateral(this=owners, alias=exp.TableAlias(this=exp.to_identifier("o"))), join_type="cross"
    )
    text = (
        f"SELECT coalesce(sum(n - {most}), 0)::bigint FROM "
        f"(SELECT count(*) AS n FROM ({to_sql(owned)}) r GROUP BY u HAVING count(*) > {most}) d"
    )
    message = f"one unit of {relation} owns more than the declared {most} rows: a promise that Delta rests on"
    yield Probe("error", table.name, message, text.encode())
