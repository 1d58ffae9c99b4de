"""`bound_first`: release at the public bound if its noise is small beside the sum, else at a chosen threshold."""

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
"""The test's share of epsilon."""

ENOUGH = 40.0
"""How many times the noise of the release at the bound a sum has to be. The median error is then at most 1.7% of the
sum; a chosen threshold may be off by 5 to 30%. A sum of 0 passes in 6 of 1,000 releases, and one of half as much in
50. Its interval then shows the large noise."""

MEAN_OF_BOUND = 150
"""How many times a unit's mean contribution the bound may be. Above that nearly all units are far below the bound. A
chosen threshold then errs less even than small noise at the bound, if there are many units."""

_MOST_UNITS = 1 << 32
"""How many units may add to one sum."""


def bound_thresholds(bound: int) -> Thresholds:
    """The one threshold Delta, in normalised weight, for a Delta from 1 to 2^32."""
    return one_threshold(Fraction(bound))


@dataclass(frozen=True)
class BoundTest:
    """Test whether a sum is large beside the noise of its public bound. It releases one bit.

    The test compares the sum truncated at Delta with max(enough Delta / epsilon', n Delta / MEAN_OF_BOUND). epsilon'
    is the release's, and n the number of units that add to the sum, for tuples with one owner. An added unit adds
    between 0 and Delta to the sum, and between 0 and Delta / MEAN_OF_BOUND to the other side. So the difference moves
    by at most (1 + gap) Delta, and noise of that sensitivity makes it epsilon-DP (`ThresholdNoise`). In steps: the
    sum is floored to k steps at most of a difference. The other side is rounded up and rises by ceil(Delta /
    (MEAN_OF_BOUND step)) <= k. The proof does not need the bound to be true.
    Source: docs/mathematics.md, section 3.1 for the sensitivity of the sum.

    Attributes:
      epsilon: what the test of one sum spends.
      releasing: > 0, the release's epsilon if the sum is large enough.
      thresholds: its one threshold Delta.
      gap: eta, the solver's constant relative gap.
      enough: how many times the noise of the release the sum has to be.
    """

    epsilon: Fraction
    releasing: Fraction
    thresholds: Thresholds
    gap: float = 0.0
    enough: float = ENOUGH

    def __post_init__(self) -> None:
        if len(self.thresholds) != 1:
            raise InvalidParameter("a public bound must be one threshold")
        if not (self.epsilon > 0 and self.releasing > 0):
            raise InvalidParameter("the test and the release must each have an epsilon above 0")

    @cached_property
    def level(self) -> ThresholdNoise:
        """The noise and the grid of the test."""
        return ThresholdNoise(int(self.thresholds.units[0]), self.gap, self.epsilon)

    @cached_property
    def least(self) -> int:
        """The least noisy sum that passes, in steps. Public."""
        return math.ceil(Fraction(self.enough) * self.level.tau_units / (self.releasing * self.level.step))

    def passes(self, values: Ints, entropy: Entropy, units: Ints | None = None) -> Bools:
        """Decide which sums are large.

        Args:
          values: (G,) int64 units, truncated at Delta.
          units: (G,) int64 privacy units that add to each sum, for tuples with one owner; None compares with the
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
    """A test of the sum; then a release at the public bound Delta, or `Gem` with a chosen threshold.

    A release at Delta clips nothing and errs by ln(2) Delta / epsilon at the median. A chosen threshold t errs by 2
    to 25 times t / epsilon on any data, as no choice can tell whether a few units have more. `make benchmark
    NAME=declared_bound` measures it. So the bound is better unless t is far below it, for instance if a condition
    leaves few rows of a unit. The data decide which is the case. But a sum of many times Delta / epsilon hides noise
    of that size, and a cheap test tells.

    epsilon-DP for either outcome of the test. In each group the test spends TEST_SHARE of epsilon / L0, and the
    release spends the rest. A true bound makes the release unbiased; privacy does not depend on it.
    Source: docs/mathematics.md, section 6.7. The test follows propose-test-release (Dwork and Lei, STOC 2009),
      applied to the answer instead of the sensitivity.

    Attributes:
      epsilon, groups_per_unit, gap, monotone, nested: as of `Gem`.
      bound: Delta, in [1, 2^32]: the most join tuples of a unit, each of normalised weight 1 at most.
      thresholds: the candidate thresholds for small sums.
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
        """Whether the only candidate threshold is at the bound or above. The release then gets all of epsilon."""
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
        """Test every group, truncate it and release it; each interval covers the truncated answer at its tau.

        Cost: linear in m if the bound is good enough; else that of `Gem`.
        """
        return self.release_sum(TuplesOfSum(tuples, row, self.gap, self.solver), entropy)

    def release_sum(self, one: TruncatedSum, entropy: Entropy) -> NoisyAnswer:
        """`release` from a sum that truncates itself on request. Raises: as `release`."""
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
        """(tau, half-width of a group's interval) of each candidate and of the bound, in normalised weight."""
        chosen = [] if self.certain else self.chosen.expected_noise(n_groups)
        return [*chosen, *self.direct.expected_noise(n_groups)]

    def check_noise(self, n_groups: int = 1) -> None:
        """Refuse noise or scores out of range for up to `n_groups` groups. Public. Raises: InvalidParameter."""
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
    """The test of one group's sum, with its share of the epsilon of test and release. Public.

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
    """The part of epsilon that the test leaves for the release; both together spend at most epsilon."""
    return epsilon * (1 - TEST_SHARE) * DOWN


def _either(passes: Bools, answers: list[NoisyAnswer]) -> NoisyAnswer:
    """Each group's release by its test.

    Args:
      answers: the release at the bound, then the chosen one.
    """
    if len(answers) == 1:
        return answers[0]
    direct, chosen = answers
    fields = ("values", "tau", "noise_scale", "low", "high", "signal")
    kept = {name: np.where(passes, getattr(direct, name), getattr(chosen, name)) for name in fields}
    return replace(direct, **kept)
