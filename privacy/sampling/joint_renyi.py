"""Renyi amplification by sampling join tuples: what all Gaussian releases from one sample cost together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from privacy.errors import InvalidParameter
from privacy.sampling.growth.growth import Piece, log_moment
from privacy.sampling.square_loss import SquareLoss


def joint_renyi(losses: Sequence[SquareLoss], delta_bound: int | None, rate: float, alpha: float) -> float:
    """The Renyi divergence of order alpha of several releases from one sample of join tuples.

        rho'(alpha) = ln E[exp((alpha - 1) alpha g(K))] / (alpha - 1),
        g(k) = sum_i l_i(k),  K ~ Binomial(delta_bound, rate)

    with l_i(k) = (min(tau_i, k) + eta tau_i)^2 / (2 sigma_i^2) for Gaussian noise: a bound in both directions,
    because the divergence is convex in the sample's mixture. Divergences that are amplified one by one do not add up
    over a shared sample.

    Args:
      losses: one per release, none of them chosen by looking at the others.
      delta_bound: Delta >= 1, the public bound on the join tuples of one unit; None when there is none.
      rate: q in (0, 1].
      alpha: the order, > 1, finite.
    Returns: rho' in [0, alpha g(infinity)], rounded up by a relative 1e-10; alpha g(infinity) without a bound.
    Raises: InvalidParameter for a parameter out of range.
    Cost: some tens of microseconds per distinct threshold, whatever delta_bound is.
    Source: privacy.md section 3; Lemma 3.5 of DP-S4S (SIGMOD 2026), jointly.
    """
    if not 1 < alpha < math.inf:
        raise InvalidParameter("a Renyi order is finite and above 1")
    if not 0 < rate <= 1 or (delta_bound is not None and delta_bound < 1):
        raise InvalidParameter("a sampling rate lies in (0, 1], and a unit has at least one tuple")
    most = alpha * math.fsum(loss.most for loss in losses)
    if delta_bound is None:
        return most
    pieces = tuple(_pieces(losses, delta_bound, alpha * (alpha - 1)))
    return min(most, log_moment(pieces, delta_bound, rate) / (alpha - 1))


def _pieces(losses: Sequence[SquareLoss], delta_bound: int, factor: float) -> Iterator[Piece]:
    """The parabolas of factor * g on 1..delta_bound."""
    ends = {min(delta_bound, math.floor(loss.cap)) for loss in losses if loss.slope > 0} | {delta_bound}
    low = 1
    for high in sorted(ends):
        if high < low:
            continue
        rising = [loss for loss in losses if loss.cap >= high]
        constant = math.fsum(loss.most if loss.cap < high else loss.rho + loss.step**2 / 2 for loss in losses)
        slope = math.fsum(loss.step * loss.slope for loss in rising)
        curve = math.fsum(loss.slope**2 / 2 for loss in rising)
        yield Piece(low, high, factor * constant, factor * slope, factor * curve)
        low = high + 1
