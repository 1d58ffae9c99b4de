"""`gem`, the default without groups: it selects a threshold, then releases once.

A truncated answer on the mechanism's ladder enters, a noisy value with its interval leaves for every group.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np

from privacy.entropy import Entropy, check_scale
from privacy.errors import InvalidParameter
from privacy.exact import check_confidence, check_gap, check_groups, exact_epsilon, group_epsilon, groups_reached
from privacy.mechanisms.budget import Budget, PureBudget
from privacy.mechanisms.measurement import OfBudget
from privacy.mechanisms.noise import ThresholdNoise, whole_number
from privacy.mechanisms.release import (
    answer_with_interval,
    check_answer,
    check_levels,
    half_widths,
    release_noise,
    released,
)
from privacy.mechanisms.scores import ExceedanceScores, Scores
from privacy.mechanisms.selection import SelectionSettings
from privacy.noisy_answer import NoisyAnswer
from privacy.sampling.design import SampleDesign, choice_budget, release_budget
from privacy.sampling.loss import Loss
from privacy.thresholds import Thresholds
from privacy.truncation.truncated_answer import TruncatedAnswer

SELECTION = SelectionSettings(split=0.5)
"""The defaults. The share of epsilon was chosen by `make benchmark NAME=tuning` and NAME=scalar.

0.4 is as good on average, and worse where selection is hard: for triangles of a graph with hubs at epsilon 0.1 by a
tenth.
"""

NESTED_SELECTION = SelectionSettings(split=0.3, beta=3e-3, rarity=8.0, growth=0.2)
"""The same where tuples have one owner, and thresholds are scored by how many units have more.

Chosen by expected loss over generated populations (`make benchmark NAME=one_owner`): even, log-normal, Zipf of 1.5 to
2.5, two classes, one giant. From 0.2 to 0.3 the share makes a difference of 1% on average: even loads want less,
heavy tails more. A beta of 1e-6 would ask a far threshold for a third more people, and a class of people that is
smaller than that would be cut away without a sign.
"""

COST = 0.0
"""How many scales of its noise a threshold is charged with by default. Rarity is price enough: a threshold twice as
large is chosen where it adds what selection cannot overlook, and that is several scales of its noise."""


@dataclass(frozen=True)
class Gem(OfBudget):
    """Generalised exponential mechanism over thresholds, then one release at the chosen one, in every group.

    Under pure privacy epsilon-DP, pointwise in the chosen threshold: selection spends eps_1 and the release eps_2,
    with eps_1 + eps_2 = epsilon / L0 exactly in each group, and one unit reaches at most L0 groups. From a sample
    with a public Delta, eps_1 and eps_2(tau) are larger: their joint loss is what is bounded (SampleDesign).

    Under zCDP rho-zCDP, pointwise as well. In each group the selection has a log density ratio within an interval of
    length eps_s, which is eps_s^2 / 8, and the release has (1 + gap)^2 tau^2 / (2 sigma^2); together rho / L0.
    Where many groups share a budget this is far less noise: it grows with sqrt(L0) and not with L0.

    Its scores depart from the published ones in what a threshold too large pays (SelectionSettings).
    Source: docs/mathematics.md, sections 6.5, 5.1 and 7.1.

    Attributes:
      groups_per_unit: L0, or None when only the number of groups bounds it.
      gap: eta; the solver's constant relative gap.
      confidence: of the interval, over the release noise, in (0, 1).
      ladder: the thresholds.
      budget: for all groups together.
      selection: how the threshold is chosen; its split is a share of epsilon, or of rho.
      c: >= 0, how many times the mean noise at a threshold counts in its score; 1 as published.
      sample: how the tuples were sampled, if amplification of pure privacy is claimed; the budgets are then the
        largest whose joint loss is the same charge.
      monotone: a unit that comes adds to the truncated sum at every threshold, or nothing; scores are then less
        sensitive (Scores).
      nested: what a unit adds at every threshold is min(tau, load), as where every tuple has one owner: thresholds
        are then scored by how many units exceed them (`ExceedanceScores`).
    """

    budget: Budget
    groups_per_unit: int | None = None
    gap: float = 0.0
    thresholds: Thresholds = field(default_factory=Thresholds)
    selection: SelectionSettings = SELECTION
    c: float = COST
    confidence: float = 0.95
    sample: SampleDesign | None = None
    monotone: bool = False
    nested: bool = False
    name = "gem"

    def __post_init__(self) -> None:
        check_groups(self.groups_per_unit)
        check_gap(self.gap)
        check_confidence(self.confidence)
        if not 0 <= self.c < math.inf:
            raise InvalidParameter("c is finite and not negative")
        if self.sample is not None and not isinstance(self.budget, PureBudget):
            raise InvalidParameter("a sample amplifies pure privacy alone")

    def release(self, answer: TruncatedAnswer, entropy: Entropy) -> NoisyAnswer:
        """Release one noisy value per group, solving only the thresholds that can still be chosen.

        Args, raises: as `Measurement.release`; each interval covers the truncated answer at its tau.
        Cost: G L draws, G L^2 operations, and the solves.
        """
        check_answer(answer, self.thresholds, self.gap)
        selecting, releasing = self._budgets(answer.n_groups)
        scores = self._scores(selecting, releasing, answer.n_groups)
        choice = self.budget.choose(answer, scores, selecting, entropy)
        steps = self._levels(releasing)
        values = released(choice.values, release_noise(choice.index, steps, entropy), choice.index, steps)
        price = np.array(self.doubts(answer.n_groups)) * self.thresholds.taus
        return answer_with_interval(values, choice.index, steps, np.maximum(values, 0.0) / price[choice.index], self)

    def check_noise(self, n_groups: int = 1) -> None:
        """Refuse noise or scores out of range for up to so many groups. Public. Raises: InvalidParameter."""
        selecting, releasing = self._budgets(n_groups)
        self._scores(selecting, releasing, n_groups)  # more groups leave less for each, and cost more in the scores
        check_scale(self.budget.choice_scale(selecting, len(self.thresholds)))
        check_levels(self._levels(releasing))

    def epsilon_if_bound_fails(self, n_groups: int = 1) -> float:
        """g(infinity): what a unit with more join tuples than the sample's public bound may lose, in all groups.

        Without a sample design nothing rests on that bound, and it is `epsilon`.
        """
        if self.sample is None or self.sample.tuples_per_unit is None:
            return self.epsilon
        selecting, releasing = self._budgets(n_groups)
        reached = exact_epsilon(self.epsilon) / group_epsilon(self.epsilon, self.groups_per_unit, n_groups)
        return float(reached * (selecting + max(releasing)))

    def expected_noise(self, n_groups: int = 1) -> list[tuple[float, float]]:
        """(tau, half-width of the interval) for each threshold that may be chosen, in normalised weight."""
        return half_widths(self._levels(self._budgets(n_groups)[1]), self.confidence)

    def doubts(self, n_groups: int = 1) -> tuple[float, ...]:
        """What a value is measured in for its `signal`, in multiples of tau, per threshold."""
        selecting, releasing = self._budgets(n_groups)
        charged = 1.0 if self.nested else self.c
        return tuple(self.selection.doubt(self._noise_price(part, charged), float(selecting)) for part in releasing)

    def _noise_price(self, part: Fraction, charged: float) -> float:
        """So many times E|noise|, in multiples of (1 + gap) tau, of a release with a part of the budget."""
        return charged * self.budget.mean_noise * self.budget.scale(part)

    def _scores(
        self, selecting: Fraction, releasing: tuple[Fraction, ...], n_groups: int
    ) -> Scores | ExceedanceScores:
        """The scores, with the selection's part of the prices by distance, or as published."""
        if self.nested:
            noise = self._noise_price(min(releasing), 1.0)
            return self.selection.exceedance_scores(self.thresholds, noise, float(selecting))
        prices = tuple(self._noise_price(part, self.c) for part in releasing)
        scores = self.selection.scores(self.thresholds, self.gap, prices, float(selecting), n_groups)
        return replace(scores, monotone=self.monotone)

    def _levels(self, releasing: tuple[Fraction, ...]) -> Sequence[ThresholdNoise]:
        """The release at each threshold; counts of one owner's tuples are whole numbers."""
        counts = self.nested and self.thresholds.whole
        return self.budget.levels(self.thresholds, self.gap, releasing, *([whole_number] if counts else []))

    def _budgets(self, n_groups: int) -> tuple[Fraction, tuple[Fraction, ...]]:
        """Of the budget of one group what the selection has and, per threshold, what the release has."""
        if self.sample is None or self.sample.tuples_per_unit is None:
            reached, split = groups_reached(self.groups_per_unit, n_groups), self.selection.split
            return self.budget.selecting(split, reached), (self.budget.releasing(split, reached),) * len(
                self.thresholds
            )
        cell = group_epsilon(self.epsilon, self.groups_per_unit, n_groups)
        return _sampled_budgets(self.sample, cell, self.selection.split, self.thresholds, self.gap)


@lru_cache(maxsize=64)
def _sampled_budgets(
    sample: SampleDesign, cell: Fraction, split: float, thresholds: Thresholds, gap: float
) -> tuple[Fraction, tuple[Fraction, ...]]:
    """eps_1 is its share of what a selection alone could spend; eps_2(tau) is all that then still fits at tau."""
    selecting = split * choice_budget(sample, cell)
    releasing = (
        release_budget(sample, cell, selecting, partial(_loss, int(units), gap)) for units in thresholds.units
    )
    return Fraction(selecting), tuple(map(Fraction, releasing))


def _loss(tau_units: int, gap: float, budget: float) -> Loss:
    return ThresholdNoise(tau_units, gap, Fraction(budget)).loss
