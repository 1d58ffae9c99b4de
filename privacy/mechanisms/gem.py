"""`gem`, the default mechanism without groups: it chooses a clipping threshold, then releases once.

In: a truncated answer at the mechanism's candidate thresholds. Out: a noisy value with an interval for each group.
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
from privacy.noisy_answer import CONFIDENCE, NoisyAnswer
from privacy.sampling.design import SampleDesign, choice_budget, release_budget
from privacy.sampling.loss import Loss
from privacy.thresholds import Thresholds
from privacy.truncation.truncated_answer import TruncatedAnswer

SELECTION = SelectionSettings(split=0.5)
"""The default settings. `make benchmark NAME=tuning` and NAME=scalar chose the share of epsilon.

0.4 is as good on average. It is worse where the choice is hard: by a tenth for triangles of a graph with hubs at
epsilon 0.1."""

NESTED_SELECTION = SelectionSettings(split=0.3, beta=3e-3, rarity=8.0, growth=0.2)
"""The settings for tuples with one owner, whose thresholds are scored by how many units exceed them.

They have the least expected loss over generated populations (`make benchmark NAME=one_owner`). Shares from 0.2 to 0.3
differ by 1% on average. A beta of 1e-6 would ask a far threshold for a third more people, and would silently clip
classes of people that are smaller than that."""

CAPPED_SELECTION = SelectionSettings(split=0.2, beta=3e-3, rarity=2.0, growth=0.2)
"""The settings where the policy's `clip` is the largest threshold: one that is too large is never far too large.

A share of 0.1 has the least error and 0.3 the shortest interval, each by less than a tenth (`make benchmark
NAME=one_owner`)."""

COST = 0.0
"""How many noise scales a threshold is charged by default. The margins for rarity are price enough: a threshold twice
as large is chosen only where it adds several noise scales."""


@dataclass(frozen=True)
class Gem(OfBudget):
    """Generalised exponential mechanism over candidate thresholds, then one release at the chosen one, in every
    group.

    Pure privacy: epsilon-DP for every chosen threshold. The choice spends eps_1 and the release eps_2, which add up
    to epsilon / L0 in each group. One unit reaches at most L0 groups. From a sample with a public Delta, eps_1 and
    eps_2(tau) are larger: their joint loss is bounded (`SampleDesign`).

    zCDP: rho-zCDP in the same way. The choice costs eps_s^2 / 8 and the release (1 + gap)^2 tau^2 / (2 sigma^2),
    together rho / L0 in each group. Noise then grows with sqrt(L0), not with L0.

    The scores differ from the published ones in what a threshold that is too large pays (`SelectionSettings`).
    Source: docs/mathematics.md, sections 6.5, 5.1 and 7.1.

    Attributes:
      groups_per_unit: L0; None if only the number of groups bounds it.
      gap: eta, the solver's constant relative gap.
      confidence: of the interval, over the release noise, in (0, 1).
      thresholds: the candidate thresholds.
      budget: for all groups together.
      selection: how the threshold is chosen; its split is a share of epsilon, or of rho.
      c: >= 0, how many times the mean noise at a threshold counts in its score; 1 as published.
      sample: how the tuples were sampled, if pure privacy claims amplification.
      monotone: an added unit adds to the truncated sum at every threshold, or nothing. Scores are then less sensitive
        (`Scores`).
      nested: a unit adds min(tau, contribution), as with one owner per tuple. Thresholds are then scored by how many
        units exceed them (`ExceedanceScores`).
    """

    budget: Budget
    groups_per_unit: int | None = None
    gap: float = 0.0
    thresholds: Thresholds = field(default_factory=Thresholds)
    selection: SelectionSettings = SELECTION
    c: float = COST
    confidence: float = CONFIDENCE
    sample: SampleDesign | None = None
    monotone: bool = False
    nested: bool = False
    name = "gem"

    def __post_init__(self) -> None:
        check_groups(self.groups_per_unit)
        check_gap(self.gap)
        check_confidence(self.confidence)
        if not 0 <= self.c < math.inf:
            raise InvalidParameter("c must be finite and not negative")
        if self.sample is not None and not isinstance(self.budget, PureBudget):
            raise InvalidParameter("a question on a sample must have delta 0")

    def release(self, answer: TruncatedAnswer, entropy: Entropy) -> NoisyAnswer:
        """Release one noisy value per group. Only thresholds that can still win are solved.

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
        """Refuse noise or scores out of range for up to `n_groups` groups. Public. Raises: InvalidParameter."""
        selecting, releasing = self._budgets(n_groups)
        self._scores(selecting, releasing, n_groups)  # more groups leave less for each, and cost more in the scores
        check_scale(self.budget.choice_scale(selecting, len(self.thresholds)))
        check_levels(self._levels(releasing))

    def epsilon_if_bound_fails(self, n_groups: int = 1) -> float:
        """g(infinity): the loss of a unit with more join tuples than the sample's public bound, over all groups.

        Without a sample design no bound is used, and it is `epsilon`.
        """
        if self.sample is None or self.sample.tuples_per_unit is None:
            return self.epsilon
        selecting, releasing = self._budgets(n_groups)
        reached = exact_epsilon(self.epsilon) / group_epsilon(self.epsilon, self.groups_per_unit, n_groups)
        return float(reached * (selecting + max(releasing)))

    def expected_noise(self, n_groups: int = 1) -> list[tuple[float, float]]:
        """(tau, half-width of the interval) of each candidate threshold, in normalised weight."""
        return half_widths(self._levels(self._budgets(n_groups)[1]), self.confidence)

    def doubts(self, n_groups: int = 1) -> tuple[float, ...]:
        """For each threshold, the value at which `NoisyAnswer.signal` is 1, in multiples of tau."""
        selecting, releasing = self._budgets(n_groups)
        if self.nested:
            return tuple(self.selection.doubt(self._noise_price(part, 1.0), float(selecting)) for part in releasing)
        prices = (self._noise_price(part, self.c) for part in releasing)
        found = partial(self.selection.doubt_by_distance, thresholds=self.thresholds, n_groups=n_groups)
        return tuple(found(price, float(selecting)) for price in prices)

    def _noise_price(self, part: Fraction, charged: float) -> float:
        """So many times E|noise| of a release with a part of the budget, in multiples of (1 + gap) tau."""
        return charged * self.budget.mean_noise * self.budget.scale(part)

    def _scores(
        self, selecting: Fraction, releasing: tuple[Fraction, ...], n_groups: int
    ) -> Scores | ExceedanceScores:
        """Scores with margins by distance, or the published ones."""
        if self.nested:
            noise = self._noise_price(min(releasing), 1.0)
            return self.selection.exceedance_scores(self.thresholds, noise, float(selecting))
        prices = tuple(self._noise_price(part, self.c) for part in releasing)
        scores = self.selection.scores(self.thresholds, self.gap, prices, float(selecting), n_groups)
        return replace(scores, monotone=self.monotone)

    def _levels(self, releasing: tuple[Fraction, ...]) -> Sequence[ThresholdNoise]:
        """The release at each threshold. Counts with one owner per tuple are whole numbers."""
        return _levels(self.budget, self.thresholds, self.gap, releasing, self.nested and self.thresholds.whole)

    def _budgets(self, n_groups: int) -> tuple[Fraction, tuple[Fraction, ...]]:
        """Within one group's budget: the part of the choice, and the part of the release at each threshold."""
        if self.sample is None or self.sample.tuples_per_unit is None:
            reached, split = groups_reached(self.groups_per_unit, n_groups), self.selection.split
            return self.budget.selecting(split, reached), (self.budget.releasing(split, reached),) * len(
                self.thresholds
            )
        cell = group_epsilon(self.epsilon, self.groups_per_unit, n_groups)
        return _sampled_budgets(self.sample, cell, self.selection.split, self.thresholds, self.gap)


@lru_cache(maxsize=64)  # explained, checked and measured with the same ones
def _levels(
    budget: Budget, thresholds: Thresholds, gap: float, releasing: tuple[Fraction, ...], counts: bool
) -> tuple[ThresholdNoise, ...]:
    return budget.levels(thresholds, gap, releasing, *([whole_number] if counts else []))


@lru_cache(maxsize=64)
def _sampled_budgets(
    sample: SampleDesign, cell: Fraction, split: float, thresholds: Thresholds, gap: float
) -> tuple[Fraction, tuple[Fraction, ...]]:
    """eps_1 is a share of what a choice alone could spend; eps_2(tau) is all that still fits beside it at tau."""
    selecting = split * choice_budget(sample, cell)
    releasing = (
        release_budget(sample, cell, selecting, partial(_loss, int(units), gap)) for units in thresholds.units
    )
    return Fraction(selecting), tuple(map(Fraction, releasing))


def _loss(tau_units: int, gap: float, budget: float) -> Loss:
    return ThresholdNoise(tau_units, gap, Fraction(budget)).loss
