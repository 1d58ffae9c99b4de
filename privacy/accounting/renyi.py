"""Renyi accounting: an event's divergence at every order, its (epsilon, delta), the accountant and the filter.

Divergences are upper bounds, as exact fractions, on a fixed list of orders of which one must hold. A release with
divergence r at order a is (epsilon, delta)-DP for

    epsilon = r + ln((a - 1) / a) - (ln delta + ln a) / (a - 1)

(Canonne, Kamath, Steinke, NeurIPS 2020, Proposition 12; docs/mathematics.md, section 8.2). At infinite order epsilon
is r itself, and delta 0. Every result is moved by 2^-47 of the magnitudes that enter it, more than the rounding of
the floats.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

from privacy.accounting.amounts import ATTO_DIGITS, NANO_DIGITS, Charge, RenyiSpent, without_event_delta
from privacy.accounting.basic import own_delta
from privacy.accounting.event import (
    FEMTO_DIGITS,
    ORDERS,
    UNBOUNDED,
    ZCDP,
    ApproxDP,
    BoundedRange,
    DiscreteGaussian,
    PrivacyEvent,
    PureDP,
    RenyiCurve,
    femto,
    leaves,
    nats,
    refusal,
    rising,
)
from privacy.errors import InvalidParameter
from privacy.exact import UPWARD, decimal_fraction

_SMALL = 2.0**-20
"""Below this order * epsilon the quadratic bound exceeds the exact divergence by less than 1e-12 of it."""


def divergence(event: PrivacyEvent, order: float) -> Fraction | None:
    """A bound on the Renyi divergence between the outputs on neighbours, in nats.

    An `ApproxDP` event has this divergence but for an event of probability delta, which is charged apart.

    Args:
      event: not a composition.
      order: > 1, or infinity.
    Returns: the bound, above the exact value by a relative 2^-39 at most; None when there is none.
    Raises: InvalidParameter that names an event without a rule, or a curve that does not know the order.
    """
    if isinstance(event, (PureDP, ApproxDP)):
        return pure_divergence(decimal_fraction(event.epsilon), order)
    if isinstance(event, BoundedRange):
        epsilon = decimal_fraction(event.epsilon)
        pure = pure_divergence(epsilon, order)
        return pure if order == math.inf else min(pure, epsilon**2 / 8 * Fraction(order))
    if isinstance(event, RenyiCurve):
        return _on_curve(event, order)
    rho = linear_rate(event)
    if rho is None:
        raise refusal("Renyi", event)
    return None if order == math.inf else rho * Fraction(order)


def linear_rate(event: PrivacyEvent) -> Fraction | None:
    """The rho of an event whose only bound on its divergence is rho * order; exact. None for other events."""
    if isinstance(event, ZCDP):
        return decimal_fraction(event.rho)
    if isinstance(event, DiscreteGaussian):
        return decimal_fraction(event.sensitivity) ** 2 / (2 * decimal_fraction(event.scale) ** 2)
    return None


def pure_divergence(epsilon: Fraction, order: float) -> Fraction:
    """The largest divergence of any epsilon-DP release: that of randomised response.

        ln(cosh((order - 1/2) epsilon) / cosh(epsilon / 2)) / (order - 1)

    At most epsilon, and at most order * epsilon^2 / 2. Source: Mironov, CSF 2017, Proposition 5 (rewritten).
    """
    if order == math.inf:
        return epsilon
    value, above = float(epsilon), order - 1
    if order * value < _SMALL:
        return epsilon**2 / 2 * Fraction(order)
    if above * value > 1:  # so that the logarithms take away no more than ln 2 of more than 1
        tails = math.log1p(math.exp(-(2 * order - 1) * value)) - math.log1p(math.exp(-value))
        bound = value + tails / above
    else:  # cosh A = cosh B + 2 sinh((A + B) / 2) sinh((A - B) / 2): nothing cancels
        product = 2 * math.sinh(order * value / 2) * math.sinh(above * value / 2)
        bound = math.log1p(product / math.cosh(value / 2)) / above
    return min(epsilon, Fraction(bound * UPWARD))


def _on_curve(curve: RenyiCurve, order: float) -> Fraction | None:
    """The curve's bound at the smallest of its orders that reaches this one: divergences rise with the order."""
    for known, bound in zip(curve.orders, curve.divergences, strict=True):
        if known >= order:
            return None if bound == math.inf else Fraction(bound)
    return None


_SLACK = 2.0**-47


def epsilon_at(order: float, divergence: float, delta: float) -> float:
    """epsilon of a release with a divergence at one order, rounded up; infinity when delta is 0 and the order finite.

    Args:
      order: > 1, or infinity.
      divergence: in nats, >= 0.
      delta: in [0, 1].
    """
    if order == math.inf or divergence == math.inf:
        return divergence
    if delta == 0:
        return math.inf
    return max(0.0, divergence + price(order, delta) + _SLACK * divergence)


def divergence_budget(epsilon: float, delta: float, alpha: float) -> float:
    """The largest divergence rho at order alpha that implies (epsilon, delta)-DP, rounded down.

        rho = epsilon - ln((alpha - 1) / alpha) + (ln delta + ln alpha) / (alpha - 1)

    Returns: zero or less if no divergence of this order implies it.
    Raises: InvalidParameter for a parameter out of range.
    """
    if not 0 < delta < 1:
        raise InvalidParameter("delta must be above 0 and below 1")
    if not 1 < alpha < math.inf:
        raise InvalidParameter("a Renyi order must be finite and above 1")
    if not 0 < epsilon < math.inf:
        raise InvalidParameter("epsilon must be finite and positive")
    parts = epsilon, -math.log1p(-1 / alpha), math.log(delta) / (alpha - 1), math.log(alpha) / (alpha - 1)
    return math.fsum(parts) - 2.0**-44 * (1 + math.fsum(map(abs, parts)))


def least_epsilon(orders: Sequence[float], femto: Sequence[int], atto_delta: int) -> float:
    """The smallest epsilon over the orders, rounded up.

    Args:
      orders: each > 1, or infinity.
      femto: a divergence per order, in multiples of 1e-15.
      atto_delta: delta in multiples of 1e-18; negative or zero leaves only the infinite order.
    """
    delta = min(1.0, max(0, atto_delta) / 10**ATTO_DIGITS)
    pairs = zip(orders, femto, strict=True)
    return min((epsilon_at(order, nats(amount), delta) for order, amount in pairs), default=math.inf)


def divergence_within(order: float, grant: Charge, share: Fraction = Fraction(1)) -> int:
    """The largest divergence at an order that stays within a grant, in multiples of 1e-15, rounded down.

    Args:
      order: > 1, or infinity.
      grant: (epsilon, delta).
      share: of the grant's delta that this order may spend, in (0, 1].
    Returns: -1 when not even nothing fits.
    """
    epsilon = Fraction(grant.nano_epsilon, 10**NANO_DIGITS)
    if order == math.inf:
        return _down(epsilon)
    delta = float(Fraction(grant.atto_delta, 10**ATTO_DIGITS) * share)
    if delta == 0:
        return -1
    return _down(epsilon - Fraction(price(order, delta)))


def price(order: float, delta: float) -> float:
    """What the conversion to (epsilon, delta) adds to a divergence of this finite order, rounded up.

    It is negative if delta is large for the order.
    """
    slack = _SLACK * (1 + (1 - math.log(delta) + math.log(order)) / (order - 1))
    return math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1) + slack


def _down(amount: Fraction) -> int:
    """An amount in multiples of 1e-15, rounded down and below UNBOUNDED, which stands for no bound."""
    femto: Fraction = amount * 10**FEMTO_DIGITS
    return max(-1, min(UNBOUNDED - 1, math.floor(femto)))


@dataclass(frozen=True)
class RenyiAccountant:
    """Counts divergences at fixed orders, so that any of them may decide. Source: Mironov, CSF 2017.

    A charge exceeds the exact divergences by 1e-15 and a relative 2^-39 at most.

    Attributes:
      orders: each > 1, rising; infinity counts the largest log density ratio, which is basic composition.
    """

    orders: tuple[float, ...] = ORDERS
    name = "renyi"

    def __post_init__(self) -> None:
        if not rising(self.orders):
            raise InvalidParameter("Renyi orders must be above 1 and increase")

    @property
    def nothing(self) -> RenyiSpent:
        """The curve of spending nothing: zero at every order."""
        return RenyiSpent((0,) * len(self.orders), 0, self.orders)

    def charge(self, event: PrivacyEvent) -> RenyiSpent:
        """The event's divergences, added up and rounded up once. Raises: as `Accountant.charge`.

        Cost: at the fixed orders some 2 ms per part; those met lately are remembered.
        """
        curves = [_curve(leaf, self.orders) for leaf in leaves(event)]
        bounds = map(_total, zip(*curves, strict=True)) if curves else (Fraction(0) for _ in self.orders)
        return RenyiSpent(tuple(map(femto, bounds)), own_delta(event), self.orders)

    def epsilon(self, spent: RenyiSpent, delta: float) -> float:
        """The least epsilon of the spending at `delta`, over all orders. The releases' own deltas come off first."""
        left = Charge.granted(0.0, delta).atto_delta - spent.atto_delta
        if spent == self.nothing:
            return 0.0
        return least_epsilon(self.orders, spent.femto, left) if left >= 0 else math.inf


@lru_cache(maxsize=256)
def _curve(event: PrivacyEvent, orders: tuple[float, ...]) -> tuple[Fraction | None, ...]:
    return tuple(divergence(event, order) for order in orders)


def _total(bounds: Iterable[Fraction | None]) -> Fraction | None:
    """The sum; None as soon as one part is unbounded."""
    total = Fraction(0)
    for bound in bounds:
        if bound is None:
            return None
        total += bound
    return total


@dataclass(frozen=True)
class RenyiFilter:
    """Admits charges while the sum of divergences stays within the limit of at least one order.

    Sound for adaptively chosen requests. At one fixed order a sum that stays within a limit on every transcript
    bounds the divergence of the whole (Feldman & Zrnic, NeurIPS 2021, Theorem 3.1; Lecuyer 2021). Which order lasts
    longest may depend on the outputs. So each order a has a share of delta, and its limit is computed with that
    share. Proof: let C_a be the transcripts that end within the limit of a. On C_a the process agrees with the one
    that stops at that limit. So the excess of P over exp(epsilon) Q on C_a is at most a's share. Every admitted
    transcript lies in some C_a, and the shares add up to delta. The infinite order needs no delta: it is basic
    composition. With the whole delta for each order it is no filter: two releases chosen by what was seen overspend
    delta by two fifths.

    Attributes:
      granted: the (epsilon, delta) that is never exceeded.
      limits: one per order of the accountant, in multiples of 1e-15; -1 for an order of no use.
      event_delta: the largest sum of events' own deltas, in multiples of 1e-18; part of the granted delta.
      accountant: with the orders that count.
    """

    granted: Charge
    limits: tuple[int, ...]
    event_delta: int = 0
    accountant: RenyiAccountant = field(default_factory=RenyiAccountant)

    @classmethod
    def of(
        cls, epsilon: float, delta: float, event_delta: float = 0.0, orders: tuple[float, ...] = ORDERS
    ) -> RenyiFilter:
        """A filter for a budget given as floats, rounded down.

        An account fits while one of the Renyi orders still has budget. Half of delta goes to the order at which most
        Gaussian noise fits, and the rest evenly to the others. The best order then lacks half of delta, which costs
        ln 2 / ln(1 / delta) of the budget in rho, about 4% at delta = 1e-7.

        Args:
          epsilon: > 0.
          delta: in [0, 1]; 0 leaves the infinite order alone.
          event_delta: the part of delta for events that have a delta themselves.
          orders: each > 1, rising.
        """
        granted = Charge.granted(epsilon, delta)
        grant, reserved = without_event_delta(granted, event_delta)
        limits = tuple(divergence_within(order, grant, share) for order, share in _shares(grant, orders))
        return cls(granted, limits, reserved, RenyiAccountant(orders))

    def admits(self, spent: RenyiSpent, charge: RenyiSpent) -> bool:
        """Whether the budget can pay `charge` on top of what is already spent. All of the budget may be spent."""
        total = spent + charge
        if total.orders != self.accountant.orders or total.atto_delta > self.event_delta:
            return False
        return any(amount <= limit for amount, limit in zip(total.femto, self.limits, strict=True))


def _shares(grant: Charge, orders: tuple[float, ...]) -> list[tuple[float, Fraction]]:
    """Every order with its share of delta: one half for the design order, the other half for the others together."""
    finite = [order for order in orders if order != math.inf]
    if len(finite) < 2:
        return [(order, Fraction(1)) for order in orders]
    design = max(finite, key=lambda order: Fraction(divergence_within(order, grant)) / Fraction(order))
    other = Fraction(1, 2 * (len(finite) - 1))
    return [(order, Fraction(1, 2) if order == design else other) for order in orders]


_LEAST_EPSILON = 1e-9
"""An event states an epsilon above zero, also where delta alone would do."""


def approximate(event: PrivacyEvent, delta: float, orders: tuple[float, ...] = ORDERS) -> ApproxDP:
    """The event as (epsilon, delta)-DP, with the smallest epsilon that its Renyi divergences give at this delta.

    Args:
      event: any that has Renyi divergences; a composition is one event of events fixed in advance or bounded by it.
      delta: in multiples of 1e-18, at least the sum of the deltas that the event's parts have themselves.
    Raises: InvalidParameter for an event without a rule, or that has no finite epsilon at this delta.
    """
    accountant = RenyiAccountant(orders)
    epsilon = accountant.epsilon(accountant.charge(event), delta)
    if epsilon == float("inf"):
        raise InvalidParameter(f"{type(event).__name__} has no finite epsilon at this delta; use a larger delta")
    return ApproxDP(max(epsilon, _LEAST_EPSILON), Charge.granted(0.0, delta).delta)
