"""How a sample is drawn, the joint cost of all releases from it, and the largest budgets that it affords.

Amplification buys less noise for the same charge.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from privacy.errors import InvalidParameter
from privacy.sampling.growth import Piece, log_moment
from privacy.sampling.loss import Loss, choice_loss

_MAX_LOSS = 1e5
"""A larger loss is a mistake of the caller."""


def joint_loss(losses: Sequence[Loss], delta_bound: int | None, rate: float) -> float:
    """The epsilon of several releases from one sample of join tuples, also if they are chosen adaptively.

        ln E[exp(g(K))],  g(k) = sum_i l_i(k),  K ~ Binomial(delta_bound, rate)

    Each tuple enters the sample independently with probability `rate`. Budgets that are amplified one by one and
    added up are no bound: amplification is not additive over a shared sample.

    Args:
      losses: one per release; for adaptive releases the largest over all transcripts.
      delta_bound: Delta >= 1, the public bound on the join tuples of one unit; None without one.
    Returns: epsilon in [0, g(infinity)], rounded up by a relative 1e-10; g(infinity) if delta_bound is None.
    Raises: InvalidParameter for a parameter out of range, or g(infinity) above 10^5.
    Cost: some tens of microseconds per distinct threshold, for any delta_bound.
    Source: docs/mathematics.md, section 7.1; Lemmas 3.1 and 3.2 of DP-S4S (SIGMOD 2026), jointly.
    """
    most = math.fsum(loss.most for loss in losses)
    if not 0 < rate <= 1 or (delta_bound is not None and delta_bound < 1):
        raise InvalidParameter(
            "the sampling rate must be above 0 and at most 1, and a unit must have at least one tuple"
        )
    if most > _MAX_LOSS:
        raise InvalidParameter("the privacy losses add up to more than can be computed")
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


@dataclass(frozen=True)
class SampleDesign:
    """One Bernoulli sample of join tuples and the budget of all releases from it. Public.

    All releases from one sample (every aggregate, both signs, all groups) are accounted for together:

        ln E[exp(sum_i l_i(K))] <= epsilon,  K ~ Binomial(tuples_per_unit, rate).

    A release with the share s_i of epsilon, sum_i s_i <= 1, may have any loss l_i with

        ln E[exp(l_i(K) / s_i)] <= epsilon,

    because E[prod_i exp(l_i)] <= prod_i E[exp(l_i / s_i)]^s_i by Hoelder's inequality. So each release, and each
    group of it, is calibrated on its own, whatever thresholds the others choose. If all choose alike, equality holds.
    Without amplification it is the usual split: l_i <= s_i epsilon.
    Source: docs/mathematics.md, section 7.2.

    Attributes:
      rate: q in (0, 1], the probability with which each join tuple is kept, independently.
      tuples_per_unit: Delta >= 1, a public bound on the join tuples of one unit; None claims no amplification.
      epsilon: of all releases from the sample together, > 0.
    """

    rate: float
    tuples_per_unit: int | None
    epsilon: float

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1:
            raise InvalidParameter("the sampling rate must be above 0 and at most 1")
        if self.tuples_per_unit is not None and self.tuples_per_unit < 1:
            raise InvalidParameter("a unit must have at least one tuple")
        if not 0 < self.epsilon < float("inf"):
            raise InvalidParameter("epsilon must be finite and positive")

    def pressure(self, cell: Fraction) -> float:
        """1 / s, rounded up: the factor of a loss that is compared with the whole epsilon.

        Args:
          cell: the part of epsilon for one group of one release, in (0, epsilon].
        Raises: InvalidParameter.
        """
        if cell <= 0:
            raise InvalidParameter("epsilon must be positive")
        return float(Fraction(self.epsilon) / cell) * (1 + 2.0**-50)

    def joint(self, losses: Sequence[Loss]) -> float:
        """What releases with these losses from the sample cost together, rounded up."""
        return joint_loss(losses, self.tuples_per_unit, self.rate)


_MOST_PRESSED = 1e4
"""The search does not go beyond this loss times its pressure."""

_CLOSE = 1e-6
"""Relative: how far below the largest affordable number the result may lie."""

_LEAST = 2.0**-40


def choice_budget(design: SampleDesign, cell: Fraction) -> float:
    """The epsilon of a choice alone that costs `cell` of the design's epsilon after amplification, rounded down.

    Any tuple of the unit in the sample costs all of it at once. Cost: some twenty evaluations of `joint_loss`.
    """
    return largest_factor(design, cell, lambda epsilon: [choice_loss(epsilon)], float(cell))


def release_budget(design: SampleDesign, cell: Fraction, spent: float, loss_of: Callable[[float], Loss]) -> float:
    """The largest budget of one release that, with a choice from the same sample, costs `cell`.

    Args:
      cell: of the design's epsilon.
      spent: epsilon of the choice, less than `choice_budget`.
      loss_of: the loss of the release at a budget; grows with it.
    Raises: InvalidParameter if the choice leaves nothing.
    Cost: some twenty evaluations of `joint_loss`.
    """
    start = max(float(cell) - spent, float(cell) / 8)
    return largest_factor(design, cell, lambda epsilon: [choice_loss(spent), loss_of(epsilon)], start)


def largest_factor(
    design: SampleDesign, cell: Fraction, losses: Callable[[float], list[Loss]], start: float
) -> float:
    """The largest x > 0 for which losses(x), of releases from one sample, together cost `cell`, to within 1e-6.

    Args:
      losses: of all releases; each grows with x.
      start: a first x, > 0.
    Returns: an x that was checked.
    Raises: InvalidParameter if no x is affordable.
    """
    pressure = design.pressure(cell)

    def overdraft(x: float) -> float:
        """What losses(x) cost beyond epsilon; as much as can be computed with where they are larger."""
        pressed = [loss.times(pressure) for loss in losses(x)]
        if math.fsum(loss.most for loss in pressed) > _MOST_PRESSED:
            return _MOST_PRESSED
        return design.joint(pressed) - design.epsilon

    low, high = _bracket(overdraft, start)
    while high - low > _CLOSE * low:
        middle = (low + high) / 2
        low, high = (middle, high) if overdraft(middle) <= 0 else (low, middle)
    return low


def _bracket(overdraft: Callable[[float], float], start: float) -> tuple[float, float]:
    """An affordable number and twice it, which is not."""
    low = start
    while overdraft(low) > 0:
        low /= 2
        if low < start * _LEAST:
            raise InvalidParameter(
                "the choice of the threshold takes all of the budget, so none is left for the release"
            )
    while overdraft(2 * low) <= 0:
        low *= 2
        if low > start / _LEAST:
            raise InvalidParameter("no privacy bound can be computed for this mechanism on a sample")
    return low, 2 * low
