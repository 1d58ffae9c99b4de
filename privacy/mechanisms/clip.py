"""`l1_clip` and `l2_clip`: a unit's vector over all groups is scaled to a chosen or declared norm, then noise is
added.

In: coded join tuples with one owner, or sums that a database made of them. Out: one noisy value per group. At a
  declared norm the mechanism also releases how many units exceed it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from privacy.entropy import Entropy, check_scale
from privacy.errors import InvalidParameter
from privacy.exact import DOWN, check_confidence, exact_epsilon
from privacy.join_tuples import CodedJoinTuples
from privacy.mechanisms.budget import Budget, ConcentratedBudget, PureBudget
from privacy.mechanisms.gem import NESTED_SELECTION
from privacy.mechanisms.measurement import OneChoice, Pure
from privacy.mechanisms.noise import IntegerNoise, ThresholdNoise
from privacy.mechanisms.release import answer_with_interval, check_levels, half_widths
from privacy.mechanisms.scores import ExceedanceScores
from privacy.mechanisms.selection import SelectionSettings
from privacy.mechanisms.unit_vectors import RoundedNoise, UnitVectors, step_of
from privacy.noisy_answer import CONFIDENCE, Exceeding, NoisyAnswer
from privacy.thresholds import Thresholds
from privacy.truncation.histograms import VectorsOfSum
from privacy.units import Floats, Ints

_BREADTH = 0.4
"""A unit of L2 norm 1 adds between 1 and sqrt(G) to G groups together: 1 if it has one group, sqrt(G) if it has the
same in each. It is assumed to add G^0.4, so that what a choice overlooks is marked where units reach many groups.
Chosen by hand from 0, 0.25, 0.35, 0.4 and 0.5; `make benchmark NAME=unmarked` measures tables with a delta, too."""


@dataclass(frozen=True)
class Clip(OneChoice):
    """Scale each unit's vector of contributions, one entry per group, down to norm tau; add up; add noise.

    One tau for all groups is chosen by how many units have a larger norm. The sum is sum_u x_u min(1, tau / |x_u|).

    Pure budgets take the L1 norm and Laplace noise tau / epsilon in each group. Concentrated budgets take the L2 norm
    and Gaussian noise tau / sqrt(2 rho). The noise does not depend on the number of groups of a unit.

    Privacy: epsilon-DP or rho-zCDP for every chosen tau. The choice has its share (`ExceedanceScores`). The release
      has the rest, and one unit changes its sums by at most tau in that norm (`UnitVectors`). With one candidate
      threshold the release has all.

    Do not apply `keep_groups` to the tuples before: it leaves out rows, and saves no noise here.
    Source: docs/mathematics.md, section 4.1.

    Attributes:
      thresholds: the candidate thresholds.
      confidence: of each interval, in (0, 1).
      budget: for all groups together.
      selection: how tau is chosen; its split is the choice's share of epsilon, or of rho.
      charge: >= 0, how heavily a threshold's noise counts against it when tau is chosen; no privacy charge.
      less: the row of the weights to subtract, for sums to which units add positive and negative amounts.
    """

    budget: Budget
    thresholds: Thresholds = field(default_factory=Thresholds)
    selection: SelectionSettings = NESTED_SELECTION
    confidence: float = CONFIDENCE
    charge: float = 1.0
    less: int | None = None

    def __post_init__(self) -> None:
        check_confidence(self.confidence)

    @property
    def euclidean(self) -> bool:
        """Whether a unit's vector is measured by its L2 norm, rather than by its L1 norm."""
        return isinstance(self.budget, ConcentratedBudget)

    @property
    def name(self) -> str:
        """`l1_clip` or `l2_clip`, by the norm."""
        return "l2_clip" if self.euclidean else "l1_clip"

    def release(self, tuples: CodedJoinTuples, row: int, entropy: Entropy) -> NoisyAnswer:
        """Choose tau, scale the vectors, release one noisy value per group.

        Args:
          tuples: m join tuples with one owner position, in G groups.
        Returns: noisy values; each interval covers the group's sum of scaled entries.
        Cost: linear in m, three passes over the units, some hundred draws and one per group.
        """
        vectors = UnitVectors.of_sum(tuples, row, self.less, euclidean=self.euclidean)
        index = self.choose(vectors, entropy)
        return self.release_at(index, vectors, entropy)

    def choose(self, vectors: UnitVectors | VectorsOfSum, entropy: Entropy) -> int:
        """The index of the threshold, for eps_s; free if there is one candidate. Raises: EntropyFailed."""
        alone = len(self.thresholds) == 1
        return 0 if alone else self._chosen(vectors.kept(self.thresholds), vectors.n_groups, entropy)

    def release_at(self, index: int, vectors: UnitVectors, entropy: Entropy) -> NoisyAnswer:
        """Scale to a threshold and release with what is left of the budget. Raises: EntropyFailed."""
        return self._noised(vectors.sums(int(self.thresholds.units[index])), index, self._levels, entropy)

    def release_vectors(self, vectors: VectorsOfSum, entropy: Entropy) -> NoisyAnswer:
        """`release` from sums that a database made; noise also hides their rounding in every group.

        Args:
          vectors: of one sum, at the candidate thresholds, in the norm of the budget.
        Raises: as `release`; InvalidParameter if units add with either sign, which a histogram cannot hold.
        Cost: linear in the rows of the histogram.
        """
        if self.less is not None:
            raise InvalidParameter("a norm histogram needs weights of one sign")
        index, levels = self.choose(vectors, entropy), self._rounded(vectors.n_groups)
        return self._noised(
            vectors.sums(int(self.thresholds.units[index]), levels[index].step), index, levels, entropy
        )

    def _noised(self, sums: Ints, index: int, levels: Sequence[ThresholdNoise], entropy: Entropy) -> NoisyAnswer:
        """Add one threshold's noise to (G,) sums in its steps."""
        noise, size = levels[index], len(sums)
        values = (sums + noise.draw(size, entropy)).astype(np.float64) * noise.step_weight
        signal = np.full(size, self._signal(values, noise.tau))
        return answer_with_interval(values, np.full(size, index, np.intp), levels, signal, self)

    def check_noise(self, n_groups: int = 1) -> None:
        """Refuse noise or scores out of range for up to `n_groups` groups. Public. Raises: InvalidParameter."""
        self._check_choice(n_groups)
        check_levels(self._levels)
        check_levels(self._rounded(max(1, n_groups)))

    def expected_noise(self, n_groups: int) -> list[tuple[float, float]]:
        """(tau, half-width of a group's interval) of each candidate threshold, in normalised weight."""
        return half_widths(self._levels, self.confidence)

    def _signal(self, values: Floats, tau: float) -> float:
        """`NoisyAnswer.signal` of all groups together: each group is assumed to lack the same part of itself."""
        total = float(values.sum())
        doubt = self.doubt(len(values))
        return max(0.0, total if self.less is None else abs(total)) / (doubt * tau) if doubt else math.inf

    @property
    def _levels(self) -> Sequence[ThresholdNoise]:
        return self.budget.levels(self.thresholds, 0.0, self.budget.releasing(self._split), step_of)

    def _rounded(self, n_groups: int) -> Sequence[ThresholdNoise]:
        """The noise of `release_vectors` at each threshold."""
        part = self.budget.releasing(self._split)
        grids = (RoundedNoise(tau, 0.0, Fraction(1), groups=n_groups) for tau in self.thresholds.units.tolist())
        return [self.budget.level(grid, part) for grid in grids]

    def _noise_price(self, n_groups: int) -> float:
        """What the score charges for noise: the mean noise of all groups together, in multiples of what a unit loses
        there when its norm loses tau.
        """
        scale = self.budget.scale(self.budget.releasing(self._split))
        noise = self.charge * max(1, n_groups) * self.budget.mean_noise * scale
        return noise / self._breadth(n_groups)

    def _breadth(self, n_groups: int) -> float:
        """How much a unit is assumed to add to all groups together, in multiples of its norm."""
        return max(1, n_groups) ** _BREADTH if self.euclidean else 1.0

    def doubt(self, n_groups: int) -> float:
        """The value at which `NoisyAnswer.signal` is 1, in multiples of tau; 0 if no threshold is chosen."""
        if len(self.thresholds) == 1:
            return 0.0
        people = self.selection.doubt(self._noise_price(n_groups), float(self._selecting))
        return self._breadth(n_groups) * people

    def doubt_by_distance(self, n_groups: int) -> float:
        """How many people a choice may overlook if they have far more than the threshold; 0 if none is chosen."""
        if len(self.thresholds) == 1:
            return 0.0
        price, selecting = self._noise_price(n_groups), float(self._selecting)
        return self.selection.doubt_by_distance(price, selecting, self.thresholds)

    def _scores(self, n_groups: int) -> ExceedanceScores:
        return self.selection.exceedance_scores(self.thresholds, self._noise_price(n_groups), float(self._selecting))


COUNT_SHARE = Fraction(1, 10)
"""The part of epsilon that counts the units above the threshold."""

_UP = 1 + 2.0**-40


@dataclass(frozen=True)
class CountedClip(Pure):
    """Clipped sums for 9/10 of epsilon, and the number of units above tau for 1/10.

    Privacy: epsilon-DP. Let a unit u come or go with all its rows. What is kept of a unit, C(x) (`UnitVectors`),
      depends on its own rows and on tau, which is public. So the sums over all groups move by C(x_u), of norm tau at
      most. Laplace noise of scale tau / (9/10 epsilon) changes their density by a factor exp(9/10 epsilon) at most.
      The number of units above tau moves by at most 1, and noise of scale 10 / epsilon changes its probability by
      exp(epsilon / 10) at most. The noises are independent, so the factors multiply. Intervals and the upper end of
      the number are post-processing.

    The interval, if no unit exceeds A = `at_most`, with beta = 1 - `confidence`: a unit above tau loses x_uf (1 - tau
    / |x_u|) in group f, at most |x_u| - tau <= A - tau in size. So N such units lose at most N (A - tau) in a group,
    upwards only if no unit adds a negative number. N exceeds its upper end with probability beta / 2, and a group's
    noise leaves its own interval with probability beta / 2. The widened interval therefore holds the true sum with
    `confidence`. A false A costs accuracy, not privacy.

    Attributes:
      epsilon: of both together, for all groups.
      thresholds: its one threshold tau.
      at_most: A > tau, in normalised weight; None: the interval covers the sum of what is kept.
      less: as of `Clip`.
      confidence: of each group's interval, and at least of the number's upper end, in (0, 1).
    """

    epsilon: float
    thresholds: Thresholds
    at_most: Fraction | None = None
    less: int | None = None
    confidence: float = CONFIDENCE

    def __post_init__(self) -> None:
        if len(self.thresholds) != 1:
            raise InvalidParameter("a fixed threshold must be one threshold")
        if exact_epsilon(self.clip.epsilon) + self.noise.epsilon > exact_epsilon(self.epsilon):
            raise InvalidParameter("the shares of the sums and of the count must add up to at most the epsilon")

    @property
    def clip(self) -> Clip:
        """The release of the sums, with the confidence that is left for them."""
        share = self.epsilon * float(1 - COUNT_SHARE) * DOWN
        return Clip(PureBudget(share), self.thresholds, confidence=1 - self._missing, less=self.less)

    @property
    def noise(self) -> IntegerNoise:
        """The noise of the number of units."""
        return IntegerNoise(1, exact_epsilon(self.epsilon) * COUNT_SHARE)

    @property
    def name(self) -> str:
        """`l1_clip`, which releases its sums."""
        return self.clip.name

    def release(self, tuples: CodedJoinTuples, row: int, entropy: Entropy) -> NoisyAnswer:
        """Clip at tau, release one noisy value per group and how many units exceed tau. Args, raises, cost: as of
        `Clip`.
        """
        vectors = UnitVectors.of_sum(tuples, row, self.less, euclidean=False)
        return self._beside(self.clip.release_at(0, vectors, entropy), vectors, entropy)

    def release_vectors(self, vectors: VectorsOfSum, entropy: Entropy) -> NoisyAnswer:
        """`release` from sums that a database made. Raises: as `release`."""
        return self._beside(self.clip.release_vectors(vectors, entropy), vectors, entropy)

    def _beside(self, noisy: NoisyAnswer, vectors: UnitVectors | VectorsOfSum, entropy: Entropy) -> NoisyAnswer:
        """Add the noisy number of units above tau to the released sums."""
        exceeding = vectors.kept(self.thresholds).exceedances
        assert exceeding is not None, "tuples with one owner are counted by their contributions"
        people = int(self.noise.released(np.asarray(exceeding[0], np.int64), entropy)[0])
        most = max(0, people + self._reach)
        above = most * self._loss
        below = 0.0 if self.less is None else above
        return replace(
            noisy,
            low=noisy.low - below,
            high=noisy.high + above,
            confidence=self.confidence,
            epsilon=self.epsilon,
            exceeding=Exceeding(people, most, below, above),
        )

    def expected_noise(self, n_groups: int) -> list[tuple[float, float]]:
        """(tau, half-width of a group's interval), in normalised weight, if no unit exceeds tau."""
        moved = self._reach * self._loss / (2 if self.less is None else 1)
        return [(tau, half + moved) for tau, half in self.clip.expected_noise(n_groups)]

    def check_noise(self, n_groups: int = 1) -> None:
        """Refuse noise that leaves its range. Public. Raises: InvalidParameter, whenever `release` would."""
        self.clip.check_noise(n_groups)
        check_scale(self.noise.scale)

    @property
    def _missing(self) -> float:
        """The probability that a group's noise leaves its interval; also that the number exceeds its upper end."""
        return (1 - self.confidence) / (1 if self.at_most is None else 2)

    @property
    def _reach(self) -> int:
        """How far the number of units lies above the released one at most."""
        return self.noise.upper_quantile(self._missing)

    @property
    def _loss(self) -> float:
        """What a unit above tau loses at most, in normalised weight; 0 without a declared `at_most`."""
        if self.at_most is None:
            return 0.0
        return max(0.0, float(self.at_most - Fraction(float(self.thresholds.taus[0])))) * _UP
