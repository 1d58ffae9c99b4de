"""Contributions that a mirror keeps: what each person adds to the counts and sums over a whole table.

They change with the data version only, so no question needs to group the rows by person again. Two questions have the
same contributions if PostgreSQL's statements for them have the same text. Nothing else is compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from planner.binding.bind import bind
from planner.errors import PlannerError
from planner.parsing.parse import parse
from planner.plan import Plan
from planner.planning.make_plan import make_plan
from planner.policy.policy import Policy
from planner.rewriting.rewrite import contributions_sql, summed_weights
from planner.schema import Schema, Table, sql_identifier, sql_name
from planner.sql.trees import tables_of


@dataclass(frozen=True)
class KeptContributions:
    """The contributions to the sums over one table.

    Attributes:
      statement: PostgreSQL's: one row per person, columns o0, w0, ... Rows without an owner are one row, with NULL.
      alone: per column w0, ..., the statement for it alone, by which questions find it.
    """

    table: str
    statement: str
    alone: tuple[str, ...]


def contributions_alone(plan: Plan, schema: Schema) -> tuple[str, ...]:
    """PostgreSQL's statement for each sum's contributions alone, in the order of `summed_weights`.

    Empty for a question that reads anything else: groups, samples, several owners, values, or tables of released
    values, which have no schema. Also for one that needs no grouping, and for norms, whose shares are rounded row by
    row (`planner.rewriting.contributions`).
    """
    plain = plan.sampling is None and plan.selection is None and not plan.group_keys and len(plan.owners) == 1
    plain = plain and all(table.db for table in tables_of(plan.source))
    if not plain or plan.lone or plan.counts_norms or not all(release.is_sum for release in plan.releases):
        return ()
    return tuple(contributions_sql(plan, [weight], schema) for weight in summed_weights(plan))


def kept_contributions(schema: Schema, policy: Policy) -> Iterator[KeptContributions]:
    """The count of each private table's rows, and the sum and average of each column with a declared range.

    Tables whose rows have several owners, or whose people have one row each, are left out. So are views, whose rows
    may change within a data version.
    """
    for name in sorted(policy.tables.keys() & schema.tables.keys() - schema.views.keys()):
        if not policy.is_public(name) and (found := _of_table(schema.tables[name], schema, policy)) is not None:
            yield found


def _of_table(table: Table, schema: Schema, policy: Policy) -> KeptContributions | None:
    columns = [one.name for one in table.columns if policy.column(table.name, one.name).range is not None]
    of_columns = [f"{function}({sql_identifier(name)})" for name in columns for function in ("sum", "avg")]
    plans = [_planned(aggregate, table, schema, policy) for aggregate in ("count(*)", *of_columns)]
    first, weights = plans[0], dict[str, exp.Expr]()
    if first is None:
        return None
    for plan in filter(None, plans):
        for alone, weight in zip(contributions_alone(plan, schema), summed_weights(plan), strict=False):
            if contributions_sql(first, [weight], schema) == alone:
                weights[alone] = weight
    statement = contributions_sql(first, list(weights.values()), schema)
    return KeptContributions(table.name, statement, tuple(weights)) if weights else None


def _planned(aggregate: str, table: Table, schema: Schema, policy: Policy) -> Plan | None:
    try:
        bound = bind(parse(f"SELECT {aggregate} FROM {sql_name(table.name)}"), schema, policy)
        return make_plan(bound, schema, policy)
    except PlannerError:
        return None  # nobody can ask it
