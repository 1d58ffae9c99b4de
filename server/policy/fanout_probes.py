"""Do the rows keep what a policy promises of their number and depth? Delta rests on the numbers, and so does the
charge of a sample; answers leave out what is too deep."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from psycopg import sql
from sqlglot import exp, parse_one

from planner.binding.bound_query import BoundQuery, BoundTable
from planner.binding.scope import generated_alias
from planner.errors import PlannerError
from planner.policy.policy import ROWS, DeclaredForeignKey, Policy
from planner.rewriting.rewrite import to_sql
from planner.rules.complete_provenance import complete_provenance
from planner.rules.join_tables import join_tables
from planner.schema import Schema, Table
from planner.sensitivity.provenance import Provenance, owner_sql, provenance
from planner.sql.columns import bound_column
from planner.sql.literals import number_sql
from planner.sql.sql_nodes import cast_sql
from planner.sql.trees import copied
from server.policy.finding import Probe

_COSTS = "samples are charged too little, see epsilon_if_fanouts_fail of EXPLAIN"
"""What a false promise does: Delta rests on it."""


_MISSES = "intervals that are said to cover the truth may miss it"
"""What a false `at_most` does: accuracy rests on it, and nothing else."""


def fanout_probes(policy: Policy, schema: Schema) -> Iterator[Probe]:
    """One probe per declared fan-out, per declared number of rows that one unit owns, per amount that nobody is said
    to exceed, and per table below a depth.

    A fan-out is counted over all rows of its table. The rows that one unit owns are counted where they stand, as
    `planner.sensitivity.provenance` defines it: the same rows whatever a question joins them with, so the number
    holds for each position of the table in a join. A unit that holds several positions of one row owns it once.
    Cost of each: one sort of the table, joined with the rows above it for the latter two.
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
        if name in schema.tables and not settings.public:
            yield from _too_deep(schema.tables[name], policy, schema)


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
        table=sql.Identifier(table.namespace, table.relation),
        present=present,
        names=names,
    )
    subject = f"{table.name}.{', '.join(declared.columns)}"
    return Probe("error", subject, f"more than the declared fan-out of {most}: {_COSTS}", count)


def _rows_per_unit(table: Table, relation: str, most: int, policy: Policy, schema: Schema) -> Iterator[Probe]:
    """Rows beyond what one unit owns, each row counted once for each of its owners, as answers see them."""
    entry, found = alone(table, policy, schema)
    if found is None:
        return
    try:
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
    message = f"one unit of {relation} owns more than the declared {most} rows: {_COSTS}"
    yield Probe("error", table.name, message, text.encode())


def _exceeding(table: Table, amount: str, most: float, policy: Policy, schema: Schema) -> Iterator[Probe]:
    """Units that have more than `at_most` says: of rows, or of a column's absolute values as sums count them."""
    entry, found = alone(table, policy, schema)
    if found is None or len(found.owners) != 1 or (amount != ROWS and table.column(amount) is None):
        return
    try:
        key = owner_sql(found.owners[0], found.equalities).key
    except PlannerError:  # the validation says what is wrong with the policy
        return
    added: exp.Expr = exp.Literal.number(1)
    if amount != ROWS:
        value: exp.Expr = cast_sql(bound_column(entry.alias, amount), "DOUBLE PRECISION")
        declared = policy.column(table.name, amount).range
        if declared is not None:
            low, high = (number_sql(Decimal(repr(end))) for end in declared)
            beyond = exp.Case().when(exp.LT(this=value, expression=low), low)
            value = beyond.when(exp.GT(this=copied(value), expression=high), high).else_(copied(value))
        added = exp.Abs(this=value)
    source = complete_provenance(join_tables([entry], []), found.completions, found.ends)
    owned = source.select(exp.alias_(key, "u"), exp.alias_(added, "x"))
    text = (
        "SELECT count(*)::bigint FROM "
        f"(SELECT u FROM ({to_sql(owned)}) r WHERE u IS NOT NULL GROUP BY u HAVING sum(x) > {most!r}) d"
    )
    what = "rows" if amount == ROWS else f"of {amount}"
    message = f"people have more than the {most:,.15g} {what} that at_most says nobody exceeds: {_MISSES}"
    yield Probe("warning", f"{table.name}.at_most.{amount}", message, text.encode())


def _too_deep(table: Table, policy: Policy, schema: Schema) -> Iterator[Probe]:
    """Rows that no answer counts although all rows above them are there: a chain above them is longer than its depth.

    A row that some chain leaves without a parent is counted where the declared foreign key is.
    """
    entry, found = alone(table, policy, schema)
    if found is None or not found.ends:
        return
    present = [
        exp.and_(*(exp.column(name, alias).is_(exp.null()).not_() for alias, name in end)) for end in found.ends
    ]
    deep = complete_provenance(join_tables([entry], []), found.completions).select(exp.Count(this=exp.Star()))
    message = "behind a chain of references that is longer than the declared depth: no answer counts them"
    yield Probe("warning", table.name, message, to_sql(deep.where(exp.or_(*present))).encode())


def alone(table: Table, policy: Policy, schema: Schema) -> tuple[BoundTable, Provenance | None]:
    """The table as the only one of a question, with the owners of its rows; None where the policy is wrong."""
    entry = BoundTable(generated_alias(table.relation, 0), table.name, table)
    if not _is_whole(policy, schema):
        return entry, None
    try:
        return entry, provenance(BoundQuery((entry,), (), (), (), ()), schema, policy)
    except PlannerError:  # the validation says what is wrong with it
        return entry, None


def _is_whole(policy: Policy, schema: Schema) -> bool:
    """Does the catalog have every column that the policy makes owners of? If not, the validation names it."""
    ends = [*policy.privacy_units.items(), *(end for key in policy.foreign_keys for end in _ends(key))]
    return all(name in schema.tables and all(map(schema.tables[name].column, columns)) for name, columns in ends)


def _ends(key: DeclaredForeignKey) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Both tables of a foreign key that owns, with their columns."""
    if key.owning:
        yield key.table, key.columns
        yield key.references, key.key
