"""What a release does to privacy, as a value that an accountant can compose."""

from __future__ import annotations

import math
from dataclasses import dataclass

from privacy.errors import InvalidParameter


class PrivacyEvent:
    """Base of all events. An accountant refuses by name those it has no rule for."""


@dataclass(frozen=True)
class PureDP(PrivacyEvent):
    """A release whose output density changes by a factor of at most exp(epsilon) between neighbours.

    Neighbours: some or all rows owned by one privacy unit are removed (privacy.md section 1).

    Attributes:
      epsilon: finite, > 0.
    """

    epsilon: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.epsilon) and self.epsilon > 0):
            raise InvalidParameter("epsilon must be finite and positive")


@dataclass(frozen=True)
class Composed(PrivacyEvent):
    """Several events on the same data, each possibly chosen after seeing the outputs of those before it."""

    events: tuple[PrivacyEvent, ...]
