"""`bound_first`: the noise of the public bound where it is small beside the sum, else a chosen threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from privacy.entropy import Entropy
from privacy.errors import InvalidParameter
from privacy.exact import DOWN, check_gap, exact_epsilon, group_epsilon
from privacy.join_tuples import CodedJoinTuples
from privacy.mechanisms.budget import PureBudget
from privacy.mechanisms.gem import NESTED_SELECTION, SELECTION, Gem
from privacy.mechanisms.measurement import Pure
from privacy.mechanisms.noise import ThresholdNoise
from privacy.mechanisms.release import check_levels
from privacy.mechanisms.selection import settled_values
from privacy.mechanisms.shared_threshold import SharedThreshold, fixed_threshold
from privacy.noisy_answer import NoisyAnswer
from privacy.thresholds import Thresholds, one_threshold
from privacy.truncation.solver_name import SolverName
from privacy.truncation.truncate import TruncatedSum, TuplesOfSum
from privacy.units import MAX_UNITS, Bools, Ints

TEST_SHARE = 0.1
"""Of epsilon, for the test."""

ENOUGH = 40.0
"""How many times the noise of the release at the bound a sum has to be. Its median error is then 1.7% of the sum at
most, where a chosen threshold may be off by 5 to 30%. A sum of 0 passes in 6 releases of 1,000, and one of half as
much in 50; its noise is too large then, which its interval says."""

MEAN_OF_BOUND = 150
"""How many times a unit's mean load the bound may be. Above that nearly every unit is far below the bound, and where
units are many a chosen threshold errs less than even a small noise at the bound."""

_MOST_UNITS = 1 << 32
"""How many units may add to one sum, as everywhere."""


def bound_thresholds(bound: int) -> Thresholds:
    """The one threshold Delta, in normalised weight, for a Delta from 1 to 2^32."""
    return one_threshold(Fraction(bound))


@dataclass(frozen=True)
class BoundTest:
    """Is a sum so large that the noise of its public bound is small beside it? One bit, which is released.

    The sum truncated at Delta is compared with max(enough Delta / epsilon', n Delta / MEAN_OF_BOUND), epsilon' that
    of the release, and n the number of units that add to it, of tuples of one owner. One unit that comes adds between
    0 and Delta to the sum, and between 0 and Delta / MEAN_OF_BOUND to what it is compared with: the difference moves
    by (1 + gap) Delta at most, either way. Noise of that sensitivity (`ThresholdNoise`) makes it epsilon-DP. In
    steps: the sum is floored to k steps at most of a difference (see there); what it is compared with is rounded up,
    and rises by ceil(Delta / (MEAN_OF_BOUND step)) <= k. That no unit has more than Delta is not relied on.
    Source: docs/mathematics.md, section 3.1 for the sensitivity of the sum.

    Attributes:
      epsilon: what the test of one sum spends.
      releasing: > 0, the epsilon that the release will have, if the sum is large enough.
      ladder: its one threshold Delta.
      gap: eta; the solver's constant relative gap.
      enough: how many times the noise of the release the sum has to be.
    """

    epsilon: Fraction
    releasing: Fraction
    thresholds: Thresholds
    gap: float = 0.0
    enough: float = ENOUGH

    def __post_init__(self) -> None:
        if len(self.thresholds) != 1:
            raise InvalidParameter("a public bound is one threshold")
        if not (self.epsilon > 0 and self.releasing > 0):
            raise InvalidParameter("the test and the release both need some epsilon")

    @cached_property
    def level(self) -> ThresholdNoise:
        """The noise of the test."""
        return ThresholdNoise(int(self.thresholds.units[0]), self.gap, self.epsilon)

    @cached_property
    def least(self) -> int:
        """The least noisy sum that passes, in steps; public."""
        return math.ceil(Fraction(self.enough) * self.level.tau_units / (self.releasing * self.level.step))

    def passes(self, values: Ints, entropy: Entropy, units: Ints | None = None) -> Bools:
        """Which of the sums are large.

        Args:
          values: (G,) int64 units, truncated at Delta.
          units: (G,) int64, how many privacy units add to each sum, of tuples of one owner; None compares with the
            release's noise alone.
        Returns: (G,) bool, which may be published.
        Raises: EntropyFailed.
        """
        if self.least > MAX_UNITS // self.level.step:
            return np.zeros(len(values), bool)  # public: no sum is ever so large
        noisy = values // self.level.step + self.level.draw(len(values), entropy)
        if units is None:
            return np.asarray(noisy >= self.least)
        spread = -(-np.minimum(units, _MOST_UNITS) * (self.level.tau_units // self.level.step + 1) // MEAN_OF_BOUND)
        return np.asarray(noisy >= np.maximum(self.least, spread))


@dataclass(frozen=True)
class BoundFirst(Pure):
    """A test of the sum; then `fixed_threshold` at the public bound Delta, or `Gem`, whose threshold is chosen.

    A release at Delta cuts nothing and errs by ln(2) Delta / epsilon at the median. A chosen threshold t errs by 2 to
    25 times t / epsilon, whatever the data are, since no choice can tell whether a few units have more (`make
    benchmark NAME=declared_bound`). So the bound is better unless t is far below it, as it is where a condition
    leaves few rows of a unit. Which of both is the case depends on the data; but where the sum is many times Delta /
    epsilon, noise of that size does not matter, and to know that costs little.

    epsilon-DP, pointwise in the outcome of the test: in each group the test spends TEST_SHARE of epsilon / L0, and
    the release what is left, either way. That no unit has more than Delta makes the release unbiased; its privacy
    does not rest on it.
    Source: docs/mathematics.md, section 6.7; the test as in propose-test-release (Dwork and Lei, STOC 2009), of the
    answer instead of the sensitivity.

    Attributes:
      epsilon, groups_per_unit, gap: as of `Gem`.
      bound: Delta, from 1 to 2^32: how many join tuples, of the normalised weight 1 at most, a unit has at most.
      ladder: the thresholds that are chosen from where the sum is small.
      monotone, nested: as of `Gem`.
      solver: which truncates.
    """

    epsilon: float
    bound: int
    groups_per_unit: int | None = None
    gap: float = 0.0
    thresholds: Thresholds = field(default_factory=Thresholds)
    monotone: bool = False
    nested: bool = False
    solver: SolverName = "certified"
    name = "bound_first"

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        check_gap(self.gap)

    @property
    def certain(self) -> bool:
        """Is there one threshold, and nothing to ask? Its release then has the whole of epsilon."""
        return len(self.thresholds) == 1 and self.thresholds.units[0] >= bound_thresholds(self.bound).units[0]

    @cached_property
    def direct(self) -> SharedThreshold:
        """The release at the public bound."""
        epsilon = self.epsilon if self.certain else left_by_test(self.epsilon)
        return fixed_threshold(epsilon, self.groups_per_unit, self.gap, bound_thresholds(self.bound))

    @cached_property
    def chosen(self) -> Gem:
        """The release at a threshold that is chosen."""
        return Gem(
            PureBudget(left_by_test(self.epsilon)),
            self.groups_per_unit,
            self.gap,
            self.thresholds,
            NESTED_SELECTION if self.nested else SELECTION,
            monotone=self.monotone,
            nested=self.nested,
        )

    def test(self, n_groups: int = 1) -> BoundTest:
        """The test of one group's sum. Public."""
        return bound_test(self.epsilon, self.bound, self.gap, self.groups_per_unit, n_groups)

    def release(self, tuples: CodedJoinTuples, row: int, entropy: Entropy) -> NoisyAnswer:
        """Test every group, truncate and release it.

        Returns: one noisy value per group; each interval covers the truncated answer at its tau.
        Cost: linear in m where the bound is good enough; else that of `Gem`.
        """
        return self.release_sum(TuplesOfSum(tuples, row, self.gap, self.solver), entropy)

    def release_sum(self, one: TruncatedSum, entropy: Entropy) -> NoisyAnswer:
        """`release`, of a sum that is truncated as it is asked for. Raises: as `release`."""
        bounded = one.at(self.direct.thresholds)
        if self.certain:
            return replace(self.direct.release(bounded, entropy), mechanism=self.name)
        passes = self.test(one.n_groups).passes(settled_values(bounded, 0), entropy, one.units())
        answers = []
        if passes.any():
            answers.append(self.direct.release(bounded, entropy))
        if not passes.all():
            answers.append(self.chosen.release(one.at(self.thresholds), entropy))
        return replace(_either(passes, answers), mechanism=self.name, epsilon=self.epsilon)

    def expected_noise(self, n_groups: int) -> list[tuple[float, float]]:
        """(tau, half-width of a group's interval) of each threshold that may be chosen, and of the bound: in
        normalised weight."""
        chosen = [] if self.certain else self.chosen.expected_noise(n_groups)
        return [*chosen, *self.direct.expected_noise(n_groups)]

    def check_noise(self, n_groups: int = 1) -> None:
        """Refuse noise or scores out of range for up to so many groups. Public. Raises: InvalidParameter."""
        self.direct.check_noise(n_groups)
        if not self.certain:
            check_levels((self.test(n_groups).level,))
            self.chosen.check_noise(n_groups)


def bound_test(
    epsilon: float,
    bound: int,
    gap: float = 0.0,
    groups_per_unit: int | None = 1,
    n_groups: int = 1,
    enough: float = ENOUGH,
) -> BoundTest:
    """The test of one group's sum, for its share of what the test and the release spend together. Public.

    Args:
      epsilon: of the test and the release, in all groups together.
      bound: Delta, in normalised weight.
      gap, groups_per_unit, n_groups: as of `BoundFirst`.
      enough: as of `BoundTest`.
    """
    parts = epsilon * TEST_SHARE * DOWN, left_by_test(epsilon)
    share, left = (group_epsilon(part, groups_per_unit, n_groups) for part in parts)
    return BoundTest(share, left, bound_thresholds(bound), gap, enough)


def left_by_test(epsilon: float) -> float:
    """What of epsilon the release has: with the test's share a little less than epsilon."""
    return epsilon * (1 - TEST_SHARE) * DOWN


def _either(passes: Bools, answers: list[NoisyAnswer]) -> NoisyAnswer:
    """Of each group the release that its test asks for; `answers`: that at the bound, then the chosen one."""
    if len(answers) == 1:
        return answers[0]
    direct, chosen = answers
    fields = ("values", "tau", "noise_scale", "low", "high", "signal")
    kept = {name: np.where(passes, getattr(direct, name), getattr(chosen, name)) for name in fields}
    return replace(direct, **kept)
