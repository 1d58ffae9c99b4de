"""`l1_clip` and `l2_clip`: what a unit adds to all groups is scaled to a length tau, and noise hides one unit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privacy.accounting.event import PrivacyEvent
from privacy.entropy import Entropy, check_scale
from privacy.errors import InvalidParameter
from privacy.exact import check_confidence
from privacy.join_tuples import CodedJoinTuples
from privacy.ladder import Ladder
from privacy.mechanisms.answer_with_interval import answer_with_interval, half_widths
from privacy.mechanisms.budget import Budget, ConcentratedBudget
from privacy.mechanisms.clipping.rounded_noise import RoundedNoise
from privacy.mechanisms.clipping.unit_vectors import UnitVectors, step_of
from privacy.mechanisms.gem import NESTED_SELECTION
from privacy.mechanisms.noise.release import Stepped, check_rungs
from privacy.mechanisms.selection.exceedances import ExceedanceScores
from privacy.mechanisms.selection.settings import SelectionSettings
from privacy.noisy_answer import NoisyAnswer
from privacy.truncation.control import QUIET, Control
from privacy.truncation.loads.length_histogram import VectorsOfSum


@dataclass(frozen=True)
class Clip:
    """One tau for all groups, chosen by how many units are longer; then sum_u x_u min(1, tau / |x_u|) plus noise.

    Pure budgets take |x| for the sum of a unit's groups, and Laplace noise tau / epsilon in each; concentrated ones
    the Euclidean length, and Gaussian noise tau / sqrt(2 rho). Both whatever the number of groups, and in how many
    of them a unit is. epsilon-DP or rho-zCDP: the choice has its share (`ExceedanceScores`), the release what is
    left, and its sums move by tau in that norm (`UnitVectors`). Pointwise in tau.

    The tuples must not have gone through `keep_groups`: there is no need for it. A ladder of one threshold leaves
    nothing to choose: the release then gets everything.
    Source: privacy.md section 5.

    Attributes:
      budget: for all groups together.
      ladder: the thresholds.
      selection: how tau is chosen; its split is a share of epsilon, or of rho.
      confidence: of each group's interval, over the release noise, in (0, 1).
      charge: >= 0, how many times a threshold's noise counts in its score.
      less: the row of the weights that is taken off, where units add with either sign; None where none does.
    """

    budget: Budget
    ladder: Ladder = field(default_factory=Ladder)
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

    @property
    def epsilon(self) -> float:
        """What one release spends, for all groups together."""
        return self.budget.epsilon

    @property
    def delta(self) -> float:
        """0 under pure privacy; else the delta at which rho is stated."""
        return self.budget.delta

    @property
    def event(self) -> PrivacyEvent:
        """epsilon-DP or rho-zCDP, over all groups."""
        return self.budget.event

    def release(self, tuples: CodedJoinTuples, row: int, entropy: Entropy, control: Control = QUIET) -> NoisyAnswer:
        """Choose tau, scale, release one noisy value per group.

        Args:
          tuples: m join tuples of one owner position in G groups.
          row: which row of tuples.weights.
          entropy: where the noise comes from.
          control: watches and stops between the passes.
        Returns: the noisy values; each interval covers the group's sum of scaled entries.
        Raises: InvalidParameter before noise is drawn; EntropyFailed; Cancelled.
        Cost: linear in m, three passes over the units, some hundred draws and one per group.
        """
        vectors = UnitVectors.of_sum(tuples, row, self.less, euclidean=self.euclidean)
        control.check("clip")
        index = self.choose(vectors, entropy)
        control.check("clip")
        return self.release_at(index, vectors, entropy)

    def choose(self, vectors: UnitVectors | VectorsOfSum, entropy: Entropy) -> int:
        """The index of the threshold, for eps_s; nothing is drawn where there is one. Raises: EntropyFailed."""
        if len(self.ladder) == 1:
            return 0
        choice = self.budget.choose(
            vectors.kept(self.ladder), self._scores(vectors.n_groups), self._selecting, entropy
        )
        return int(choice.index[0])

    def release_at(self, index: int, vectors: UnitVectors, entropy: Entropy) -> NoisyAnswer:
        """Scale to a threshold, and release with what is left of the budget.

        Args:
          index: of the threshold, as `choose` found it.
          vectors: what units have in each group.
          entropy: where the noise comes from.
        Raises: EntropyFailed.
        """
        n_groups, rungs = vectors.n_groups, self._rungs
        noise = rungs[index]
        sums = vectors.sums(int(self.ladder.units[index]))
        values = (sums + noise.draw(n_groups, entropy)).astype(np.float64) * noise.step_weight
        signal = np.full(n_groups, self._signal(values, noise.tau))
        return answer_with_interval(values, np.full(n_groups, index, np.intp), rungs, signal, self)

    def release_vectors(self, vectors: VectorsOfSum, entropy: Entropy) -> NoisyAnswer:
        """As `release`, of what a database has added up of the units: noise hides its rounding in every group, too.

        Args:
          vectors: of one sum, at the thresholds of the ladder; a unit's length is in the norm of the budget.
          entropy: where the noise comes from.
        Raises: as `release`; InvalidParameter where units add with either sign, which no histogram says.
        Cost: linear in the rows of the histogram.
        """
        if self.less is not None:
            raise InvalidParameter("a histogram of lengths adds up weights of one sign")
        index, rungs = self.choose(vectors, entropy), self._rounded(vectors.n_groups)
        noise = rungs[index]
        sums = vectors.sums(int(self.ladder.units[index]), noise.step)
        values = (sums + noise.draw(vectors.n_groups, entropy)).astype(np.float64) * noise.step_weight
        signal = np.full(vectors.n_groups, self._signal(values, noise.tau))
        return answer_with_interval(values, np.full(vectors.n_groups, index, np.intp), rungs, signal, self)

    def check_noise(self, n_groups: int = 1) -> None:
        """Refuse noise or scores that leave their range for any number of groups up to this one. Public.

        Raises: InvalidParameter, whenever `release` would for that reason.
        """
        if len(self.ladder) > 1:
            self._scores(n_groups)
            check_scale(self.budget.choice_scale(self._selecting, len(self.ladder)))
        check_rungs(self._rungs)
        check_rungs(self._rounded(max(1, n_groups)))

    def epsilon_if_bound_fails(self, n_groups: int) -> float:
        """`epsilon`: no bound on a unit's tuples is relied on."""
        return self.epsilon

    def expected_noise(self, n_groups: int) -> list[tuple[float, float]]:
        """(tau, half-width of a group's interval) for each threshold that may be chosen, in normalised weight."""
        return half_widths(self._rungs, self.confidence)

    def _signal(self, values: NDArray[np.float64], tau: float) -> float:
        """As in NoisyAnswer, of all groups together: each is taken to lack as large a part of itself as all do."""
        total = float(values.sum())
        doubt = self.doubt(len(values))
        return max(0.0, total if self.less is None else abs(total)) / (doubt * tau) if doubt else math.inf

    @property
    def _split(self) -> float:
        """The share of the budget that the choice gets."""
        return 0.0 if len(self.ladder) == 1 else self.selection.split

    @property
    def _selecting(self) -> Fraction:
        """eps_s of the one selection."""
        return self.budget.selecting(self._split)

    @property
    def _rungs(self) -> Sequence[Stepped]:
        return self.budget.rungs(self.ladder, 0.0, self.budget.releasing(self._split), step_of)

    def _rounded(self, n_groups: int) -> Sequence[Stepped]:
        """The rungs of `release_vectors`."""
        part = self.budget.releasing(self._split)
        grids = (RoundedNoise(tau, 0.0, Fraction(1), groups=n_groups) for tau in self.ladder.units.tolist())
        return [self.budget.rung(grid, part) for grid in grids]

    def _noise_price(self, n_groups: int) -> float:
        """What noise is charged at: the sum of all groups' mean noise in multiples of tau."""
        scale = self.budget.scale(self.budget.releasing(self._split))
        return self.charge * max(1, n_groups) * self.budget.mean_noise * scale

    def doubt(self, n_groups: int) -> float:
        """What a value is measured in for its `signal`, in multiples of tau; 0 where nothing is chosen."""
        if len(self.ladder) == 1:
            return 0.0
        return self.selection.doubt(self._noise_price(n_groups), float(self._selecting))

    def _scores(self, n_groups: int) -> ExceedanceScores:
        return self.selection.exceedance_scores(self.ladder, self._noise_price(n_groups), float(self._selecting))
