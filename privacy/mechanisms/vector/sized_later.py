"""Mechanisms whose noise is designed for the number of groups, which is known once the public domain is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from privacy.accounting.event import ApproxDP, PrivacyEvent
from privacy.entropy import Entropy
from privacy.errors import InvalidParameter
from privacy.join_tuples import CodedJoinTuples
from privacy.ladder import Ladder
from privacy.mechanisms.group_measurement import GroupMeasurement
from privacy.mechanisms.vector.pmsja import Pmsja
from privacy.mechanisms.vector.s4s_vector import S4SVector
from privacy.noisy_answer import NoisyAnswer
from privacy.sampling.design import SampleDesign
from privacy.truncation.control import QUIET, Control


@dataclass(frozen=True)
class SizedLater:
    """`Pmsja` or `S4SVector` for as many groups as it is given; that number is public.

    Attributes:
      name: `pmsja` or `s4s_vector`.
      epsilon, delta: for all groups together.
      ladder: the thresholds.
      sample: of `s4s_vector`: how the tuples were sampled, if amplification is claimed.
    """

    name: str
    epsilon: float
    delta: float
    ladder: Ladder = field(default_factory=Ladder)
    sample: SampleDesign | None = None

    def __post_init__(self) -> None:
        self.expected_noise(1)  # parameters that are worth nothing are refused before anything is read

    @property
    def event(self) -> PrivacyEvent:
        """(epsilon, delta), whatever the number of groups."""
        return ApproxDP(self.epsilon, self.delta)

    def sized(self, n_groups: int) -> GroupMeasurement:
        """The mechanism for so many groups. Raises: InvalidParameter."""
        return _sized(self, n_groups)

    def release(self, tuples: CodedJoinTuples, row: int, entropy: Entropy, control: Control = QUIET) -> NoisyAnswer:
        """As the mechanism for the tuples' number of groups."""
        return self.sized(tuples.n_groups).release(tuples, row, entropy, control)

    def expected_noise(self, n_groups: int) -> list[tuple[float, float]]:
        """(tau, half-width of a group's interval) for each threshold that may be chosen, in normalised weight."""
        return self.sized(n_groups).expected_noise(n_groups)

    def epsilon_if_bound_fails(self, n_groups: int) -> float:
        """As the mechanism for so many groups."""
        return self.sized(n_groups).epsilon_if_bound_fails(n_groups)


@lru_cache(maxsize=64)
def _sized(made: SizedLater, n_groups: int) -> GroupMeasurement:
    size = max(1, n_groups)
    if made.name == "pmsja":
        return Pmsja(made.epsilon, made.delta, size, made.ladder)
    if made.name == "s4s_vector":
        return S4SVector(made.epsilon, made.delta, size, made.sample, made.ladder)
    raise InvalidParameter("there is no mechanism of this name")
