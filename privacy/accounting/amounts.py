"""Spent privacy as exact integers that add up, and their form as versioned JSON for the ledger.

Amounts count (epsilon, delta), one rho, or a divergence at every Renyi order. So rounding neither overspends a budget
nor refuses a charge that fits. A part of a granted delta is reserved for events with a delta of their own. The JSON
holds whole numbers, which a ledger keeps forever.

Why it adds up, also adaptively. On a given transcript so far, a release that is (epsilon_i, delta_i)-DP has outputs
P_i = (1 - delta_i) P'_i + delta_i P''_i on one neighbour and likewise Q_i on the other, with P'_i and Q'_i
epsilon_i-close (Kairouz, Oh, Viswanath, ICML 2015). Let w(x) be the product of the (1 - delta_i) along a transcript
x; a filter that keeps their sum within d on every transcript makes w >= 1 - d. Then P(S) <= int_S w dP' + d and Q(S)
>= int_S w dQ'. Also int_S w (dP' - exp(epsilon) dQ') <= delta' whenever P' and Q' are (epsilon, delta')-close, since
0 <= w <= 1. Together P(S) <= exp(epsilon) Q(S) + delta' + d.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from privacy.accounting.event import ORDERS, UNBOUNDED, femto_sum, rising
from privacy.errors import InvalidParameter

NANO_DIGITS = 9
"""Epsilon is counted in whole multiples of 10^-9."""

ATTO_DIGITS = 18
"""Delta is counted in whole multiples of 10^-18."""


def nano_epsilon(epsilon: float) -> int:
    """Epsilon >= 0 in multiples of 1e-9, rounded up: what a charge of it costs.

    A float stands for the shortest decimal that spells it: 0.1 is 100,000,000, three of them are 0.3.
    Raises: InvalidParameter unless epsilon is finite and not negative.
    """
    return _scaled(epsilon, NANO_DIGITS, ROUND_CEILING)


def atto_delta(delta: float) -> int:
    """Delta in [0, 1] in multiples of 1e-18, rounded up: what a charge of it costs. Raises: as nano_epsilon."""
    if delta > 1:
        raise InvalidParameter("delta must be between 0 and 1")
    return _scaled(delta, ATTO_DIGITS, ROUND_CEILING)


def _scaled(value: float, digits: int, rounding: str) -> int:
    if not (math.isfinite(value) and value >= 0):
        raise InvalidParameter("epsilon and delta must be finite and not negative")
    return int(Decimal(repr(float(value))).scaleb(digits).to_integral_value(rounding))


@dataclass(frozen=True)
class Charge:
    """An amount of (epsilon, delta).

    Attributes:
      nano_epsilon: epsilon in multiples of 1e-9, >= 0.
      atto_delta: delta in multiples of 1e-18, >= 0.
    """

    nano_epsilon: int
    atto_delta: int = 0

    def __post_init__(self) -> None:
        if self.nano_epsilon < 0 or self.atto_delta < 0:
            raise InvalidParameter("a charge must not be negative")

    @classmethod
    def of(cls, epsilon: float, delta: float = 0.0) -> Charge:
        """The cost of (epsilon, delta), both rounded up."""
        return cls(nano_epsilon(epsilon), atto_delta(delta))

    @classmethod
    def granted(cls, epsilon: float, delta: float = 0.0) -> Charge:
        """A budget of (epsilon, delta), both rounded down, so that a grant is never more than stated.

        Raises: InvalidParameter.
        """
        if delta > 1:
            raise InvalidParameter("delta must be between 0 and 1")
        return cls(_scaled(epsilon, NANO_DIGITS, ROUND_FLOOR), _scaled(delta, ATTO_DIGITS, ROUND_FLOOR))

    def __add__(self, other: Charge) -> Charge:
        return Charge(self.nano_epsilon + other.nano_epsilon, self.atto_delta + other.atto_delta)

    @property
    def epsilon(self) -> float:
        """Epsilon as the nearest float, for display."""
        return float(Decimal(self.nano_epsilon).scaleb(-NANO_DIGITS))

    @property
    def delta(self) -> float:
        """Delta as the nearest float, for display."""
        return float(Decimal(self.atto_delta).scaleb(-ATTO_DIGITS))


@dataclass(frozen=True)
class ZCDPSpent:
    """A bound rho with all Renyi divergences of all releases so far below rho * order.

    Attributes:
      femto_rho: rho in multiples of 1e-15, in [0, UNBOUNDED].
      atto_delta: what the releases had of delta themselves, in multiples of 1e-18, >= 0.
    """

    femto_rho: int
    atto_delta: int = 0

    def __post_init__(self) -> None:
        if self.atto_delta < 0 or not 0 <= self.femto_rho <= UNBOUNDED:
            raise InvalidParameter("an amount must not be negative")

    def __add__(self, other: ZCDPSpent) -> ZCDPSpent:
        return ZCDPSpent(femto_sum(self.femto_rho, other.femto_rho), self.atto_delta + other.atto_delta)


@dataclass(frozen=True)
class RenyiSpent:
    """Bounds on the Renyi divergence of all releases so far.

    Attributes:
      femto: one per order, in multiples of 1e-15 nats, in [0, UNBOUNDED].
      atto_delta: what the releases had of delta themselves, in multiples of 1e-18, >= 0.
      orders: each > 1, rising; infinity is the largest log density ratio.
    """

    femto: tuple[int, ...]
    atto_delta: int = 0
    orders: tuple[float, ...] = ORDERS

    def __post_init__(self) -> None:
        if not rising(self.orders):
            raise InvalidParameter("Renyi orders must be above 1 and increase")
        if len(self.femto) != len(self.orders):
            raise InvalidParameter("each Renyi order must have one divergence")
        if self.atto_delta < 0 or not all(0 <= amount <= UNBOUNDED for amount in self.femto):
            raise InvalidParameter("an amount must not be negative")

    def __add__(self, other: RenyiSpent) -> RenyiSpent:
        if self.orders != other.orders:
            raise InvalidParameter("only amounts of the same Renyi orders can be added")
        femto = tuple(femto_sum(*pair) for pair in zip(self.femto, other.femto, strict=True))
        return RenyiSpent(femto, self.atto_delta + other.atto_delta, self.orders)


def without_event_delta(granted: Charge, event_delta: float) -> tuple[Charge, int]:
    """The grant less the part for the events, and that part in multiples of 1e-18.

    Raises: InvalidParameter if the part exceeds the granted delta.
    """
    kept = atto_delta(event_delta)
    if kept > granted.atto_delta:
        raise InvalidParameter("the deltas of the events add up to more than the granted delta")
    return Charge(granted.nano_epsilon, granted.atto_delta - kept), kept


VERSION = 1
"""Raised if the meaning of a field changes; an unknown one is refused."""

Spent = Charge | ZCDPSpent | RenyiSpent
Saved = dict[str, int | str | list[int] | list[str]]


def save(spent: Spent) -> Saved:
    """The amount as a JSON object; equal amounts give equal objects. Orders are decimals in text."""
    saved: Saved = {"version": VERSION, "atto_delta": spent.atto_delta}
    if isinstance(spent, Charge):
        return saved | {"currency": "basic", "nano_epsilon": spent.nano_epsilon}
    if isinstance(spent, ZCDPSpent):
        return saved | {"currency": "zcdp", "femto_rho": spent.femto_rho}
    return saved | {"currency": "renyi", "orders": [repr(x) for x in spent.orders], "femto": list(spent.femto)}


def load(saved: Mapping[str, object]) -> Spent:
    """The amount that was saved.

    Raises: InvalidParameter for another version, an unknown currency, or fields missing or not whole numbers.
    """
    if saved.get("version") != VERSION:
        raise InvalidParameter("another version of Noisegate saved this amount")
    currency = saved.get("currency")
    if currency == "basic":
        return Charge(_whole(saved.get("nano_epsilon")), _whole(saved.get("atto_delta")))
    if currency == "zcdp":
        return ZCDPSpent(_whole(saved.get("femto_rho")), _whole(saved.get("atto_delta")))
    if currency == "renyi":
        femto = tuple(_whole(amount) for amount in _list(saved.get("femto")))
        orders = tuple(_order(order) for order in _list(saved.get("orders")))
        return RenyiSpent(femto, _whole(saved.get("atto_delta")), orders)
    raise InvalidParameter("the accounting must be basic, zcdp or renyi")


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidParameter("amounts must be whole numbers")
    return value


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise InvalidParameter("each Renyi order must have one amount")
    return value


def _order(value: object) -> float:
    if not isinstance(value, str):
        raise InvalidParameter("a Renyi order must be a decimal")
    try:
        return float(value)
    except ValueError:
        raise InvalidParameter("a Renyi order must be a decimal") from None
