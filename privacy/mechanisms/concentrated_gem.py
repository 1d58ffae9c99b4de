"""`gem` under zero-concentrated differential privacy: the exponential mechanism, then one Gaussian release."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from privacy.accounting.event import ZCDP, PrivacyEvent
from privacy.entropy import Entropy
from privacy.errors import InvalidParameter
from privacy.ladder import Ladder
from privacy.mechanisms.budget import ConcentratedBudget
from privacy.mechanisms.checks import check_answer
from privacy.mechanisms.exponential_choice import exponential_choice
from privacy.mechanisms.gaussian_release import gaussian_noise
from privacy.mechanisms.gaussian_rung import GaussianRung
from privacy.mechanisms.gem import BETA, RARITY
from privacy.mechanisms.release import released
from privacy.mechanisms.rung import Rung
from privacy.mechanisms.score_prices import farthest, priced_scores
from privacy.mechanisms.selection import Scores
from privacy.noisy_answer import NoisyAnswer
from privacy.truncation.truncated_answer import TruncatedAnswer

CONCENTRATED_SPLIT = 0.5
"""The share of rho that selection gets by default."""

MEAN_GAUSSIAN = math.sqrt(2 / math.pi)
"""E|Z| of a standard Gaussian: what noise is charged at in a score."""

DOWN = 1 - 2.0**-40
"""Shrinks a budget by more than the rounding of the floats that divide it."""


@dataclass(frozen=True)
class ConcentratedGem:
    """Generalised exponential mechanism over thresholds, then one Gaussian release at the chosen one.

    rho-zCDP. In each group the selection has a log density ratio within an interval of length eps_s, which is
    eps_s^2 / 8, and the release has (1 + gap)^2 tau^2 / (2 sigma^2), pointwise in the chosen threshold; together
    rho / L0, and one unit reaches at most L0 groups. Where many groups share a budget this is far less noise than
    pure privacy: it grows with sqrt(L0) and not with L0.
    Source: privacy.md sections 4 (item 3) and 5.

    Attributes:
      budget: rho for all groups together, and the delta at which it is stated.
      groups_per_unit: L0, or None when only the number of groups bounds it.
      gap: eta; the solver's constant relative gap.
      ladder: the thresholds.
      split: the share of rho that selects, in (0, 1).
      beta, rarity: as in `Gem`.
      confidence: of the interval, over the release noise, in (0, 1).
    """

    budget: ConcentratedBudget
    groups_per_unit: int | None = None
    gap: float = 0.0
    ladder: Ladder = field(default_factory=Ladder)
    split: float = CONCENTRATED_SPLIT
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
        """What rho is at `delta`."""
        return self.budget.epsilon

    @property
    def delta(self) -> float:
        """The delta at which the budget is stated."""
        return self.budget.delta

    @property
    def event(self) -> PrivacyEvent:
        """rho-zCDP, over all groups."""
        return ZCDP(self.budget.rho)

    def release(self, answer: TruncatedAnswer, entropy: Entropy) -> NoisyAnswer:
        """Release one noisy value per group, solving only the thresholds that can still be chosen.

        Args:
          answer: values of G groups on `ladder`, with a gap of at most `gap`.
          entropy: where the noise comes from.
        Returns: the noisy values; each interval covers the truncated answer at its tau.
        Raises: InvalidParameter before noise is drawn; EntropyFailed; SolverFailed from the answer.
        Cost: some twenty draws per group, G L^2 operations, and the solves.
        """
        check_answer(answer, self.ladder, self.gap)
        selecting = Fraction(self.selecting(answer.n_groups))
        choice = exponential_choice(answer, self._scores(answer.n_groups), selecting, entropy)
        steps = self._rungs(answer.n_groups)
        values = released(choice.values, gaussian_noise(choice.index, steps, entropy), choice.index, steps)
        reach = np.array([rung.interval(self.confidence) for rung in steps])[choice.index]
        price = np.array(self.prices(answer.n_groups)) * self.ladder.taus
        return NoisyAnswer(
            values=values,
            tau=self.ladder.taus[choice.index],
            noise_scale=np.array([rung.noise_scale for rung in steps])[choice.index],
            low=values - reach[:, 0],
            high=values + reach[:, 1],
            confidence=self.confidence,
            covers="truncated_full",
            mechanism=self.name,
            epsilon=self.epsilon,
            signal=np.maximum(values, 0.0) / price[choice.index],
            delta=self.delta,
            noise="gaussian",
        )

    def epsilon_if_bound_fails(self, n_groups: int = 1) -> float:
        """`epsilon`: no bound on a unit's tuples is relied on."""
        return self.epsilon

    def expected_noise(self, n_groups: int = 1) -> list[tuple[float, float]]:
        """(tau, half-width of the interval) for each threshold that may be chosen, in normalised weight."""
        return [(rung.tau, sum(rung.interval(self.confidence)) / 2) for rung in self._rungs(n_groups)]

    def prices(self, n_groups: int = 1) -> tuple[float, ...]:
        """E|noise| / tau + t per threshold: as `Gem.prices`."""
        far = farthest(self.ladder, self.selecting(n_groups), self.beta, n_groups)
        return (self._noise_price(n_groups) + far,) * len(self.ladder)

    def selecting(self, n_groups: int) -> float:
        """eps_s = sqrt(8 rho_s) of the selection in one group, rounded down."""
        return math.sqrt(8 * self.split * self._cell(n_groups)) * DOWN

    def _scores(self, n_groups: int) -> Scores:
        noise = (self._noise_price(n_groups),) * len(self.ladder)
        scores = priced_scores(
            self.ladder, self.gap, noise, self.selecting(n_groups), self.beta, self.rarity, n_groups
        )
        return replace(scores, monotone=True)  # in one group a unit adds at every threshold, or takes away everywhere

    def _noise_price(self, n_groups: int) -> float:
        """E|noise| in multiples of (1 + gap) tau."""
        return MEAN_GAUSSIAN / math.sqrt(2 * self._releasing(n_groups))

    def _rungs(self, n_groups: int) -> tuple[GaussianRung, ...]:
        rho = self._releasing(n_groups)
        grids = (Rung(int(units), self.gap, Fraction(1)) for units in self.ladder.units)  # for their steps alone
        return tuple(GaussianRung(grid, rho) for grid in grids)

    def _releasing(self, n_groups: int) -> float:
        """rho of the release in one group, rounded down."""
        return (1 - self.split) * self._cell(n_groups) * DOWN

    def _cell(self, n_groups: int) -> float:
        """rho of one group."""
        reached = max(1, n_groups)
        return self.budget.rho / (reached if self.groups_per_unit is None else min(reached, self.groups_per_unit))
