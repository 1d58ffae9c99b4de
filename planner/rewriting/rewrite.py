"""A Plan to the statements that the database gets, in its own dialect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from sqlglot import exp

from planner.plan import BackendQuery, Plan, Release
from planner.rewriting.dialects.dialect_table import DIALECTS, DialectSql
from planner.rewriting.dialects.postgres import postgres_sql
from planner.rules.attach_late import attach_late
from planner.rules.compact_distinct import compact_distinct
from planner.rules.compact_provenance import compact_provenance
from planner.rules.compact_ranked import compact_ranked
from planner.rules.count_loads import LOADS, count_loads
from planner.rules.count_tuples import count_tuples
from planner.schema import Schema
from planner.sql.dialect import Dialect
from planner.sql.trees import quoted
from privacy.truncation.loads.load_histogram import histogram_thresholds

Write = Callable[[exp.Expr], str]


def rewrite(
    plan: Plan, *, dialect: Dialect = "postgres", schema: Schema | None = None, loads: bool = True
) -> BackendQuery:
    """Write the plan as SQL: one statement for all sums, one for each count of distinct values.

    Args:
      dialect: of the database that will run it.
      schema: the catalog that the plan was made for; DuckDB's statements depend on the columns' types.
      loads: may the database count how many units have how much, where that is enough? Otherwise units are read.
    Returns: text that depends on the plan only; every identifier is quoted, every literal was read by the planner.
    Raises: UnsupportedSQL for what the dialect cannot say with the same meaning.
    Cost: about 0.5 ms for TPC-H Q5.
    """
    write = partial(_written, DIALECTS[dialect], schema)
    summed = [release.weight for release in plan.releases if release.is_sum]
    if plan.selection is not None:
        summed.append(plan.selection.weight)
    counted = plan.sampling is not None and plan.sampling.alias is None
    by_loads = loads and plan.counts_loads
    thresholds = histogram_thresholds(plan.tuples_per_unit) if by_loads else ()
    join = write(_summed(plan, summed, counted)) if summed else None
    of_owners = _of_owners(plan, summed, write, schema) if by_loads else None
    return BackendQuery(
        join=join,
        loads=_loads(plan, len(summed), of_owners or join, thresholds, dialect) if by_loads else None,
        thresholds=thresholds,
        distinct=tuple(_distinct(plan, release, write) for release in plan.releases),
        relations=tuple(owner.relation for owner in plan.owners),
        domains=tuple(None if one.statement is None else write(one.statement) for one in plan.domains),
        values=tuple(domain.values for domain in plan.domains),
        n_releases=len(summed) + counted,
        fingerprint=plan.fingerprint,
        sampling_rate=plan.sampling.rate if plan.sampling else None,
        counted=counted,
        domain_keys=tuple(domain.keys for domain in plan.domains),
        columns=plan.columns,
        ranked=tuple(place for place, release in enumerate(plan.releases) if release.ranked is not None),
    )


def _written(dialect: DialectSql, schema: Schema | None, tree: exp.Expr) -> str:
    return dialect.question(tree, schema)


def _of_owners(plan: Plan, weights: list[exp.Expr], write: Write, schema: Schema | None) -> str | None:
    """What every unit has, where tables that only say more about it can be attached afterwards."""
    if schema is None:
        return None
    keys = [key.key for key in plan.group_keys]
    late = attach_late(plan.source, plan.owners[0].key, keys, weights, schema)
    return None if late is None else write(late)


def _loads(plan: Plan, n_weights: int, of_owners: str | None, thresholds: Sequence[int], dialect: Dialect) -> str:
    """How many units have how much, over what every unit has."""
    write = DIALECTS[dialect].loads
    counted = write(count_loads(len(plan.group_keys), n_weights, thresholds))
    return f"WITH {write(quoted(LOADS))} AS ({of_owners}) {counted}"


def _summed(plan: Plan, weights: list[exp.Expr], counted: bool) -> exp.Select:
    owners, keys = [owner.key for owner in plan.owners], [key.key for key in plan.group_keys]
    rule = count_tuples if counted else compact_provenance
    return rule(plan.source, owners, keys, weights)


def _distinct(plan: Plan, release: Release, write: Write) -> str | None:
    if release.is_sum:
        return None
    owners, keys = [owner.key for owner in plan.owners], [key.key for key in plan.group_keys]
    if release.ranked is not None:
        return write(compact_ranked(plan.source, owners, keys, release.ranked.place, release.weight))
    assert release.distinct is not None, "what is neither a sum nor a rank"
    return write(compact_distinct(plan.source, owners, keys, release.distinct, release.weight))


def to_sql(tree: exp.Expr, *, pretty: bool = False) -> str:
    """SQL of a tree as PostgreSQL reads it, for people and for PostgreSQL alone."""
    return postgres_sql(tree, pretty=pretty)
