"""`gem` under zero-concentrated differential privacy: the exponential mechanism, then one Gaussian release."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from privacy.accounting.event import PrivacyEvent
from privacy.entropy import Entropy, check_scale
from privacy.exact import DOWN, check_confidence, check_gap, check_groups, groups_reached
from privacy.ladder import Ladder
from privacy.mechanisms.answer_with_interval import answer_with_interval, half_widths
from privacy.mechanisms.budget import MEAN_GAUSSIAN, ConcentratedBudget
from privacy.mechanisms.checks import check_answer
from privacy.mechanisms.noise.gaussian_threshold_noise import GaussianThresholdNoise
from privacy.mechanisms.noise.release import check_rungs, release_noise, released
from privacy.mechanisms.selection.scores import Scores
from privacy.mechanisms.selection.settings import SelectionSettings
from privacy.noisy_answer import NoisyAnswer
from privacy.truncation.truncated_answer import TruncatedAnswer

CONCENTRATED_SELECTION = SelectionSettings(split=0.5)
"""The defaults; the share is one of rho."""


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
      selection: how the threshold is chosen; its split is a share of rho.
      confidence: of the interval, over the release noise, in (0, 1).
    """

    budget: ConcentratedBudget
    groups_per_unit: int | None = None
    gap: float = 0.0
    ladder: Ladder = field(default_factory=Ladder)
    selection: SelectionSettings = CONCENTRATED_SELECTION
    confidence: float = 0.95

    def __post_init__(self) -> None:
        check_groups(self.groups_per_unit)
        check_gap(self.gap)
        check_confidence(self.confidence)

    @property
    def name(self) -> str:
        """`gem`: an analyst asks for one mechanism, whichever noise is less."""
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
        return self.budget.event

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
        scores, selecting = self._scores(answer.n_groups), self.selecting(answer.n_groups)
        choice = self.budget.choose(answer, scores, selecting, entropy)
        steps = self._rungs(answer.n_groups)
        values = released(choice.values, release_noise(choice.index, steps, entropy), choice.index, steps)
        price = np.array(self.doubts(answer.n_groups)) * self.ladder.taus
        return answer_with_interval(values, choice.index, steps, np.maximum(values, 0.0) / price[choice.index], self)

    def check_noise(self, n_groups: int = 1) -> None:
        """Refuse noise or scores that leave their range for any number of groups up to this one. Public.

        Raises: InvalidParameter, whenever `release` would for that reason.
        """
        self._scores(n_groups)
        check_scale(self.budget.choice_scale(self.selecting(n_groups), len(self.ladder)))
        check_rungs(self._rungs(n_groups))

    def epsilon_if_bound_fails(self, n_groups: int = 1) -> float:
        """`epsilon`: no bound on a unit's tuples is relied on."""
        return self.epsilon

    def expected_noise(self, n_groups: int = 1) -> list[tuple[float, float]]:
        """(tau, half-width of the interval) for each threshold that may be chosen, in normalised weight."""
        return half_widths(self._rungs(n_groups), self.confidence)

    def doubts(self, n_groups: int = 1) -> tuple[float, ...]:
        """E|noise| / tau and what selection overlooks, per threshold: as `Gem.doubts`."""
        doubt = self.selection.doubt(self._noise_price(n_groups), float(self.selecting(n_groups)))
        return (doubt,) * len(self.ladder)

    def selecting(self, n_groups: int) -> Fraction:
        """eps_s of the selection in one group, rounded down."""
        return self._cell(n_groups).selecting(self.selection.split)

    def _scores(self, n_groups: int) -> Scores:
        noise = (self._noise_price(n_groups),) * len(self.ladder)
        scores = self.selection.scores(self.ladder, self.gap, noise, float(self.selecting(n_groups)), n_groups)
        return replace(scores, monotone=True)  # in one group a unit adds at every threshold, or takes away everywhere

    def _noise_price(self, n_groups: int) -> float:
        """E|noise| in multiples of (1 + gap) tau."""
        return MEAN_GAUSSIAN / math.sqrt(2 * (float(self._releasing(n_groups)) * DOWN))

    def _rungs(self, n_groups: int) -> tuple[GaussianThresholdNoise, ...]:
        return self.budget.rungs(self.ladder, self.gap, self._releasing(n_groups))

    def _releasing(self, n_groups: int) -> Fraction:
        """rho of the release in one group."""
        return self._cell(n_groups).releasing(self.selection.split)

    def _cell(self, n_groups: int) -> ConcentratedBudget:
        """The budget of one group."""
        rho = self.budget.rho / groups_reached(self.groups_per_unit, n_groups)
        return ConcentratedBudget(rho, self.budget.delta)
