"""What every mechanism looks like that draws its samples itself."""

from __future__ import annotations

from typing import Protocol

from privacy.accounting.event import PrivacyEvent
from privacy.entropy import Entropy
from privacy.join_tuples import JoinTuples
from privacy.noisy_answer import NoisyAnswer
from privacy.sampling.draws import Draws


class SampledMeasurement(Protocol):
    """A mechanism with its budget: join tuples in, noisy answer out. Everything but `release` is public.

    Several samples, or samples of privacy units, cannot be drawn before truncation, as `Measurement` wants it.
    """

    @property
    def name(self) -> str:
        """The mechanism's name, as `NoisyAnswer.mechanism` carries it."""
        ...

    @property
    def epsilon(self) -> float:
        """What one release spends."""
        ...

    @property
    def delta(self) -> float:
        """The delta of one release; 0 for pure differential privacy."""
        ...

    @property
    def event(self) -> PrivacyEvent:
        """What one release does to privacy, for the accountant."""
        ...

    def release(self, tuples: JoinTuples, draws: Draws, entropy: Entropy) -> NoisyAnswer:
        """Draw samples and release one noisy value.

        Args:
          tuples: one row per join tuple, one group, one release, weights in [0, ONE].
          draws: where the samples come from.
          entropy: where the noise comes from.
        Raises: InvalidParameter for tuples of another shape, before anything is drawn.
        """
        ...

    def expected_noise(self, n_groups: int = 1) -> list[tuple[float, float]]:
        """(tau, half-width) per threshold in normalised weight: what the interval would be there. Public."""
        ...
