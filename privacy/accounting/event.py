"""The cost of a release as an event that an accountant can compose, and the fixed Renyi orders."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from privacy.errors import InvalidParameter

ORDERS: tuple[float, ...] = (
    *(1 + (4 + quarter) / 4 * 2.0**octave for octave in range(-2, 14) for quarter in range(4)),
    1 + 2.0**14,
    math.inf,
)
"""order - 1 runs from 1/4 to 16384 in four steps per octave; infinity is the largest log density ratio.

Each is a dyadic fraction, the same double on every machine. For Gaussian noise the best of them costs at most
0.3% more epsilon than the best of all orders, for budgets from epsilon 0.01 to 100 and delta from 1e-12 to 1e-5.
"""

FEMTO_DIGITS = 15
"""Divergences are counted in whole multiples of 10^-15 nats."""

UNBOUNDED = 9 * 10**18
"""From this amount on nothing is claimed; sums stay here. It fits a signed 64-bit column."""


def rising(orders: tuple[float, ...]) -> bool:
    """Whether these are Renyi orders: at least one, rising, all above 1."""
    return bool(orders) and all(low < high for low, high in zip((1.0, *orders), orders, strict=False))


def femto(bound: Fraction | None) -> int:
    """A bound on a divergence in multiples of 1e-15, rounded up; None and what is too large are UNBOUNDED."""
    if bound is None:
        return UNBOUNDED
    scale: int = 10**FEMTO_DIGITS
    return min(UNBOUNDED, -(-bound.numerator * scale // bound.denominator))


def femto_sum(first: int, second: int) -> int:
    """The sum of two amounts; it stays at UNBOUNDED."""
    return min(UNBOUNDED, first + second)


def nats(amount: int) -> float:
    """An amount as a float; infinity from UNBOUNDED on."""
    return math.inf if amount >= UNBOUNDED else amount / 10**FEMTO_DIGITS


class PrivacyEvent:
    """Base of all events. An accountant refuses by name those it has no rule for.

    Every event is about the neighbours of docs/mathematics.md, section 1.2 (one privacy unit is removed, with
    everything that it owns), in both directions.
    """


@dataclass(frozen=True)
class PureDP(PrivacyEvent):
    """A release whose output density changes by a factor of at most exp(epsilon) between neighbours.

    Attributes:
      epsilon: finite, > 0.
    """

    epsilon: float

    def __post_init__(self) -> None:
        _positive("epsilon", self.epsilon)


@dataclass(frozen=True)
class ApproxDP(PrivacyEvent):
    """A release with P(S) <= exp(epsilon) Q(S) + delta for all sets S of outputs.

    Attributes:
      epsilon: finite, > 0.
      delta: in [0, 1].
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        _positive("epsilon", self.epsilon)
        if not 0 <= self.delta <= 1:
            raise InvalidParameter("delta must be between 0 and 1")


@dataclass(frozen=True)
class BoundedRange(PrivacyEvent):
    """A release whose log density ratio lies in some interval of length epsilon: the exponential mechanism.

    It is epsilon-DP, and rho-zCDP for rho = epsilon^2 / 8, four times less than epsilon-DP alone gives.
    Permute-and-flip has no such range. Source: Durfee & Rogers, NeurIPS 2019; Dong et al., ICML 2020.

    Attributes:
      epsilon: the length, finite, > 0.
    """

    epsilon: float

    def __post_init__(self) -> None:
        _positive("epsilon", self.epsilon)


@dataclass(frozen=True)
class ZCDP(PrivacyEvent):
    """A release whose Renyi divergence of every order a > 1 is at most rho * a (Bun & Steinke, TCC 2016).

    Attributes:
      rho: finite, > 0.
    """

    rho: float

    def __post_init__(self) -> None:
        _positive("rho", self.rho)


@dataclass(frozen=True)
class DiscreteGaussian(PrivacyEvent):
    """Noise with mass proportional to exp(-x^2 / (2 scale^2)) on whole numbers, added to whole numbers.

    Its zCDP is that of the continuous one, sensitivity^2 / (2 scale^2) (Canonne, Kamath, Steinke, NeurIPS
    2020), because the values it is added to are whole as well.

    Attributes:
      scale: in steps of the grid, finite, > 0.
      sensitivity: Euclidean, in steps of the grid, finite, > 0.
      dimension: how many numbers get noise of their own, >= 1.
    """

    scale: float
    sensitivity: float
    dimension: int = 1

    def __post_init__(self) -> None:
        _positive("a noise scale", self.scale)
        _positive("a sensitivity", self.sensitivity)
        if self.dimension < 1:
            raise InvalidParameter("the dimension of noise must be at least 1")


@dataclass(frozen=True)
class RenyiCurve(PrivacyEvent):
    """A release known by bounds on its Renyi divergences: Gaussian noise amplified by sampling.

    Attributes:
      orders: each > 1, rising; infinity stands for the largest log density ratio.
      divergences: bounds of the same length, in nats, >= 0 (infinite where nothing is known), already rounded up.
    """

    orders: tuple[float, ...]
    divergences: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.orders) != len(self.divergences):
            raise InvalidParameter("a Renyi curve must have exactly one divergence for each order")
        if not rising(self.orders):
            raise InvalidParameter("the orders of a Renyi curve must be above 1 and increase")
        if not all(bound >= 0 for bound in self.divergences):
            raise InvalidParameter("a divergence must not be negative")


@dataclass(frozen=True)
class Composed(PrivacyEvent):
    """Several events on the same data, each possibly chosen after seeing the outputs of those before it.

    Releases from one shared sample are not such events: their joint loss is one event (docs/mathematics.md,
    section 7.1).
    """

    events: tuple[PrivacyEvent, ...]


def leaves(event: PrivacyEvent) -> Iterator[PrivacyEvent]:
    """The events that are not compositions, in order."""
    if isinstance(event, Composed):
        for part in event.events:
            yield from leaves(part)
    else:
        yield event


def refusal(accountant: str, event: PrivacyEvent, hint: str = "") -> InvalidParameter:
    """The error of an accountant that has no rule for an event, by the event's name."""
    return InvalidParameter(f"no {accountant} rule for {type(event).__name__}" + (f": {hint}" if hint else ""))


def _positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise InvalidParameter(f"{name} must be finite and positive")
