"""DP-S4S for scalars: the race of R2T over a Bernoulli sample of join tuples, with budgets that are sound together.

The sums of Algorithm 2 are right if every threshold has a sample of its own. Here all thresholds share one sample.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

from privacy.errors import InvalidParameter
from privacy.exact import check_gap, check_groups, exact_epsilon, float_at_least, group_epsilon
from privacy.mechanisms.noise import ThresholdNoise, levels
from privacy.papers.r2t import Race
from privacy.sampling.design import SampleDesign, largest_factor
from privacy.sampling.loss import Loss
from privacy.thresholds import Thresholds


def published_budgets(total: float, thresholds: int, amplified: Callable[[int, float], float]) -> tuple[float, ...]:
    """Lines 4 to 10 of Algorithm 2: from the largest threshold down, an even share of what is left.

    Args:
      total: epsilon, or rho at one order.
      amplified: what threshold i costs on its own after sampling, if it spends so much.
    Returns: (L,) budgets, thresholds ascending. Their separate costs add up to `total`, which is their joint cost
      only if each has a sample of its own.
    """
    left, budgets = total, []
    for i in range(thresholds, 0, -1):
        budgets.append(left / i)
        left -= amplified(i - 1, budgets[-1])
    return tuple(reversed(budgets))


def budgets_apart(design: SampleDesign, cell: Fraction, thresholds: Thresholds, gap: float) -> tuple[float, ...]:
    """epsilon of each threshold's release from a Bernoulli sample of its own, as Algorithm 2 adds up."""

    def amplified(i: int, budget: float) -> float:
        return design.joint(_losses(thresholds, gap, [budget], i))

    return published_budgets(float(cell), len(thresholds), amplified)


@lru_cache(maxsize=64)
def pure_budgets(design: SampleDesign, cell: Fraction, thresholds: Thresholds, gap: float) -> tuple[Fraction, ...]:
    """epsilon of each threshold's release from one shared Bernoulli sample.

    They are those of `budgets_apart`, multiplied by the one number with which their joint loss is the cell's.

    Args:
      design: the sample; its number of tuples per unit is known.
      cell: the part of its epsilon for this group of this release.
    """
    apart = budgets_apart(design, cell, thresholds, gap)
    factor = largest_factor(design, cell, lambda x: _losses(thresholds, gap, [x * budget for budget in apart]), 1.0)
    return tuple(Fraction(factor * budget) for budget in apart)


def _losses(thresholds: Thresholds, gap: float, budgets: Sequence[float], first: int = 0) -> list[Loss]:
    """Of releases with these budgets, at the thresholds from the `first` on."""
    parts = zip(thresholds.units[first : first + len(budgets)].tolist(), budgets, strict=True)
    return [ThresholdNoise(units, gap, Fraction(budget)).loss for units, budget in parts]


@dataclass(frozen=True)
class S4S(Race):
    """max_i v(tau_i) + Lap(tau_i / eps_i) - (tau_i / eps_i) ln(3 L / beta), tau_i = 1, 2, 4 .. 2^(L - 1).

    epsilon-DP: the budgets of Algorithm 2 are multiplied by the number with which the joint loss of all L releases
    from the one sample is epsilon (docs/mathematics.md, section 7.1).

    The penalty is the exact quantile of the discrete Laplace in place of (tau / eps) ln(3 L / beta), which it
    exceeds by less than a step. The values are those of the sample: `scale_up` divides by the rate.
    Source: Algorithm 2 of DP-S4S (SIGMOD 2026).

    Attributes:
      epsilon, groups_per_unit, gap: as of `Gem`.
      tuples_per_unit: Delta >= 1, a public bound on the join tuples of one unit; it decides which thresholds race.
      sample: how the tuples were sampled, if amplification is claimed.
      beta: in (0, 1); the output is above the sample's answer with probability beta / 6 at most.
    """

    epsilon: float
    tuples_per_unit: int
    groups_per_unit: int | None = None
    gap: float = 0.0
    sample: SampleDesign | None = None
    beta: float = 0.1

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        if self.tuples_per_unit < 1:
            raise InvalidParameter("the tuples of a unit must be at least 1")
        check_groups(self.groups_per_unit)
        check_gap(self.gap)
        if not 0 < self.beta < 1:
            raise InvalidParameter("beta must be between 0 and 1")

    @property
    def name(self) -> str:
        """As in the registry."""
        return "s4s"

    @cached_property
    def thresholds(self) -> Thresholds:
        """2^0 to 2^(L - 1), L = floor(log2 Delta) + 1 (Algorithm 2, lines 3 and 5), at most 2^32."""
        return Thresholds(0, min(32, self.tuples_per_unit.bit_length() - 1))

    @property
    def confidence(self) -> float:
        """1 - beta / 6."""
        return 1 - self.beta / 6

    def epsilon_if_bound_fails(self, n_groups: int = 1) -> float:
        """g(infinity): what a unit with more join tuples than Delta may lose, in all groups."""
        cell = group_epsilon(self.epsilon, self.groups_per_unit, n_groups)
        return float_at_least(
            exact_epsilon(self.epsilon) / cell * sum(level.epsilon for level in self._levels(n_groups))
        )

    def _levels(self, n_groups: int) -> tuple[ThresholdNoise, ...]:
        cell: Fraction = group_epsilon(self.epsilon, self.groups_per_unit, n_groups)
        if self.sample is None or self.sample.tuples_per_unit is None:
            return levels(self.thresholds, self.gap, cell / len(self.thresholds))
        return levels(self.thresholds, self.gap, pure_budgets(self.sample, cell, self.thresholds, self.gap))

    @property
    def _tail(self) -> float:
        """beta / (6 L), that is exp(-ln(3 L / beta)) / 2: how often a threshold's noise may exceed its penalty."""
        return self.beta / (6 * len(self.thresholds))
