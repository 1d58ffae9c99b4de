"""One threshold for all groups, chosen on their sum; then every group is released at it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privacy.accounting.event import ZCDP, PrivacyEvent, PureDP
from privacy.entropy import Entropy
from privacy.errors import InvalidParameter
from privacy.ladder import Ladder
from privacy.mechanisms.budget import Budget, PureBudget
from privacy.mechanisms.checks import check_answer
from privacy.mechanisms.concentrated_gem import DOWN, MEAN_GAUSSIAN
from privacy.mechanisms.exact import exact, exact_epsilon
from privacy.mechanisms.exponential_choice import exponential_choice
from privacy.mechanisms.gaussian_release import gaussian_noise
from privacy.mechanisms.gaussian_rung import GaussianRung
from privacy.mechanisms.gem import BETA, RARITY
from privacy.mechanisms.groups.summed_answer import SummedAnswer
from privacy.mechanisms.lazy_choice import choose, settled_values
from privacy.mechanisms.release import release_noise, released
from privacy.mechanisms.rung import Rung, rungs
from privacy.mechanisms.score_prices import farthest, priced_scores
from privacy.mechanisms.selection import Scores, selection_noise
from privacy.noisy_answer import NoisyAnswer
from privacy.truncation.truncated_answer import TruncatedAnswer

SHARED_SPLIT = 0.2
"""The share of the budget that selection gets by default: one choice is made, and every group released."""

_SPREAD = 0.75
"""Noise of G groups is charged as G^0.75 of it. Where all groups lose alike to truncation, their squared errors are
least with G; where one group has everything, with sqrt(G)."""


@dataclass(frozen=True)
class SharedThreshold:
    """gem on sum_f v(f, tau) / L0, whose sensitivity is that of one group; then v(f, tau) plus noise in every group.

    A threshold for each group has to be chosen with a share of the budget for each group that a unit reaches. One
    for all is chosen once, on a sum in which the L0 groups of a unit weigh as little as L0 / G. The price is that
    groups of very different people share it.

    Under pure privacy the selection spends eps_s and each release eps_f / L0, with eps_s + eps_f = epsilon; under
    zCDP the selection eps_s^2 / 8 and each release (1 + gap)^2 tau^2 / (2 sigma^2) = rho_f / L0. Pointwise in the
    threshold.
    Source: privacy.md sections 4 and 5; the sum in `SummedAnswer`.

    Attributes:
      budget: for all groups together.
      groups_per_unit: L0, or None when only the number of groups bounds it.
      gap: eta; the solver's constant relative gap.
      ladder: the thresholds.
      split: the share of epsilon, or of rho, that selects, in (0, 1).
      beta, rarity: as in `Gem`.
      confidence: of each group's interval, over the release noise, in (0, 1).
    """

    budget: Budget
    groups_per_unit: int | None = None
    gap: float = 0.0
    ladder: Ladder = field(default_factory=Ladder)
    split: float = SHARED_SPLIT
    beta: float = BETA
    rarity: float | None = RARITY
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if self.groups_per_unit is not None and self.groups_per_unit < 1:
            raise InvalidParameter("a unit reaches at least one group")
        if not 0 <= self.gap <= 1:
            raise InvalidParameter("a solver gap is between 0 and 1")
        if not all(0 < share < 1 for share in (self.split, self.beta, self.confidence)):
            raise InvalidParameter("split, beta and confidence are between 0 and 1")
        if self.rarity is not None and not 1 < self.rarity < math.inf:
            raise InvalidParameter("rarity is finite and above 1")

    @property
    def name(self) -> str:
        """`gem`."""
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
        return PureDP(self.budget.epsilon) if isinstance(self.budget, PureBudget) else ZCDP(self.budget.rho)

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
        n_groups = answer.n_groups
        rung = self._choose(answer, entropy)
        index = np.full(n_groups, rung, np.intp)
        steps = self._rungs(n_groups)
        values = released(settled_values(answer, index), self._noise(index, entropy), index, steps)
        below, above = steps[rung].interval(self.confidence)
        everywhere = np.ones(n_groups)
        # The price of tau is for the sum over the groups in units of L0: the released sum is measured by it.
        seen = max(0.0, float(values.sum())) / self._reached(n_groups)
        return NoisyAnswer(
            values=values,
            tau=everywhere * steps[rung].tau,
            noise_scale=everywhere * steps[rung].noise_scale,
            low=values - below,
            high=values + above,
            confidence=self.confidence,
            covers="truncated_full",
            mechanism=self.name,
            epsilon=self.epsilon,
            signal=everywhere * (seen / (self._price(n_groups) * steps[rung].tau)),
            delta=self.delta,
            noise="laplace" if isinstance(self.budget, PureBudget) else "gaussian",
        )

    def epsilon_if_bound_fails(self, n_groups: int = 1) -> float:
        """`epsilon`: no bound on a unit's tuples is relied on."""
        return self.epsilon

    def expected_noise(self, n_groups: int = 1) -> list[tuple[float, float]]:
        """(tau, half-width of a group's interval) for each threshold that may be chosen, in normalised weight."""
        return [(rung.tau, sum(rung.interval(self.confidence)) / 2) for rung in self._rungs(n_groups)]

    def _choose(self, answer: TruncatedAnswer, entropy: Entropy) -> int:
        """The index of the threshold: by permute-and-flip under pure privacy, else by the exponential mechanism."""
        scores, summed = self._scores(answer.n_groups), SummedAnswer(answer, self._reached(answer.n_groups))
        if isinstance(self.budget, PureBudget):
            noise = selection_noise((1, len(self.ladder)), self._selecting, entropy)
            return int(choose(summed, scores, noise).index[0])
        return int(exponential_choice(summed, scores, self._selecting, entropy).index[0])

    def _noise(self, index: NDArray[np.intp], entropy: Entropy) -> NDArray[np.int64]:
        """Z of every group, in steps."""
        if isinstance(self.budget, PureBudget):
            return release_noise(index, self._laplace_rungs(len(index)), entropy)
        return gaussian_noise(index, self._gaussian_rungs(len(index)), entropy)

    @property
    def _selecting(self) -> Fraction:
        """eps_s of the one selection, rounded down."""
        if isinstance(self.budget, PureBudget):
            return exact_epsilon(self.budget.epsilon) * exact(self.split)
        return Fraction(math.sqrt(8 * self.split * self.budget.rho) * DOWN)

    def _rungs(self, n_groups: int) -> tuple[Rung, ...] | tuple[GaussianRung, ...]:
        return (
            self._laplace_rungs(n_groups) if isinstance(self.budget, PureBudget) else self._gaussian_rungs(n_groups)
        )

    def _laplace_rungs(self, n_groups: int) -> tuple[Rung, ...]:
        return rungs(self.ladder, self.gap, self._releasing(n_groups))

    def _gaussian_rungs(self, n_groups: int) -> tuple[GaussianRung, ...]:
        grids = rungs(self.ladder, self.gap, Fraction(1))  # for their steps
        return tuple(GaussianRung(grid, float(self._releasing(n_groups)) * DOWN) for grid in grids)

    def _releasing(self, n_groups: int) -> Fraction:
        """Of epsilon, or of rho, for the release of one group."""
        if isinstance(self.budget, PureBudget):
            return (exact_epsilon(self.budget.epsilon) - self._selecting) / self._reached(n_groups)
        return Fraction((1 - self.split) * self.budget.rho) / self._reached(n_groups)

    def _reached(self, n_groups: int) -> int:
        """L0, or the number of groups where that is less."""
        most = max(1, n_groups)
        return most if self.groups_per_unit is None else min(most, self.groups_per_unit)

    def noise_per_tau(self, n_groups: int) -> float:
        """The noise scale of each group in multiples of (1 + gap) tau, by the budget alone. Public."""
        if isinstance(self.budget, PureBudget):
            return float(1 / self._releasing(n_groups))
        return math.sqrt(1 / (2 * self._releasing(n_groups)))

    def _noise_price(self, n_groups: int) -> float:
        """What the noise of all groups is charged at in the summed answer, in multiples of (1 + gap) tau."""
        mean = 1.0 if isinstance(self.budget, PureBudget) else MEAN_GAUSSIAN
        spread = float(max(1, n_groups) ** _SPREAD)
        return spread / self._reached(n_groups) * mean * self.noise_per_tau(n_groups)

    def _price(self, n_groups: int) -> float:
        """What a unit of tau costs in the scores, far from it."""
        return self._noise_price(n_groups) + farthest(self.ladder, float(self._selecting), self.beta)

    def _scores(self, n_groups: int) -> Scores:
        noise = (self._noise_price(n_groups),) * len(self.ladder)
        scores = priced_scores(self.ladder, self.gap, noise, float(self._selecting), self.beta, self.rarity)
        return replace(scores, monotone=True)  # of summed answers: see there
