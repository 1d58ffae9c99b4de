"""`l2_clip`: every unit's vector over the groups is clipped in Euclidean length, and Gaussian noise hides one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privacy.accounting.event import PrivacyEvent
from privacy.entropy import Entropy, check_scale, checked
from privacy.exact import DOWN, check_confidence
from privacy.join_tuples import CodedJoinTuples
from privacy.ladder import Ladder
from privacy.mechanisms.budget import MEAN_GAUSSIAN, ConcentratedBudget
from privacy.mechanisms.clipping.clipped_vectors import STEPS, ClippedVectors, sum_sensitivity
from privacy.mechanisms.noise.gaussian_threshold_noise import upper_quantile
from privacy.mechanisms.selection.scores import Scores
from privacy.mechanisms.selection.settings import SelectionSettings
from privacy.noisy_answer import NoisyAnswer
from privacy.truncation.control import QUIET, Control

CLIP_SELECTION = SelectionSettings(split=0.2)
"""The defaults: there is one choice to pay for, and a release in every group."""


@dataclass(frozen=True)
class L2Clip:
    """One tau for all groups, chosen by gem on -sum_u |C(x_u)|; then sum_u C(x_u) plus one Gaussian per group.

    rho-zCDP: the selection has eps_s^2 / 8, its scores being of sensitivity tau; the release S^2 / (2 scale^2), S
    the Euclidean sensitivity of whole numbers of steps (ClippedVectors). It pays where one unit reaches many groups,
    with less in most of them than in all together: the noise of a group is tau / sqrt(2 rho), whatever L0 is.

    The tuples must not have gone through `keep_groups`: a group that enters is not a partial removal, and there
    is no need for it. A ladder of one threshold leaves nothing to choose: the release then gets everything.
    Source: privacy.md section 5.

    Attributes:
      budget: rho for all groups together, and the delta at which it is stated.
      ladder: the thresholds.
      selection: how tau is chosen; its split is a share of rho.
      confidence: of each group's interval, over the release noise, in (0, 1).
    """

    budget: ConcentratedBudget
    ladder: Ladder = field(default_factory=Ladder)
    selection: SelectionSettings = CLIP_SELECTION
    confidence: float = 0.95

    def __post_init__(self) -> None:
        check_confidence(self.confidence)

    @property
    def name(self) -> str:
        """`l2_clip`: each unit's vector over the groups is clipped in its Euclidean length."""
        return "l2_clip"

    @property
    def epsilon(self) -> float:
        """What rho is at `delta`."""
        return self.budget.epsilon

    @property
    def delta(self) -> float:
        """The delta at which the budget is stated."""
        return self.budget.delta

    @property
    def event(self) -> PrivacyEvent:
        """rho-zCDP, over all groups."""
        return self.budget.event

    def release(self, tuples: CodedJoinTuples, row: int, entropy: Entropy, control: Control = QUIET) -> NoisyAnswer:
        """Choose tau, clip, release one noisy value per group.

        Args:
          tuples: m join tuples of one owner position in G groups.
          row: which row of tuples.weights.
          entropy: where the noise comes from.
          control: watches and stops between the passes.
        Returns: the noisy values; each interval covers the group's sum of clipped entries.
        Raises: InvalidParameter before noise is drawn; EntropyFailed; Cancelled.
        Cost: linear in m, L passes over the members, some twenty draws and one per group.
        """
        vectors = ClippedVectors(tuples, row)
        control.check("clip")
        index = self._choose(vectors, entropy)
        control.check("clip")
        scale = self._scale(vectors.n_groups)
        tau = float(self.ladder.taus[index])
        step = tau / STEPS
        noise = checked(entropy.gaussian(scale, vectors.n_groups), vectors.n_groups)
        noisy = vectors.sums(int(self.ladder.units[index])) + noise
        values = noisy.astype(np.float64) * np.float64(step)
        reach = self._reach(vectors.n_groups) * step
        everywhere = np.ones(vectors.n_groups)
        return NoisyAnswer(
            values=values,
            tau=tau * everywhere,
            noise_scale=scale * step * everywhere,
            low=values - reach,
            high=values + reach,
            confidence=self.confidence,
            covers="truncated_full",
            mechanism=self.name,
            epsilon=self.epsilon,
            signal=self._signal(values, tau) * everywhere,
            delta=self.delta,
            noise=self.budget.noise,
        )

    def _choose(self, vectors: ClippedVectors, entropy: Entropy) -> int:
        """The index of the threshold, for eps_s; nothing is drawn where there is one."""
        if len(self.ladder) == 1:
            return 0
        scores = self._scores(vectors.n_groups)
        return int(self.budget.choose(vectors.lengths(self.ladder), scores, self._selecting, entropy).index[0])

    def _signal(self, values: NDArray[np.float64], tau: float) -> float:
        """As in NoisyAnswer, of all groups together."""
        if len(self.ladder) == 1:
            return math.inf
        return max(0.0, float(values.sum())) / (self._doubt(len(values)) * tau)

    def check_noise(self, n_groups: int = 1) -> None:
        """Refuse noise or scores that leave their range for any number of groups up to this one. Public.

        Raises: InvalidParameter, whenever `release` would for that reason.
        """
        if len(self.ladder) > 1:
            self._scores(n_groups)
            check_scale(self.budget.choice_scale(self._selecting, len(self.ladder)))
        check_scale(self._scale(n_groups))

    def epsilon_if_bound_fails(self, n_groups: int) -> float:
        """`epsilon`: no bound on a unit's tuples is relied on."""
        return self.epsilon

    def expected_noise(self, n_groups: int) -> list[tuple[float, float]]:
        """(tau, half-width of a group's interval) for each threshold that may be chosen, in normalised weight."""
        reach = self._reach(n_groups) / STEPS
        return [(tau, reach * tau) for tau in self.ladder.taus.tolist()]

    @property
    def _split(self) -> float:
        """The share of the budget that the choice gets."""
        return 0.0 if len(self.ladder) == 1 else self.selection.split

    @property
    def _selecting(self) -> Fraction:
        """eps_s, rounded down."""
        return self.budget.selecting(self._split)

    def _scale(self, n_groups: int) -> float:
        """sigma of every group's noise in steps, rounded up."""
        rho = float(self.budget.releasing(self._split)) * DOWN
        return sum_sensitivity(n_groups) / math.sqrt(2 * rho) * (1 + 2.0**-50)

    def _reach(self, n_groups: int) -> int:
        """How many steps the noise of one group exceeds with probability 1 - confidence at most."""
        return upper_quantile((1 - self.confidence) / 2, self._scale(n_groups))

    def _noise_price(self, n_groups: int) -> float:
        """What noise is charged at: the mean length of the noise vector in multiples of tau."""
        return math.sqrt(max(1, n_groups)) * MEAN_GAUSSIAN * self._scale(n_groups) / STEPS

    def _doubt(self, n_groups: int) -> float:
        """What a value is measured in for its `signal`, in multiples of tau: as `Gem.doubts`."""
        return self._noise_price(n_groups) + self.selection.doubt(self.ladder, float(self._selecting))

    def _scores(self, n_groups: int) -> Scores:
        noise = (self._noise_price(n_groups),) * len(self.ladder)
        return self.selection.scores(self.ladder, 0.0, noise, float(self._selecting))
