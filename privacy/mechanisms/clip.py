"""`l1_clip` and `l2_clip`: what a unit adds to all groups together is scaled to a chosen or declared length.

Coded join tuples of one owner enter, or what a database has added up of them; one noisy value per group leaves. At a
length that somebody names, how many units have more is released beside the sums.
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
from privacy.noisy_answer import Exceeding, NoisyAnswer
from privacy.thresholds import Thresholds
from privacy.truncation.histograms import VectorsOfSum
from privacy.units import Floats, Ints


@dataclass(frozen=True)
class Clip(OneChoice):
    """One tau for all groups, chosen by how many units are longer; then sum_u x_u min(1, tau / |x_u|) plus noise.

    Pure budgets take |x| for the sum of a unit's groups, and Laplace noise tau / epsilon in each; concentrated ones
    the Euclidean length, and Gaussian noise tau / sqrt(2 rho). Both whatever the number of groups, and in how many
    of them a unit is. epsilon-DP or rho-zCDP: the choice has its share (`ExceedanceScores`), the release what is
    left, and its sums move by tau in that norm (`UnitVectors`). Pointwise in tau.

    The tuples must not have gone through `keep_groups`: there is no need for it. A ladder of one threshold leaves
    nothing to choose: the release then gets everything.
    Source: docs/mathematics.md, section 4.1.

    Attributes:
      ladder: the thresholds.
      confidence: as of `Gem`.
      budget: for all groups together.
      selection: how tau is chosen; its split is a share of epsilon, or of rho.
      charge: >= 0, how many times a threshold's noise counts in its score.
      less: the row of the weights that is taken off, where units add with either sign; None where none does.
    """

    budget: Budget
    thresholds: Thresholds = field(default_factory=Thresholds)
    selection: SelectionSettings = NESTED_SELECTION
    confidence: float = 0.95
    charge: float = 1.0
    less: int | None = None

    def __post_init__(self) -> None:
        check_confidence(self.confidence)

    @property
    def euclidean(self) -> bool:
        """Is a unit's vector measured by its Euclidean length, rather than by its sum?"""
        return isinstance(self.budget, ConcentratedBudget)

    @property
    def name(self) -> str:
        """`l1_clip` or `l2_clip`, by the norm that a unit's vector is bounded in."""
        return "l2_clip" if self.euclidean else "l1_clip"

    def release(self, tuples: CodedJoinTuples, row: int, entropy: Entropy) -> NoisyAnswer:
        """Choose tau, scale, release one noisy value per group.

        Args:
          tuples: m join tuples of one owner position in G groups.
        Returns: the noisy values; each interval covers the group's sum of scaled entries.
        Cost: linear in m, three passes over the units, some hundred draws and one per group.
        """
        vectors = UnitVectors.of_sum(tuples, row, self.less, euclidean=self.euclidean)
        index = self.choose(vectors, entropy)
        return self.release_at(index, vectors, entropy)

    def choose(self, vectors: UnitVectors | VectorsOfSum, entropy: Entropy) -> int:
        """The index of the threshold, for eps_s; nothing is drawn where there is one. Raises: EntropyFailed."""
        alone = len(self.thresholds) == 1
        return 0 if alone else self._chosen(vectors.kept(self.thresholds), vectors.n_groups, entropy)

    def release_at(self, index: int, vectors: UnitVectors, entropy: Entropy) -> NoisyAnswer:
        """Scale to a threshold, and release with what is left of the budget. Raises: EntropyFailed."""
        return self._noised(vectors.sums(int(self.thresholds.units[index])), index, self._levels, entropy)

    def release_vectors(self, vectors: VectorsOfSum, entropy: Entropy) -> NoisyAnswer:
        """As `release`, of what a database has added up of the units: noise hides its rounding in every group, too.

        Args:
          vectors: of one sum, at the thresholds of the ladder; a unit's length is in the norm of the budget.
        Raises: as `release`; InvalidParameter where units add with either sign, which no histogram says.
        Cost: linear in the rows of the histogram.
        """
        if self.less is not None:
            raise InvalidParameter("a histogram of lengths adds up weights of one sign")
        index, levels = self.choose(vectors, entropy), self._rounded(vectors.n_groups)
        return self._noised(
            vectors.sums(int(self.thresholds.units[index]), levels[index].step), index, levels, entropy
        )

    def _noised(self, sums: Ints, index: int, levels: Sequence[ThresholdNoise], entropy: Entropy) -> NoisyAnswer:
        """Noise of one rung on (G,) sums in its steps."""
        noise, size = levels[index], len(sums)
        values = (sums + noise.draw(size, entropy)).astype(np.float64) * noise.step_weight
        signal = np.full(size, self._signal(values, noise.tau))
        return answer_with_interval(values, np.full(size, index, np.intp), levels, signal, self)

    def check_noise(self, n_groups: int = 1) -> None:
        """Refuse noise or scores out of range for up to so many groups. Public. Raises: InvalidParameter."""
        self._check_choice(n_groups)
        check_levels(self._levels)
        check_levels(self._rounded(max(1, n_groups)))

    def expected_noise(self, n_groups: int) -> list[tuple[float, float]]:
        """(tau, half-width of a group's interval) for each threshold that may be chosen, in normalised weight."""
        return half_widths(self._levels, self.confidence)

    def _signal(self, values: Floats, tau: float) -> float:
        """As in NoisyAnswer, of all groups together: each is taken to lack as large a part of itself as all do."""
        total = float(values.sum())
        doubt = self.doubt(len(values))
        return max(0.0, total if self.less is None else abs(total)) / (doubt * tau) if doubt else math.inf

    @property
    def _levels(self) -> Sequence[ThresholdNoise]:
        return self.budget.levels(self.thresholds, 0.0, self.budget.releasing(self._split), step_of)

    def _rounded(self, n_groups: int) -> Sequence[ThresholdNoise]:
        """The rungs of `release_vectors`."""
        part = self.budget.releasing(self._split)
        grids = (RoundedNoise(tau, 0.0, Fraction(1), groups=n_groups) for tau in self.thresholds.units.tolist())
        return [self.budget.level(grid, part) for grid in grids]

    def _noise_price(self, n_groups: int) -> float:
        """What noise is charged at: the sum of all groups' mean noise in multiples of tau."""
        scale = self.budget.scale(self.budget.releasing(self._split))
        return self.charge * max(1, n_groups) * self.budget.mean_noise * scale

    def doubt(self, n_groups: int) -> float:
        """What a value is measured in for its `signal`, in multiples of tau; 0 where nothing is chosen."""
        if len(self.thresholds) == 1:
            return 0.0
        return self.selection.doubt(self._noise_price(n_groups), float(self._selecting))

    def _scores(self, n_groups: int) -> ExceedanceScores:
        return self.selection.exceedance_scores(self.thresholds, self._noise_price(n_groups), float(self._selecting))


COUNT_SHARE = Fraction(1, 10)
"""Of epsilon, what counts the units that have more than the threshold."""

_UP = 1 + 2.0**-40


@dataclass(frozen=True)
class CountedClip(Pure):
    """Sums of vectors that are no longer than tau, for 9/10 of epsilon; for 1/10 how many units are longer.

    epsilon-DP. Let a unit u go, with everything that it owns; when it comes, the same holds the other way round.
    What is kept of a unit, C(x) (`UnitVectors`), is a function of its own rows and of tau, which is public: no other
    unit's changes. So the sums over all groups move by C(x_u), of length tau at most. Laplace noise of scale
    tau / (9/10 epsilon) in each group lets their density change by a factor exp(9/10 epsilon) at most. The number of
    units that are longer than tau moves by 1 if u is, else by 0. Discrete Laplace noise of scale 10 / epsilon lets
    its probability change by exp(epsilon / 10) at most. The two noises are independent, so the factors multiply: the
    pair is epsilon-DP. Intervals, and the upper end of the number, follow from the pair and from public numbers.

    The interval, where nobody is longer than A, `at_most`, and beta is 1 - `confidence`. A unit that is longer than
    tau loses x_uf (1 - tau / |x_u|) in group f, in size |x_u| - tau at most, hence A - tau. So N longer units lose
    N (A - tau) together in a group at most, upwards where nobody adds a negative number. N lies above its upper end
    in beta / 2 of all draws, and a group's noise outside of its own interval in beta / 2 of them. So the interval
    that is raised by that many units' loss holds the true sum with `confidence`. If A is not true the interval may
    miss it; privacy rests on tau alone.

    Attributes:
      epsilon: of both together, for all groups.
      ladder: its one threshold tau.
      at_most: A > tau, in normalised weight: what nobody exceeds; None: nothing is promised, and the interval is that
        of the sum of what is kept.
      less: as of `Clip`.
      confidence: of each group's interval, and of the number's upper end or more, in (0, 1).
    """

    epsilon: float
    thresholds: Thresholds
    at_most: Fraction | None = None
    less: int | None = None
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if len(self.thresholds) != 1:
            raise InvalidParameter("a threshold that is named is one threshold")
        if exact_epsilon(self.clip.epsilon) + self.noise.epsilon > exact_epsilon(self.epsilon):
            raise InvalidParameter("the sums and the count spend no more than they have")

    @property
    def clip(self) -> Clip:
        """The release of the sums, with the confidence that is left for them."""
        share = self.epsilon * float(1 - COUNT_SHARE) * DOWN
        return Clip(PureBudget(share), self.thresholds, confidence=1 - self._missing, less=self.less)

    @property
    def noise(self) -> IntegerNoise:
        """Of the number of units."""
        return IntegerNoise(1, exact_epsilon(self.epsilon) * COUNT_SHARE)

    @property
    def name(self) -> str:
        """`l1_clip`, which releases its sums."""
        return self.clip.name

    def release(self, tuples: CodedJoinTuples, row: int, entropy: Entropy) -> NoisyAnswer:
        """Clip at tau, release one noisy value per group, and how many units have more.

        Args, raises, cost: as of `Clip`.
        """
        vectors = UnitVectors.of_sum(tuples, row, self.less, euclidean=False)
        return self._beside(self.clip.release_at(0, vectors, entropy), vectors, entropy)

    def release_vectors(self, vectors: VectorsOfSum, entropy: Entropy) -> NoisyAnswer:
        """As `release`, of what a database has added up of the units. Raises: as `release`."""
        return self._beside(self.clip.release_vectors(vectors, entropy), vectors, entropy)

    def _beside(self, noisy: NoisyAnswer, vectors: UnitVectors | VectorsOfSum, entropy: Entropy) -> NoisyAnswer:
        """The sums, and how many units have more."""
        longer = vectors.kept(self.thresholds).exceedances
        assert longer is not None, "tuples of one owner are counted by their loads"
        people = int(self.noise.released(np.asarray(longer[0], np.int64), entropy)[0])
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
        """(tau, half-width of a group's interval), in normalised weight, where nobody has more than tau."""
        moved = self._reach * self._loss / (2 if self.less is None else 1)
        return [(tau, half + moved) for tau, half in self.clip.expected_noise(n_groups)]

    def check_noise(self, n_groups: int = 1) -> None:
        """Refuse noise that leaves its range. Public. Raises: InvalidParameter, whenever `release` would."""
        self.clip.check_noise(n_groups)
        check_scale(self.noise.scale)

    @property
    def _missing(self) -> float:
        """In how much of all draws the noise may lie outside of its interval; as often the number above its end."""
        return (1 - self.confidence) / (1 if self.at_most is None else 2)

    @property
    def _reach(self) -> int:
        """How far the number of units lies above the released one at most."""
        return self.noise.upper_quantile(self._missing)

    @property
    def _loss(self) -> float:
        """What a unit that has more than tau loses at most, in normalised weight; 0 where no interval counts it."""
        if self.at_most is None:
            return 0.0
        return max(0.0, float(self.at_most - Fraction(float(self.thresholds.taus[0])))) * _UP
