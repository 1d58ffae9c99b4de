"""What every mechanism looks like once its parameters are fixed."""

from __future__ import annotations

from typing import Protocol

from privacy.accounting.event import PrivacyEvent
from privacy.entropy import Entropy
from privacy.ladder import Ladder
from privacy.noisy_answer import NoisyAnswer
from privacy.truncation.truncated_answer import TruncatedAnswer


class Measurement(Protocol):
    """A mechanism with its budget: truncated answer in, noisy answer out. Everything but `release` is public."""

    @property
    def name(self) -> str:
        """The mechanism's name, as `NoisyAnswer.mechanism` carries it."""
        ...

    @property
    def epsilon(self) -> float:
        """What one release spends, for all groups together."""
        ...

    @property
    def ladder(self) -> Ladder:
        """The thresholds that the truncated answer must be able to answer."""
        ...

    @property
    def gap(self) -> float:
        """The solver gap that the noise is scaled for; the truncated answer's may not be larger."""
        ...

    @property
    def event(self) -> PrivacyEvent:
        """What one release does to privacy, for the accountant."""
        ...

    def release(self, answer: TruncatedAnswer, entropy: Entropy) -> NoisyAnswer:
        """Release one noisy value per group.

        Raises: InvalidParameter for an answer on another ladder or with a larger gap, before noise is drawn.
        """
        ...

    def epsilon_if_bound_fails(self, n_groups: int = 1) -> float:
        """What one release tells about a unit with more join tuples than the public bound, for all groups. Public.

        `epsilon`, unless amplification by sampling was claimed, which rests on that bound.
        """
        ...

    def expected_noise(self, n_groups: int = 1) -> list[tuple[float, float]]:
        """(tau, half-width) per threshold in normalised weight: what the interval would be there. Public."""
        ...


class ServedMeasurement(Measurement, Protocol):
    """One that a server runs: it can say beforehand whether its noise can be drawn."""

    def check_noise(self, n_groups: int) -> None:
        """Refuse noise that leaves its range for any number of groups up to this one. Public.

        Raises: InvalidParameter, whenever `release` would for that reason.
        """
        ...
