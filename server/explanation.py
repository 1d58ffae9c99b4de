"""What a query would do and cost, from public facts only: no row count, no estimate, no observed range."""

from __future__ import annotations

from collections.abc import Sequence

from planner.plan import BackendQuery, Plan
from privacy.mechanisms.measurement import Measurement
from server.amplification import amplified_epsilon
from server.query import Explanation, ResultColumn


def explanation(plan: Plan, query: BackendQuery, measurements: Sequence[Measurement], n_groups: int) -> Explanation:
    """Describe a plan.

    Args:
      plan, query: what would be run.
      measurements: one per release; their expected noise is a function of the threshold tau, since the
        threshold that will be chosen depends on private data.
      n_groups: how many public groups there are; where one unit may reach them all, they share its epsilon.
    """
    rate = plan.sampling.rate if plan.sampling else 1.0
    return Explanation(
        rewritten_sql=";\n\n".join(statement for statement in (query.join, *query.distinct) if statement),
        privacy_units=tuple(dict.fromkeys(owner.relation for owner in plan.owners)),
        owners=tuple(f"{owner.relation}: {owner.key.sql('postgres')}" for owner in plan.owners),
        weight_bounds=tuple((release.label, release.weight_bound) for release in plan.releases),
        groups_per_unit=plan.groups_per_unit,
        mechanism=plan.mechanism,
        reason=plan.reason,
        epsilon=plan.epsilon,
        delta=plan.delta,
        expected_noise=tuple(
            (
                release.label,
                tuple(
                    (release.weight_bound * tau / rate, release.weight_bound * half_width / rate)
                    for tau, half_width in measured.expected_noise(n_groups)
                ),
            )
            for release, measured in zip(plan.releases, measurements, strict=True)
        ),
        columns=tuple(ResultColumn(output.name, output.type) for output in plan.outputs),
        tuples_per_unit=plan.tuples_per_unit,
        sampling=plan.sampling.reason if plan.sampling else None,
        sampling_rate=plan.sampling.rate if plan.sampling else None,
        amplified_epsilon=amplified_epsilon(plan),
    )
