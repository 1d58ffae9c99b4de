"""One threshold for all groups, chosen on their sum; then every group is released at it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privacy.accounting.event import PrivacyEvent
from privacy.entropy import Entropy, check_scale
from privacy.exact import check_confidence, check_gap, check_groups, groups_reached
from privacy.ladder import Ladder
from privacy.mechanisms.answer_with_interval import answer_with_interval, half_widths
from privacy.mechanisms.budget import Budget
from privacy.mechanisms.checks import check_answer
from privacy.mechanisms.groups.summed_answer import SummedAnswer
from privacy.mechanisms.noise.release import Stepped, check_rungs, release_noise, released
from privacy.mechanisms.noise.threshold_noise import whole_number
from privacy.mechanisms.selection.exceedances import ExceedanceScores
from privacy.mechanisms.selection.lazy_choice import settled_values
from privacy.mechanisms.selection.scores import Scores
from privacy.mechanisms.selection.settings import MOST_NOISE, SelectionSettings
from privacy.noisy_answer import NoisyAnswer
from privacy.truncation.truncated_answer import TruncatedAnswer

SHARED_SELECTION = SelectionSettings(split=0.2)
"""The defaults: one choice is made, and every group released."""

_SPREAD, _NESTED_SPREAD = 0.75, 1.0
"""Noise of G groups is charged as G^0.75 of it. Where all groups lose alike to truncation, their squared errors are
least with G; where one group has everything, with sqrt(G). Scored by how many units have more with G: nothing else
asks more of thresholds where there are more groups."""


@dataclass(frozen=True)
class SharedThreshold:
    """gem on sum_f v(f, tau) / L0, whose sensitivity is that of one group; then v(f, tau) plus noise in every group.

    A threshold for each group has to be chosen with a share of the budget for each group that a unit reaches. One
    for all is chosen once, on a sum in which the L0 groups of a unit weigh as little as L0 / G. The price is that
    groups of very different people share it.

    A ladder of one threshold leaves nothing to choose: the release then gets everything.

    Under pure privacy the selection spends eps_s and each release eps_f / L0, with eps_s + eps_f = epsilon; under
    zCDP the selection eps_s^2 / 8 and each release (1 + gap)^2 tau^2 / (2 sigma^2) = rho_f / L0. Pointwise in the
    threshold.
    Source: privacy.md sections 4 and 5; the sum in `SummedAnswer`.

    Attributes:
      budget: for all groups together.
      groups_per_unit: L0, or None when only the number of groups bounds it.
      gap: eta; the solver's constant relative gap.
      ladder: the thresholds.
      selection: how the threshold is chosen; its split is a share of epsilon, or of rho.
      confidence: of each group's interval, over the release noise, in (0, 1).
      nested: does a unit add min(tau, load) to each group, as where every tuple has one owner? Thresholds are then
        scored by how many units exceed them (`ExceedanceScores`), in all groups together.
    """

    budget: Budget
    groups_per_unit: int | None = None
    gap: float = 0.0
    ladder: Ladder = field(default_factory=Ladder)
    selection: SelectionSettings = SHARED_SELECTION
    confidence: float = 0.95
    nested: bool = False

    def __post_init__(self) -> None:
        check_groups(self.groups_per_unit)
        check_gap(self.gap)
        check_confidence(self.confidence)

    @property
    def name(self) -> str:
        """`gem`: it selects one threshold, on the sum over the groups."""
        return "gem"

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

    def release(self, answer: TruncatedAnswer, entropy: Entropy) -> NoisyAnswer:
        """Release one noisy value per group.

        Args:
          answer: values of G groups on `ladder`, with a gap of at most `gap`.
          entropy: where the noise comes from.
        Returns: the noisy values; each interval covers the truncated answer at the one tau.
        Raises: InvalidParameter before noise is drawn; EntropyFailed; SolverFailed from the answer.
        Cost: a few dozen draws and one per group, and every group's value at the thresholds that may be chosen.
        """
        check_answer(answer, self.ladder, self.gap)
        rung = self.choose(answer, entropy)
        return self.release_at(rung, settled_values(answer, np.full(answer.n_groups, rung, np.intp)), entropy)

    def choose(self, answer: TruncatedAnswer, entropy: Entropy) -> int:
        """The index of the threshold, for eps_s; nothing is drawn where there is one. Raises: as `release`."""
        if len(self.ladder) == 1:
            return 0
        summed = SummedAnswer(answer, self._reached(answer.n_groups))
        choice = self.budget.choose(summed, self._scores(answer.n_groups), self._selecting, entropy)
        return int(choice.index[0])

    def release_at(self, rung: int, exact: NDArray[np.int64], entropy: Entropy) -> NoisyAnswer:
        """Noise for what is left of the budget, on values that move by (1 + gap) tau in the L0 groups of a unit.

        Args:
          rung: the index of the threshold tau, as `choose` found it.
          exact: (G,) int64 units.
          entropy: where the noise comes from.
        Raises: EntropyFailed.
        """
        n_groups = len(exact)
        index = np.full(n_groups, rung, np.intp)
        steps = self._rungs(n_groups)
        values = released(exact, release_noise(index, steps, entropy), index, steps)
        return answer_with_interval(values, index, steps, self._signal(values, steps[rung].tau), self)

    def check_noise(self, n_groups: int = 1) -> None:
        """Refuse noise or scores that leave their range for any number of groups up to this one. Public.

        The noise of a group and its price in the scores rise with their number.

        Raises: InvalidParameter, whenever `release` would for that reason.
        """
        if len(self.ladder) > 1:
            self._scores(n_groups)
            check_scale(self.budget.choice_scale(self._selecting, len(self.ladder)))
        check_rungs(self._rungs(n_groups))

    def epsilon_if_bound_fails(self, n_groups: int = 1) -> float:
        """`epsilon`: no bound on a unit's tuples is relied on."""
        return self.epsilon

    def expected_noise(self, n_groups: int = 1) -> list[tuple[float, float]]:
        """(tau, half-width of a group's interval) for each threshold that may be chosen, in normalised weight."""
        return half_widths(self._rungs(n_groups), self.confidence)

    def noise_per_tau(self, n_groups: int) -> float:
        """The noise scale of each group in multiples of (1 + gap) tau, by the budget alone. Public."""
        return self.budget.scale(self._releasing(n_groups))

    def noise_beside_a_choice(self, n_groups: int) -> float:
        """`noise_per_tau` as it is with a threshold to choose, also where this ladder has only one. Public.

        What is decided by it is the same for any ladder.
        """
        return self.budget.scale(self.budget.releasing(self.selection.split) / self._reached(n_groups))

    def _signal(self, values: NDArray[np.float64], tau: float) -> NDArray[np.float64]:
        """The price of tau is for the sum over the groups in units of L0: the released sum is measured by it."""
        n_groups = len(values)
        if len(self.ladder) == 1:
            return np.full(n_groups, np.inf)
        seen = max(0.0, float(values.sum())) / self._reached(n_groups)
        return np.full(n_groups, seen / (self._doubt(n_groups) * tau))

    @property
    def _split(self) -> float:
        """The share of the budget that the choice gets."""
        return 0.0 if len(self.ladder) == 1 else self.selection.split

    @property
    def _selecting(self) -> Fraction:
        """eps_s of the one selection."""
        return self.budget.selecting(self._split)

    def _rungs(self, n_groups: int) -> Sequence[Stepped]:
        counts = self.nested and self.ladder.whole  # whole numbers
        return self.budget.rungs(
            self.ladder, self.gap, self._releasing(n_groups), *([whole_number] if counts else [])
        )

    def _releasing(self, n_groups: int) -> Fraction:
        """Of epsilon, or of rho, for the release of one group."""
        return self.budget.releasing(self._split) / self._reached(n_groups)

    def _reached(self, n_groups: int) -> int:
        """L0, or the number of groups where that is less."""
        return groups_reached(self.groups_per_unit, n_groups)

    def _noise_price(self, n_groups: int) -> float:
        """What the noise of all groups is charged at in the summed answer, in multiples of (1 + gap) tau."""
        spread = float(max(1, n_groups) ** (_NESTED_SPREAD if self.nested else _SPREAD))
        price = spread / self._reached(n_groups) * self.budget.mean_noise * self.noise_per_tau(n_groups)
        return min(price, MOST_NOISE) if self.nested else price

    def _doubt(self, n_groups: int) -> float:
        """What a value is measured in for its `signal`, in multiples of tau: as `Gem.doubts`."""
        return self.selection.doubt(self._noise_price(n_groups), float(self._selecting))

    def _scores(self, n_groups: int) -> Scores | ExceedanceScores:
        price, selecting = self._noise_price(n_groups), float(self._selecting)
        if self.nested:
            return self.selection.exceedance_scores(self.ladder, price, selecting, self._reached(n_groups))
        scores = self.selection.scores(self.ladder, self.gap, (price,) * len(self.ladder), selecting)
        return replace(scores, monotone=True)  # of summed answers: see there
