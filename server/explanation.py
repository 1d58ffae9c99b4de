"""What a query would do and cost, from public facts only: no row count, no estimate, no observed range."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from planner.bound_query import BoundQuery
from planner.plan import BackendQuery, Plan
from planner.provenance import Provenance
from planner.rewrite import to_sql
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
        group_sources=tuple(_group_source(plan, bound, index) for index in range(len(plan.group_keys))),
        groups_reason=_groups_reason(plan, n_groups),
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


def _group_source(plan: Plan, bound: BoundQuery, index: int) -> tuple[str, str]:
    """The key, where the groups that it makes come from, and which rows fall into none."""
    domain = next(one for one in plan.domains if index in one.keys)
    if domain.values is not None:
        source = domain.why.format(n=len(domain.values))
    elif index == domain.keys[0]:
        assert domain.statement is not None, "a domain has either values or a statement"
        source = f"{domain.why}: {to_sql(domain.statement)}"
    else:
        source = f"{domain.why}, together with {bound.keys[domain.keys[0]].value.sql('postgres')}"
    note = plan.group_keys[index].left_out
    return bound.keys[index].value.sql("postgres"), source if note is None else f"{source}. {note}"


def _groups_reason(plan: Plan, n_groups: int) -> str:
    """Why one unit reaches at most L0 groups, and what of a release's epsilon each of them has for that."""
    why = _reach_reason(plan)
    reached = n_groups if plan.groups_per_unit is None else min(plan.groups_per_unit, n_groups)
    if not plan.group_keys or reached <= 1:
        return f"{why}; each group has all of its release's epsilon"
    return f"{why}; each group has 1/{reached} of its release's epsilon, so its noise is {reached} times as large"


def _reach_reason(plan: Plan) -> str:
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
