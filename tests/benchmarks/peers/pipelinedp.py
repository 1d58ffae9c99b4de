"""PipelineDP in memory: one public partition, so many rows per patient, costs clamped."""

from __future__ import annotations

from functools import partial

import pipeline_dp
from pipeline_dp import Metrics
from tries import COSTS, DELTA, EPSILON, ROWS, best, numbers, visits

VISITS, NUMBERS = visits(), numbers()
EXTRACTORS = pipeline_dp.DataExtractors(
    privacy_id_extractor=lambda row: row[0], partition_extractor=lambda _: 0, value_extractor=lambda row: row[1]
)


def released(metric, rows, k, upper=None):
    """One answer."""
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=EPSILON, total_delta=DELTA)
    params = pipeline_dp.AggregateParams(
        noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        metrics=[metric],
        max_partitions_contributed=1,
        max_contributions_per_partition=k,
        min_value=None if upper is None else 0.0,
        max_value=upper,
    )
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    answer = engine.aggregate(rows, params, EXTRACTORS, public_partitions=[0])
    accountant.compute_budgets()
    ((_, metrics),) = answer
    return next(iter(metrics))


def clipped(metric, costs):
    return {
        f"{k} rows to {upper:g}": partial(released, metric, VISITS, k, upper)
        for k in (2, 5, 10, 20, 50)
        for upper in costs
    }


best("count of visits", {f"{k} rows": partial(released, Metrics.COUNT, VISITS, k) for k in ROWS})
best("average cost", clipped(Metrics.MEAN, COSTS[1:4]))
variances = clipped(Metrics.VARIANCE, COSTS[2:])
best("spread of cost", {name: lambda once=once: max(0.0, once()) ** 0.5 for name, once in variances.items()})
best("median cost", clipped(Metrics.PERCENTILE(50), COSTS[:3]))
best("visits per patient", {f"n to {k}": partial(released, Metrics.MEAN, NUMBERS, 1, float(k)) for k in ROWS})
