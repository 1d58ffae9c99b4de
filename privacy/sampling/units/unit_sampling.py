"""Amplification by sampling privacy units one by one: a join tuple stays where all its owners do."""

from __future__ import annotations

import math

from privacy.errors import InvalidParameter

MOST = 600.0
"""The largest epsilon that is computed with: exp of it is still a double."""

_MARGIN = 1e-12
"""Relative, more than the few roundings of a formula."""


def unit_sampled_loss(epsilon: float, rate: float) -> float:
    """The epsilon of an epsilon-DP mechanism on what a Bernoulli sample of privacy units induces, rounded up.

        ln(1 + rate (exp(epsilon) - 1))

    Proof: let u be the unit by which the instances differ, and draw all others first. If u is not drawn, both
    samples are the same; if it is, they differ by tuples of u, and each differs from the sample without u by
    tuples of u. So with densities a (u not drawn), b and b' (drawn), a and b' are at least exp(-epsilon) b, and
    ((1 - rate) a + rate b) / ((1 - rate) a + rate b'), which falls with a and b' where it exceeds 1, is largest
    at a = b' = exp(-epsilon) b. The same in the other direction, and averaged over the draws of the
    others. Units that occur nowhere change nothing, so their number is not needed.

    Args:
      epsilon: of the mechanism on the sample, in (0, 600].
      rate: eta in (0, 1], the probability with which each unit is drawn, independently.
    Raises: InvalidParameter.
    Source: theorem 4.1 of Fang and Yi (SIGMOD 2024).
    """
    _check(epsilon, rate)
    return min(epsilon, math.log1p(rate * math.expm1(epsilon)) * (1 + _MARGIN))


def unit_sampled_budget(target: float, rate: float) -> float:
    """The epsilon that a mechanism on the sample may spend for `target` in all, rounded down; at most 600.

    Args:
      target: > 0; at most 600.
      rate: as in `unit_sampled_loss`, whose inverse this is: ln(1 + (exp(target) - 1) / rate).
    Raises: InvalidParameter.
    """
    _check(target, rate)
    grown = math.expm1(target) / rate
    return max(target, min(MOST, math.log1p(grown) * (1 - 4 * _MARGIN))) if rate < 1 else target


def _check(epsilon: float, rate: float) -> None:
    if not 0 < epsilon <= MOST:
        raise InvalidParameter("epsilon lies in (0, 600]")
    if not 0 < rate <= 1:
        raise InvalidParameter("a sampling rate lies in (0, 1]")
