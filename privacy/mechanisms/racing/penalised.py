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
        """The mechanism's name."""
        ...

    @property
    def epsilon(self) -> float:
        """What one release spends."""
        ...

    @property
    def confidence(self) -> float:
        """How surely the value is below the answer."""
        ...


def penalised_race(
    answer: TruncatedAnswer,
    steps: Sequence[Stepped],
    noise: NDArray[np.int64],
    penalties: NDArray[np.int64],
    racer: Racer,
) -> NoisyAnswer:
    """The largest v // step + noise - penalty of each group, a lower bound with the racer's confidence.

    Maximum and penalty are post-processing: this costs what the L noisy values cost. There is no floor.
    Args:
      answer: values of G groups.
      steps: the L thresholds.
      noise: (G, L) int64 steps.
      penalties: (L,) int64 steps.
    """
    net = noise - penalties
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
