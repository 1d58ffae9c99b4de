"""Thirty daily releases of a question under a rule: the real mechanisms, with simulated noise."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from privacy.ladder import Ladder
from privacy.mechanisms.budget import PureBudget
from privacy.mechanisms.fixed import Fixed
from privacy.mechanisms.gem import NESTED_SELECTION, Gem
from privacy.mechanisms.groups.shared_threshold import SHARED_SELECTION, SharedThreshold
from privacy.mechanisms.selection.remembered import Told
from privacy.mechanisms.selection.scores import Scores
from privacy.mechanisms.selection.settings import SelectionSettings
from privacy.noisy_answer import NoisyAnswer
from privacy.truncation.tabulated_answer import TabulatedAnswer
from tests.support.remembered_study.rules import TODAY, Decision, Rule
from tests.support.remembered_study.worlds import World
from tests.support.simulated_entropy import SimulatedEntropy

_HANDICAP = 2.0
"""ln of how many times rarer each doubling away from the remembered threshold is."""


class HandicappedScores(Scores):
    """Scores with a public handicap for each threshold."""

    start = 0
    each = 0.0

    @property
    def _offset(self) -> NDArray[np.float64]:
        away = self.each * np.abs(np.arange(len(self.ladder)) + self.ladder.low - self.start)
        cost = np.array(self.prices) * (1 + self.gap) * self.ladder.units
        return np.asarray(cost[:, None] - cost[None, :] + (away[:, None] - away[None, :]) * self._reach)


@dataclass(frozen=True)
class HandicappedGem(Gem):
    """gem whose thresholds are the rarer, the farther they are from a remembered one."""

    start: int = 0

    def _scores(self, selecting, releasing, n_groups):  # type: ignore[no-untyped-def]
        one = super()._scores(selecting, releasing, n_groups)
        made = HandicappedScores(one.ladder, one.gap, one.prices, (), one.monotone, one.nested)
        object.__setattr__(made, "start", self.start)
        object.__setattr__(made, "each", 2 * _HANDICAP / float(selecting))
        return made


def scalar_errors(
    world: World, epsilon: float, rule: Rule, runs: int, seed: int, first: Decision = TODAY
) -> NDArray[np.float64]:
    """(days, runs) relative errors of daily releases of one sum. `first`: how the first release is made."""
    entropy = SimulatedEntropy(seed)
    told: list[list[Told]] = [[] for _ in range(runs)]
    errors = np.empty((len(world.values), runs))
    for day, (table,) in enumerate(world.values):
        asked: dict[Decision, list[int]] = defaultdict(list)
        for run in range(runs):
            decision = rule(told[run], 1 / epsilon) if day else first
            asked[_within(decision, world.ladder)].append(run)
        for decision, which in asked.items():
            answer = _released(world, table, epsilon, decision, len(which), entropy)
            errors[day, which] = np.abs(answer.values - world.truth[day, 0]) / world.truth[day, 0]
            for place, run in enumerate(which):
                rung = round(math.log2(answer.tau[place]))
                spread = math.sqrt(2) * float(answer.noise_scale[place])
                told[run].append(Told(rung, float(answer.values[place]), spread, not decision.fixed))
    return errors


def _within(decision: Decision, ladder: Ladder) -> Decision:
    if decision.low is None or decision.high is None:
        return decision
    low, high = (min(max(end, ladder.low), ladder.high) for end in (decision.low, decision.high))
    return replace(decision, low=low, high=high)


def _released(
    world: World, table: NDArray[np.int64], epsilon: float, decision: Decision, runs: int, entropy: SimulatedEntropy
) -> NoisyAnswer:
    ladder = world.ladder
    if decision.low is not None and decision.high is not None:
        ladder = Ladder(decision.low, decision.high)
    start = ladder.low - world.ladder.low
    values = np.broadcast_to(table[start : start + len(ladder)], (runs, len(ladder)))
    answer = TabulatedAnswer(values, ladder)
    if decision.fixed:
        return Fixed(epsilon, 1, ladder=ladder).release(answer, entropy)
    selection = NESTED_SELECTION if decision.split is None else SelectionSettings(decision.split)
    if decision.start is not None:
        return HandicappedGem(
            epsilon, 1, ladder=ladder, selection=selection, monotone=True, nested=True, start=decision.start
        ).release(answer, entropy)
    return Gem(epsilon, 1, ladder=ladder, selection=selection, monotone=True, nested=True).release(answer, entropy)


def grouped_errors(world: World, epsilon: float, rule: Rule, runs: int, seed: int) -> NDArray[np.float64]:
    """(days, runs) mean relative errors of the groups of daily releases at one threshold for all of them.

    A unit is in one group.
    """
    entropy = SimulatedEntropy(seed)
    n_groups = world.values.shape[1]
    price = n_groups**0.75 / epsilon
    errors = np.empty((len(world.values), runs))
    for run in range(runs):
        told: list[Told] = []
        for day, tables in enumerate(world.values):
            decision = _within(rule(told, price), world.ladder)
            ladder = world.ladder if decision.low is None else Ladder(decision.low, decision.high or 0)
            start = ladder.low - world.ladder.low
            answer = TabulatedAnswer(tables[:, start : start + len(ladder)], ladder)
            selection = SHARED_SELECTION if decision.split is None else SelectionSettings(decision.split)
            shared = SharedThreshold(PureBudget(epsilon), 1, 0.0, ladder, selection, nested=True)
            noisy = shared.release(answer, entropy)
            errors[day, run] = np.mean(np.abs(noisy.values - world.truth[day]) / world.truth[day])
            spread = math.sqrt(2 * n_groups) * float(noisy.noise_scale[0])
            rung = round(math.log2(noisy.tau[0]))
            told.append(Told(rung, float(noisy.values.sum()), spread, not decision.fixed))
    return errors


def summed(errors: Sequence[float] | NDArray[np.float64]) -> tuple[float, float]:
    """The mean, and the mean of the middle 60%."""
    flat = np.sort(np.asarray(errors, np.float64).ravel())
    cut = len(flat) // 5
    return float(flat.mean()), float(flat[cut : len(flat) - cut].mean())
