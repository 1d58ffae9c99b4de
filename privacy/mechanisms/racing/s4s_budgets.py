"""How DP-S4S divides its budget among the thresholds, as published and made sound for one shared sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache

from privacy.ladder import Ladder
from privacy.mechanisms.noise.threshold_noise import ThresholdNoise
from privacy.sampling.calibrate import largest_factor
from privacy.sampling.design import SampleDesign
from privacy.sampling.loss import Loss


def s4s_ladder(tuples_per_unit: int) -> Ladder:
    """2^0 to 2^(L - 1), L = floor(log2 Delta) + 1 (Algorithm 2, lines 3 and 5), at most 2^32."""
    return Ladder(0, min(32, tuples_per_unit.bit_length() - 1))


def published_budgets(total: float, thresholds: int, amplified: Callable[[int, float], float]) -> tuple[float, ...]:
    """Lines 4 to 10 of Algorithm 2: from the largest threshold down, an even share of what is left.

    Args:
      total: epsilon, or rho at one order.
      thresholds: L.
      amplified: what threshold i costs on its own after sampling, when it spends so much.
    Returns: (L,) budgets, thresholds ascending. What they cost one by one adds up to `total`; that is what they cost
      together only if each has a sample of its own.
    """
    left, budgets = total, []
    for i in range(thresholds, 0, -1):
        budgets.append(left / i)
        left -= amplified(i - 1, budgets[-1])
    return tuple(reversed(budgets))


@lru_cache(maxsize=64)
def pure_budgets(
    design: SampleDesign, cell: Fraction, ladder: Ladder, gap: float, published: bool
) -> tuple[Fraction, ...]:
    """epsilon of each threshold's release from a Bernoulli sample.

    Args:
      design: the sample; its number of tuples per unit is known.
      cell: the part of its epsilon for this group of this release.
      published: as Algorithm 2 adds up, which is sound for one sample per threshold. Otherwise those budgets, all
        multiplied by the one number with which their joint loss is the cell's.
    """

    def losses(budgets: Sequence[float]) -> list[Loss]:
        parts = zip(ladder.units, budgets, strict=True)
        return [ThresholdNoise(int(units), gap, Fraction(budget)).loss for units, budget in parts]

    def amplified(i: int, budget: float) -> float:
        return design.joint([ThresholdNoise(int(ladder.units[i]), gap, Fraction(budget)).loss])

    budgets = published_budgets(float(cell), len(ladder), amplified)
    if not published:
        factor = largest_factor(design, cell, lambda x: losses([x * budget for budget in budgets]), 1.0)
        budgets = tuple(factor * budget for budget in budgets)
    return tuple(map(Fraction, budgets))
