"""Race-to-the-Top: a noisy underestimate at every threshold, and the largest wins.

The race solves only the thresholds that can still win. `Race` is what R2T and DP-S4S have in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privacy.entropy import Entropy
from privacy.errors import InvalidParameter
from privacy.exact import check_gap, check_groups, exact_epsilon, group_epsilon
from privacy.mechanisms.measurement import Pure
from privacy.mechanisms.noise import ThresholdNoise, levels
from privacy.mechanisms.release import check_answer, check_levels, release_noise, released
from privacy.noisy_answer import CONFIDENCE, NoisyAnswer
from privacy.thresholds import Thresholds
from privacy.truncation.truncated_answer import TruncatedAnswer
from privacy.units import Ints


def race(answer: TruncatedAnswer, steps: Sequence[ThresholdNoise], noise: Ints, floor: float) -> NDArray[np.intp]:
    """The winning threshold of each group, the first of equals, solved where that matters.

    The noise is drawn before anything is solved, so the winner is the same as with every threshold solved. The front
    runner, with the largest upper bound, has won once its value is known. If no upper bound beats the floor, the
    output is the floor and nothing is solved.

    Args:
      answer: values of G groups at the thresholds of the steps.
      noise: (G, L) int64 steps, penalties subtracted.
      floor: the least that a group releases; -inf without one.
    Returns: (G,) indices; the answer's value there is known, unless the floor wins.
    """
    index = np.broadcast_to(np.arange(len(steps)), noise.shape)
    lower, upper = answer.bounds()
    best = released(upper, noise, index, steps)
    front: NDArray[np.intp] = np.argmax(best, axis=1)
    rows = np.arange(len(noise))
    for group in np.flatnonzero((lower[rows, front] != upper[rows, front]) & (best[rows, front] > floor)):
        front[group] = _race_one(answer, steps, noise[group], int(group), floor)
    return front


def _race_one(answer: TruncatedAnswer, steps: Sequence[ThresholdNoise], noise: Ints, group: int, floor: float) -> int:
    """The winner of one group; every threshold is sharpened a few times at most."""
    index = np.arange(len(steps))
    while True:
        lower, upper = (bound[group] for bound in answer.bounds())
        best = released(upper, noise, index, steps)
        front = int(np.argmax(best))
        if best[front] <= floor or lower[front] == upper[front]:
            return front
        answer.sharpen(group, front)


class Race(Pure):
    """The largest of v(tau_j) + Z_j - penalty_j over candidate thresholds, in every group.

    It is below the truth with the confidence: noise exceeds its penalty with probability `_tail` at most. Maximum and
    penalty are post-processing, so it costs what the L noisy values cost.
    """

    groups_per_unit: int | None
    gap: float

    @property
    def name(self) -> str:
        """As in the registry."""
        raise NotImplementedError

    @property
    def confidence(self) -> float:
        """How surely the value is below what it is an answer to."""
        raise NotImplementedError

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds that race."""
        raise NotImplementedError

    def release(self, answer: TruncatedAnswer, entropy: Entropy, floor: float = -np.inf) -> NoisyAnswer:
        """Release one value per group, below the answer but for a chance of 1 - confidence in each.

        Args, raises: as `Measurement.release`; with L0 a unit reaches so many groups at most.
          floor: the least release; if nothing beats it, tau and noise_scale are 0.
        Cost: G L draws and operations, and the solves that the bounds leave open.
        """
        check_answer(answer, self.thresholds, self.gap)
        steps = self._levels(answer.n_groups)
        penalties = np.array([level.upper_quantile(self._tail) for level in steps], np.int64)
        net = self.draw(answer.n_groups, entropy) - penalties
        winner = race(answer, steps, net, floor)
        rows = np.arange(answer.n_groups)
        values = released(answer.bounds()[0][rows, winner], net[rows, winner], winner, steps)
        beaten = values <= floor
        values[beaten] = floor
        return NoisyAnswer(
            values=values,
            tau=np.where(beaten, 0.0, np.array([level.tau for level in steps])[winner]),
            noise_scale=np.where(beaten, 0.0, np.array([level.noise_scale for level in steps])[winner]),
            low=values.copy(),
            high=np.full(answer.n_groups, np.inf),
            confidence=self.confidence,
            covers="truth_lower",
            mechanism=self.name,
            epsilon=self.epsilon,
            signal=np.full(answer.n_groups, np.inf),  # its interval says itself how little it may know
        )

    def draw(self, n_groups: int, entropy: Entropy) -> Ints:
        """(G, L) noise in steps, drawn together for thresholds that have one distribution. Raises: EntropyFailed."""
        steps = self._levels(n_groups)
        return release_noise(np.broadcast_to(np.arange(len(steps)), (n_groups, len(steps))), steps, entropy)

    def check_noise(self, n_groups: int = 1) -> None:
        """Refuse noise or scores out of range for up to `n_groups` groups. Public. Raises: InvalidParameter."""
        check_levels(self._levels(n_groups))

    def expected_noise(self, n_groups: int = 1) -> list[tuple[float, float]]:
        """(tau, penalty) per threshold, in normalised weight: the penalty is bias and half-width."""
        return [(level.tau, level.upper_quantile(self._tail) * level.step_weight) for level in self._levels(n_groups)]

    def _levels(self, n_groups: int) -> tuple[ThresholdNoise, ...]:
        """The release at each threshold."""
        raise NotImplementedError

    @property
    def _tail(self) -> float:
        """How often the noise of one threshold may exceed its penalty."""
        raise NotImplementedError


@dataclass(frozen=True)
class R2T(Race):
    """max(0, max_j (v(tau_j) + Lap(L tau_j / eps) - penalty_j)) over tau_j = 2^j, j = 1..L, L = log2 of the bound.

    epsilon-DP: each of the L releases spends eps / L (`ThresholdNoise`), and maximum and penalty are post-processing.
    It uses (1 + gap) tau for tau, in integers. The exact quantile of the discrete Laplace replaces the paper's
    penalty L ln(L / beta) tau / eps, which it exceeds by less than a step.

    Each release exceeds its v, hence the truth, with probability at most beta / (2 L), as a Laplace tail has one
    side. So the output is below the truth with probability 1 - beta / 2, the `confidence`; 0.95 is the paper's beta =
    0.1. The truth may be any amount above: the interval is one-sided.

    Source: Dong, Fang, Yi, Tao, Machanavajjhala (SIGMOD 2022); section 2.3 of the DP-S4S paper (SIGMOD 2026).

    Attributes:
      epsilon, groups_per_unit, gap: as of `Gem`.
      global_sensitivity: a public bound on what one unit adds to the answer, in normalised weight, in (0, 2^32]. It
        decides which thresholds race. A false one biases the answer and costs no privacy.
      confidence: 1 - beta / 2, in [1/2, 1).
    """

    epsilon: float
    global_sensitivity: float
    groups_per_unit: int | None = None
    gap: float = 0.0
    confidence: float = CONFIDENCE
    name = "r2t"

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        if not 0 < self.global_sensitivity <= 2.0**32:
            raise InvalidParameter("the global sensitivity must be in (0, 2^32] normalised weights")
        check_groups(self.groups_per_unit)
        check_gap(self.gap)
        if not 0.5 <= self.confidence < 1:
            raise InvalidParameter("confidence must be at least 0.5 and below 1")

    @cached_property
    def thresholds(self) -> Thresholds:
        """2^1 to 2^L, the first power of 2 from 2 on that the global sensitivity does not exceed."""
        high = 1
        while 2**high < self.global_sensitivity:
            high += 1
        return Thresholds(1, high)

    def release(self, answer: TruncatedAnswer, entropy: Entropy, floor: float = 0.0) -> NoisyAnswer:
        """As any race, and 0 at least."""
        return super().release(answer, entropy, floor)

    def _levels(self, n_groups: int) -> tuple[ThresholdNoise, ...]:
        share: Fraction = group_epsilon(self.epsilon, self.groups_per_unit, n_groups) / len(self.thresholds)
        return levels(self.thresholds, self.gap, share)

    @property
    def _tail(self) -> float:
        """beta / (2 L): how often the noise of one threshold may exceed its penalty."""
        return (1 - self.confidence) / len(self.thresholds)
