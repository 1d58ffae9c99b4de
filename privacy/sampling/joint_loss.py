"""Amplification by sampling join tuples: what all releases from one sample cost together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from privacy.errors import InvalidParameter
from privacy.sampling.binomial import between
from privacy.sampling.loss import Loss

_SHORT = 1024
"""Segments up to this length are summed term by term: there a steep slope could leave the tilted tails at zero."""

_MAX_LOSS = 600.0
"""exp of it is still a double; nobody spends as much."""

_MARGIN = 1 + 1e-8
"""Rounded up by more than the incomplete beta functions err."""


@dataclass(frozen=True)
class _Segment:
    """g(k) = base + slope * k for low <= k <= high."""

    low: int
    high: int
    base: float
    slope: float


def joint_loss(losses: Sequence[Loss], delta_bound: int | None, rate: float) -> float:
    """The epsilon of several releases from one sample of join tuples, also when they are chosen adaptively.

        ln E[exp(g(K))],  g(k) = sum_i l_i(k),  K ~ Binomial(delta_bound, rate)

    Each tuple enters the sample independently with probability `rate`. Budgets that are amplified one by one and then
    added are no bound on this: amplification is not additive over a shared sample.

    Args:
      losses: one per release; for adaptive releases the largest over all transcripts.
      delta_bound: Delta >= 1, the public bound on the join tuples of one unit; None when there is none.
      rate: q in (0, 1].
    Returns: epsilon in [0, g(infinity)], rounded up by a relative 1e-8; g(infinity) when delta_bound is None.
    Raises: InvalidParameter for a parameter out of range, or g(infinity) above 600.
    Cost: one pair of incomplete beta functions per threshold, whatever delta_bound is.
    Source: privacy.md section 3; the generating function of Lemma 3.2 of DP-S4S (SIGMOD 2026).
    """
    most = math.fsum(loss.most for loss in losses)
    if not 0 < rate <= 1 or (delta_bound is not None and delta_bound < 1):
        raise InvalidParameter("a sampling rate lies in (0, 1], and a unit has at least one tuple")
    if most > _MAX_LOSS:
        raise InvalidParameter("the losses add up to more than can be computed with")
    if delta_bound is None:
        return most
    if rate == 1:
        return min(most, math.fsum(loss.step + loss.slope * min(loss.cap, delta_bound) for loss in losses))
    excess = math.fsum(_excess(segment, delta_bound, rate) for segment in _segments(losses, delta_bound))
    if math.isnan(excess):  # an incomplete beta function beyond its means: nothing is claimed
        return most
    return min(most, math.log1p(max(0.0, excess)) * _MARGIN)


def _segments(losses: Sequence[Loss], delta_bound: int) -> Iterator[_Segment]:
    """The linear pieces of g on 1..delta_bound."""
    ends = {min(delta_bound, math.floor(loss.cap)) for loss in losses if loss.slope > 0} | {delta_bound}
    low = 1
    for high in sorted(ends):
        if high < low:
            continue
        capped = [loss for loss in losses if loss.cap < high]
        rising = [loss for loss in losses if loss.cap >= high]
        base = math.fsum(loss.step for loss in losses) + math.fsum(loss.slope * loss.cap for loss in capped)
        yield _Segment(low, high, base, math.fsum(loss.slope for loss in rising))
        low = high + 1


def _excess(segment: _Segment, n: int, rate: float) -> float:
    """sum over the segment of P(K = k) (exp(g(k)) - 1).

    P(K = k) exp(s k) = M^n P'(K = k), where M = 1 - q + q exp(s) and P' has the tilted rate q exp(s) / M.
    """
    low, high, base, slope = segment.low, segment.high, segment.base, segment.slope
    if slope == 0:
        return math.expm1(base) * float(between(low, high, n, rate, 1 - rate))
    if high - low < _SHORT:
        k = np.arange(low, high + 1, dtype=np.float64)
        return math.fsum(between(k, k, n, rate, 1 - rate) * np.expm1(base + slope * k))
    grown = rate * math.expm1(slope)
    tilted = float(between(low, high, n, rate * math.exp(slope) / (1 + grown), (1 - rate) / (1 + grown)))
    plain = float(between(low, high, n, rate, 1 - rate))
    if tilted == 0.0:  # below what a double holds; bounded by the largest term
        return plain * math.expm1(base + slope * high)
    return (
        min(math.exp(min(base + n * math.log1p(grown) + math.log(tilted), 700.0)), _at_most(segment, plain)) - plain
    )


def _at_most(segment: _Segment, plain: float) -> float:
    """The segment's sum with its largest loss for every k."""
    return plain * math.exp(segment.base + segment.slope * segment.high)
