"""How many privacy units there are: what may be known of it, and what is spent to know it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from privacy.entropy import Entropy
from privacy.errors import InvalidParameter
from privacy.exact import exact_epsilon
from privacy.mechanisms.noise.integer_noise import IntegerNoise
from privacy.sampling.draws import MAX_COUNT


@dataclass(frozen=True)
class UnitCount:
    """What has been published about the number n of privacy units. Safe to publish.

    Attributes:
      estimate: of n, >= 1; the whole answer is this many times the mean over units.
      least: a lower bound on n, >= 1, that amplification may rest on.
      low, high: n lies between, with the confidence that was asked for.
    """

    estimate: int
    least: int
    low: int
    high: int


class Population(Protocol):
    """A source of a `UnitCount`, and its price."""

    @property
    def epsilon(self) -> float:
        """epsilon, of publishing the number of units by `count`; 0 where it is public."""
        ...

    @property
    def delta(self) -> float:
        """The probability with which the lower bound may fail."""
        ...

    @property
    def public(self) -> int | None:
        """n itself, where it is public."""
        ...

    @property
    def least_public(self) -> int:
        """The best lower bound on n that is public before anything is released, >= 1."""
        ...

    def count(self, units: int, entropy: Entropy, confidence: float) -> UnitCount:
        """Publish what may be known of `units`, the private n.

        Args:
          confidence: of `low` and `high` together, over the noise.
        """
        ...


@dataclass(frozen=True)
class PublicPopulation:
    """n is public, as the DP-S4S paper assumes it: a universe of n places, in each of which there may be a unit.

    A unit that is removed leaves its place empty, so n is the same for neighbours and costs nothing.

    Attributes:
      size: n, at least the number of units there can be, >= 1. If it is less, more units than that are drawn
        from; the loss is still at most that of the mechanism on the sample.
    """

    size: int

    def __post_init__(self) -> None:
        if not 1 <= self.size <= MAX_COUNT:
            raise InvalidParameter("there are 1 to 2^32 privacy units")

    @property
    def epsilon(self) -> float:
        """epsilon, of publishing the number of units: 0, as it is public."""
        return 0.0

    @property
    def delta(self) -> float:
        """delta, of publishing the number of units: 0, as it is public."""
        return 0.0

    @property
    def public(self) -> int:
        """n, the number of units that is public."""
        return self.size

    @property
    def least_public(self) -> int:
        """n: the least number of units that is certain is the number itself."""
        return self.size

    def count(self, units: int, entropy: Entropy, confidence: float) -> UnitCount:
        """The public number; neither the private one nor noise is used."""
        return UnitCount(self.size, self.size, self.size, self.size)


@dataclass(frozen=True)
class NoisyPopulation:
    """n is private and published with noise; one unit more or less changes it by one, so this is epsilon-DP.

    The published Algorithm 1 amplifies with the private n itself. Here it is amplified with a public lower bound or,
    where there is none, with what the noisy n is above with probability 1 - delta whatever n is. Then
    the whole mechanism is (epsilon_n + epsilon', delta)-DP: outside of an event of probability delta, what follows
    the published n is epsilon'-DP given n.
    Source: privacy.md section 6.

    Attributes:
      epsilon: of the count, > 0.
      delta: the probability with which the lower bound exceeds n, in [0, 1/2]; 0 with a public bound.
      least: a public lower bound on n, >= 1; None: the noisy one.
    """

    epsilon: float
    delta: float = 0.0
    least: int | None = None

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        if self.least is None and not 0 < self.delta <= 0.5:
            raise InvalidParameter("a lower bound that is not public fails with a probability")
        if self.least is not None and (not 1 <= self.least <= MAX_COUNT or self.delta != 0):
            raise InvalidParameter("a public lower bound is at least 1 and does not fail")

    @property
    def public(self) -> None:
        """None: n is private."""
        return

    @property
    def least_public(self) -> int:
        """The public lower bound, or 1."""
        return self.least or 1

    @cached_property
    def noise(self) -> IntegerNoise:
        """One unit counts one."""
        return IntegerNoise(1, exact_epsilon(self.epsilon))

    def count(self, units: int, entropy: Entropy, confidence: float) -> UnitCount:
        """The noisy n, and bounds made of it. Raises: EntropyFailed."""
        noisy = int(self.noise.released(np.array([units], np.int64), entropy)[0])
        reach = self.noise.quantile((1 - confidence) / 2)
        least = self.least if self.least is not None else max(1, noisy - self.noise.quantile(self.delta))
        low = max(self.least or 0, noisy - reach)
        return UnitCount(max(self.least or 1, noisy), least, low, max(low, noisy + reach))
