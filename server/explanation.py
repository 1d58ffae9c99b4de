"""What a query would do and cost, from public facts only: no row count, no estimate, no observed range."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from planner.bound_query import BoundKey, BoundQuery
from planner.plan import BackendQuery, GroupKey, Plan
from planner.provenance import Provenance
from privacy.mechanisms.measurement import Measurement
from server.advice_text import sampling_advice
from server.join_graph import join_conditions, joined_tables, ownership_paths
from server.query import Explanation, ReleaseMechanism, ResultColumn

_ROUNDING = 1 + 1e-5  # budgets are searched for to within a millionth


def explanation(
    bound: BoundQuery,
    found: Provenance,
    plan: Plan,
    query: BackendQuery,
    measurements: Sequence[Measurement],
    n_groups: int,
    whole: Sequence[Measurement] = (),
) -> Explanation:
    """Describe a plan.

    Args:
      bound, found: what the plan was made from, and who owns its join tuples.
      plan, query: what would be run.
      measurements: one per release; their expected noise is a function of the threshold tau, since the
        threshold that will be chosen depends on private data.
      n_groups: how many public groups there are; where one unit may reach them all, they share its epsilon.
      whole: the same measurements for all join tuples, to advise about sampling with; empty for no advice.
    """
    return Explanation(
        rewritten_sql=";\n\n".join(_statements(query)),
        privacy_units=tuple(dict.fromkeys(owner.relation for owner in plan.owners)),
        owners=tuple(f"{owner.relation}: {owner.key.sql('postgres')}" for owner in plan.owners),
        weight_bounds=tuple((release.label, release.weight_bound) for release in plan.releases),
        groups_per_unit=plan.groups_per_unit,
        mechanism=plan.mechanism,
        reason=plan.reason,
        epsilon=plan.epsilon,
        delta=plan.delta,
        expected_noise=tuple(_noise(plan, measurements, n_groups)),
        columns=tuple(ResultColumn(output.name, output.type) for output in plan.outputs),
        tuples_per_unit=plan.tuples_per_unit,
        sampling=plan.sampling.reason if plan.sampling else None,
        sampling_rate=plan.sampling.rate if plan.sampling else None,
        sampling_advice=tuple(sampling_advice(plan, measurements, whole, n_groups)),
        epsilon_if_fanouts_fail=_epsilon_if_fanouts_fail(plan, measurements, n_groups),
        tables=joined_tables(bound, found),
        conditions=join_conditions(bound, found),
        ownership=ownership_paths(found),
        n_groups=n_groups,
        group_sources=tuple(_group_source(key, by) for key, by in zip(plan.group_keys, bound.keys, strict=True)),
        groups_reason=_groups_reason(plan),
        mechanisms=tuple(
            ReleaseMechanism(release.label, measured.name, release.epsilon, _mechanism_reason(measured))
            for release, measured in zip(plan.releases, measurements, strict=True)
        ),
    )


def _statements(query: BackendQuery) -> Iterator[str]:
    """Every statement that would read private rows."""
    if query.join is not None:
        yield query.join
    yield from (statement for statement in query.distinct if statement is not None)


def _noise(
    plan: Plan, measurements: Sequence[Measurement], n_groups: int
) -> Iterator[tuple[str, tuple[tuple[float, float], ...]]]:
    """Per release, (tau, half-width at 95%) in the answer's own unit; a sample's are those of the whole."""
    rate = plan.sampling.rate if plan.sampling else 1.0
    for release, measured in zip(plan.releases, measurements, strict=True):
        unit = release.weight_bound / rate
        yield release.label, tuple((unit * tau, unit * half) for tau, half in measured.expected_noise(n_groups))


def _epsilon_if_fanouts_fail(plan: Plan, measurements: Sequence[Measurement], n_groups: int) -> float | None:
    """g(infinity) of all releases; None where no release rests on declared fan-outs."""
    worst = math.fsum(measured.epsilon_if_bound_fails(n_groups) for measured in measurements)
    return worst if worst > plan.epsilon * _ROUNDING else None


def _group_source(key: GroupKey, bound: BoundKey) -> tuple[str, str]:
    """The key, and where the groups that it makes come from."""
    sql = bound.value.sql("postgres")
    if key.domain is not None:
        return sql, f"read from a public table: {key.domain.sql('postgres')}"
    assert key.values is not None, "a domain is enumerated or known"
    why = "the policy declares" if bound.values is None else "the expression can have"
    return sql, f"{why} {len(key.values)} values"


def _groups_reason(plan: Plan) -> str:
    """Why one unit reaches at most L0 groups."""
    if not plan.group_keys:
        return "there is one group"
    if plan.groups_per_unit is None:
        return "the group keys do not follow from a unit's key, so one unit may reach every group"
    if plan.groups_per_unit == 1:
        return "the group keys follow from the unit's key"
    return "the group keys follow from the unit's key, in one way for each place that it may stand in"


def _mechanism_reason(measured: Measurement) -> str:
    """Why this mechanism releases."""
    if measured.name == "fixed":
        return "one unit reaches one value at most, so the threshold is 1 and nothing is selected"
    if measured.name == "r2t":
        return "races thresholds up to the declared global sensitivity; the answer is a lower bound"
    if measured.name == "s4s":
        return "races thresholds up to what one unit's tuples can reach; the answer is a lower bound"
    return "selects one threshold, then releases once"
