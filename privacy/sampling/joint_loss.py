"""Amplification by sampling join tuples: what all releases from one sample cost together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from privacy.errors import InvalidParameter
from privacy.sampling.growth.growth import Piece, log_moment
from privacy.sampling.loss import Loss

_MAX_LOSS = 1e5
"""Nobody spends as much; a caller who asks has made a mistake."""


def joint_loss(losses: Sequence[Loss], delta_bound: int | None, rate: float) -> float:
    """The epsilon of several releases from one sample of join tuples, also when they are chosen adaptively.

        ln E[exp(g(K))],  g(k) = sum_i l_i(k),  K ~ Binomial(delta_bound, rate)

    Each tuple enters the sample independently with probability `rate`. Budgets that are amplified one by one and then
    added are no bound on this: amplification is not additive over a shared sample.

    Args:
      losses: one per release; for adaptive releases the largest over all transcripts.
      delta_bound: Delta >= 1, the public bound on the join tuples of one unit; None when there is none.
      rate: q in (0, 1].
    Returns: epsilon in [0, g(infinity)], rounded up by a relative 1e-10; g(infinity) when delta_bound is None.
    Raises: InvalidParameter for a parameter out of range, or g(infinity) above 10^5.
    Cost: some tens of microseconds per distinct threshold, whatever delta_bound is.
    Source: privacy.md section 3; Lemmas 3.1 and 3.2 of DP-S4S (SIGMOD 2026), jointly.
    """
    most = math.fsum(loss.most for loss in losses)
    if not 0 < rate <= 1 or (delta_bound is not None and delta_bound < 1):
        raise InvalidParameter("a sampling rate lies in (0, 1], and a unit has at least one tuple")
    if most > _MAX_LOSS:
        raise InvalidParameter("the losses add up to more than can be computed with")
    if delta_bound is None:
        return most
    return min(most, log_moment(tuple(_pieces(losses, delta_bound)), delta_bound, rate))


def _pieces(losses: Sequence[Loss], delta_bound: int) -> Iterator[Piece]:
    """The linear pieces of g on 1..delta_bound."""
    ends = {min(delta_bound, math.floor(loss.cap)) for loss in losses if loss.slope > 0} | {delta_bound}
    low = 1
    for high in sorted(ends):
        if high < low:
            continue
        capped = [loss for loss in losses if loss.cap < high]
        rising = [loss for loss in losses if loss.cap >= high]
        constant = math.fsum(loss.step for loss in losses) + math.fsum(loss.slope * loss.cap for loss in capped)
        yield Piece(low, high, constant, math.fsum(loss.slope for loss in rising))
        low = high + 1
