"""Mechanisms whose noise is designed for the number of groups, which is known once the public domain is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from privacy.accounting.event import ApproxDP, PrivacyEvent
from privacy.entropy import Entropy
from privacy.join_tuples import CodedJoinTuples
from privacy.ladder import Ladder
from privacy.mechanisms.group_measurement import ServedGroupMeasurement
from privacy.noisy_answer import NoisyAnswer
from privacy.sampling.design import SampleDesign
from privacy.truncation.control import QUIET, Control


@dataclass(frozen=True)
class PerGroupCount:
    """A mechanism such as `Pmsja` or `S4SVector` for as many groups as it is given; that number is public.

    Attributes:
      name: of the mechanism.
      sizing: makes it for so many groups; a function of a module, since measurements travel between processes.
      epsilon, delta: for all groups together.
      ladder: the thresholds.
      sample: how the tuples were sampled, if amplification is claimed.
    """

    name: str
    sizing: Callable[[PerGroupCount, int], ServedGroupMeasurement]
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

    def sized(self, n_groups: int) -> ServedGroupMeasurement:
        """The mechanism for so many groups. Raises: InvalidParameter."""
        return _sized(self, n_groups)

    def release(self, tuples: CodedJoinTuples, row: int, entropy: Entropy, control: Control = QUIET) -> NoisyAnswer:
        """As the mechanism for the tuples' number of groups."""
        return self.sized(tuples.n_groups).release(tuples, row, entropy, control)

    def expected_noise(self, n_groups: int) -> list[tuple[float, float]]:
        """(tau, half-width of a group's interval) for each threshold that may be chosen, in normalised weight."""
        return self.sized(n_groups).expected_noise(n_groups)

    def check_noise(self, n_groups: int = 1) -> None:
        """Refuse noise or scores that leave their range for any number of groups up to this one. Public.

        Raises: InvalidParameter, whenever `release` would for that reason.
        """
        self.sized(1).check_noise(1)  # the grid is coarsest for one group
        self.sized(n_groups).check_noise(n_groups)

    def epsilon_if_bound_fails(self, n_groups: int) -> float:
        """As the mechanism for so many groups."""
        return self.sized(n_groups).epsilon_if_bound_fails(n_groups)


@lru_cache(maxsize=64)
def _sized(made: PerGroupCount, n_groups: int) -> ServedGroupMeasurement:
    return made.sizing(made, max(1, n_groups))
