"""Estimate the questions of a grid from its released marginals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from privacy.marginals import Reconstruction
from privacy.mechanisms.noise_sums import step_at_most
from privacy.noisy_answer import CONFIDENCE, NoisyAnswer
from server.answers.counted_grid import CountedGrid, Member
from server.answers.released import Released
from server.answers.work import Cached, Estimated
from server.errors import QueryFailed
from server.query import Budget, QueryResponse
from server.question import Question
from server.results.response import response

MECHANISM = "least_squares"
"""The mechanism that an answer estimated from several releases names."""

_CHANGED = "the groups changed during the measurement, which was charged"
_KEPT = "the parts that were measured are cached; ask each SELECT of the statement alone"


def estimated(counted: CountedGrid, released: Mapping[int, Released], member: Member) -> tuple[NoisyAnswer, ...]:
    """Estimate a question's releases from all released marginals, with intervals for the sum of their noises.

    Each release is the exact sum of a group plus independent noise of one scale. So estimates are unbiased, and each
    interval covers the exact value at its confidence. Nothing was clipped, if the bounds behind the plan are true.

    Raises: QueryFailed where the public groups have changed since planning.
    """
    found = []
    for place in range(len(member.question.plan.releases)):
        tables = {}
        for mask, one in released.items():
            table = counted.table(counted.measurable[mask].axes, one.domain, one.noisy[place].values)
            if table is None:
                raise QueryFailed(_CHANGED, hint=_KEPT)
            tables[mask] = table
        found.append(_estimated(counted, {mask: one.noisy[place] for mask, one in released.items()}, tables, member))
    return tuple(found)


def _estimated(
    counted: CountedGrid,
    by_mask: Mapping[int, NoisyAnswer],
    tables: Mapping[int, NDArray[np.float64]],
    member: Member,
) -> NoisyAnswer:
    mask = counted.mask(member.marginal.axes)
    fit = Reconstruction(counted.grid, {other: _scale(one) for other, one in by_mask.items()})
    values = counted.in_order_of(member, fit.table(mask, tables))
    confidence = min(one.confidence for one in by_mask.values())
    noise = fit.noise(mask)
    taus = [float(one.tau.max(initial=0.0)) for one in by_mask.values()]
    # Flooring moves a value by a step, and noise in whole steps is within one of noise that is not.
    steps = 2 * float(step_at_most(np.array(taus)).max())
    reach = noise.upper_quantile((1 - confidence) / 2) + fit.rounding(mask, steps)
    ones = np.ones(len(values))
    return NoisyAnswer(
        values=values,
        tau=ones * min(taus),
        noise_scale=ones * np.sqrt(noise.variance / 2),
        low=values - reach,
        high=values + reach,
        confidence=confidence,
        covers="truncated_full",
        mechanism=MECHANISM,
        epsilon=sum(one.epsilon for one in by_mask.values()),
        signal=ones * np.inf,
    )


_FROM = (
    "Estimated by weighted least squares from {count} noisy answer{s} of the workload, by {what}. Answers of one "
    "workload agree except for rounding, and intervals cover the sum of all noises in a value."
)


def estimated_response(
    work: Estimated, released: Mapping[int, Released], budget: Budget, request_id: str
) -> QueryResponse:
    """Return the answer as the client receives it."""
    question = work.member.question
    noisy = estimated(work.counted, released, work.member)
    by = [keys_of(one.question) for _, one in sorted(work.tables.items())]
    what = "; ".join(", ".join(keys) or "nothing" for keys in by)
    note = _FROM.format(count=len(by), s="" if len(by) == 1 else "s", what=what)
    shown = response(question.plan, work.member.domain, noisy, budget, request_id)
    cached = all(isinstance(one, Cached) for one in work.tables.values())
    return replace(shown, notes=(note, *shown.notes), cached=cached)


def keys_of(question: Question) -> tuple[str, ...]:
    """Return the SQL of a question's group keys."""
    return tuple(key.key.sql() for key in question.plan.group_keys)


def half_width(counted: CountedGrid, scales: Mapping[int, float], mask: int, confidence: float = CONFIDENCE) -> float:
    """Return half an interval of a marginal's cells, in normalised weight.

    Args:
      scales: of the Laplace noise of each measured marginal, in normalised weight.
      mask: of the wanted marginal.
    Returns: infinity where the measured marginals do not determine it.
    """
    fit = Reconstruction(counted.grid, scales)
    return fit.noise(mask).upper_quantile((1 - confidence) / 2) if fit.follows(mask) else math.inf


def _scale(noisy: NoisyAnswer) -> float:
    """Return the one noise scale of a release with one candidate threshold."""
    scales = noisy.noise_scale
    assert noisy.noise == "laplace" and len(scales) and (scales == scales[0]).all(), "one threshold has one noise"
    return float(scales[0])
