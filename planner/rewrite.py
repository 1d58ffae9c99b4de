"""A Plan to the statements that the database gets."""

from __future__ import annotations

from sqlglot import ErrorLevel, exp

from planner.plan import BackendQuery, Plan, Release
from planner.rules.compact_distinct import compact_distinct
from planner.rules.compact_provenance import compact_provenance


def rewrite(plan: Plan) -> BackendQuery:
    """Write the plan as SQL for PostgreSQL: one statement for all sums, one for each count of distinct values.

    Returns: text that depends on the plan only; every identifier is quoted, every literal was read by the planner.
    Cost: about 2 ms for TPC-H Q5.
    """
    summed = [release.weight for release in plan.releases if release.distinct is None]
    return BackendQuery(
        join=_summed(plan, summed) if summed else None,
        distinct=tuple(_distinct(plan, release) for release in plan.releases),
        relations=tuple(owner.relation for owner in plan.owners),
        domains=tuple(None if key.domain is None else to_sql(key.domain) for key in plan.group_keys),
        values=tuple(key.values for key in plan.group_keys),
        n_releases=len(summed),
        fingerprint=plan.fingerprint,
    )


def _summed(plan: Plan, weights: list[exp.Expression]) -> str:
    owners, keys = [owner.key for owner in plan.owners], [key.key for key in plan.group_keys]
    return to_sql(compact_provenance(plan.source, owners, keys, weights))


def _distinct(plan: Plan, release: Release) -> str | None:
    if release.distinct is None:
        return None
    owners, keys = [owner.key for owner in plan.owners], [key.key for key in plan.group_keys]
    return to_sql(compact_distinct(plan.source, owners, keys, release.distinct, release.weight))


def to_sql(tree: exp.Expr, *, pretty: bool = False) -> str:
    """SQL of a tree; raises rather than drop what the dialect lacks."""
    return tree.sql("postgres", unsupported_level=ErrorLevel.RAISE, comments=False, pretty=pretty)
