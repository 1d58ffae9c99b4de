"""What a race of penalised releases publishes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from privacy.mechanisms.noise.release import Stepped, released
from privacy.mechanisms.racing.race import race
from privacy.noisy_answer import NoisyAnswer
from privacy.truncation.truncated_answer import TruncatedAnswer


class Racer(Protocol):
    """The public facts about a mechanism that its answer repeats."""

    @property
    def name(self) -> str:
        """The mechanism's name, as `NoisyAnswer.mechanism` carries it."""
        ...

    @property
    def epsilon(self) -> float:
        """What one release spends."""
        ...

    @property
    def confidence(self) -> float:
        """How surely the value is below the answer."""
        ...


def penalties(steps: Sequence[Stepped], tail: float) -> NDArray[np.int64]:
    """(L,) steps k_i with P(Z_i > k_i) <= tail."""
    return np.array([rung.upper_quantile(tail) for rung in steps], np.int64)


def penalty_widths(steps: Sequence[Stepped], tail: float) -> list[tuple[float, float]]:
    """(tau, penalty) per threshold, in normalised weight.

    The release at tau lies in v(tau) - penalty +- penalty: the penalty is its bias and its half-width.
    """
    return [(rung.tau, rung.upper_quantile(tail) * rung.step_weight) for rung in steps]


def penalised_race(
    answer: TruncatedAnswer,
    steps: Sequence[Stepped],
    noise: NDArray[np.int64],
    tail: float,
    racer: Racer,
) -> NoisyAnswer:
    """The largest v // step + noise - penalty of each group, a lower bound with the racer's confidence.

    Maximum and penalty are post-processing: this costs what the L noisy values cost. There is no floor.
    Args:
      answer: values of G groups.
      steps: the L thresholds.
      noise: (G, L) int64 steps.
      tail: what is left of each threshold's noise above its penalty.
    """
    net = noise - penalties(steps, tail)
    winner = race(answer, steps, net, -np.inf)
    rows = np.arange(answer.n_groups)
    values = released(answer.bounds()[0][rows, winner], net[rows, winner], winner, steps)
    return NoisyAnswer(
        values=values,
        tau=np.array([rung.tau for rung in steps])[winner],
        noise_scale=np.array([rung.noise_scale for rung in steps])[winner],
        low=values.copy(),
        high=np.full(answer.n_groups, np.inf),
        confidence=racer.confidence,
        covers="truth_lower",
        mechanism=racer.name,
        epsilon=racer.epsilon,
        signal=np.full(answer.n_groups, np.inf),  # its interval says itself how little it may know
    )
