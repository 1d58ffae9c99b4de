"""Basic composition: epsilons and deltas add up, exactly. Its accountant and its filter."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from privacy.accounting.amounts import ATTO_DIGITS, NANO_DIGITS, Charge, atto_delta, nano_epsilon
from privacy.accounting.event import (
    ZCDP,
    ApproxDP,
    BoundedRange,
    DiscreteGaussian,
    PrivacyEvent,
    PureDP,
    RenyiCurve,
    leaves,
    refusal,
)
from privacy.exact import decimal_fraction


@dataclass(frozen=True)
class BasicAccountant:
    """Counts (epsilon, delta) in exact integers; the only accountant for delta = 0."""

    name = "basic"

    @property
    def nothing(self) -> Charge:
        """The amount that nothing costs: epsilon 0 and delta 0."""
        return Charge(0)

    def charge(self, event: PrivacyEvent) -> Charge:
        """The event's epsilons and deltas, added up and rounded up once. Raises: as `Accountant.charge`."""
        return compose(event)

    def epsilon(self, spent: Charge, delta: float) -> float:
        """The sum of epsilons, or infinity where the deltas exceed delta."""
        return spent.epsilon if spent.atto_delta <= Charge.granted(0.0, delta).atto_delta else math.inf


_HINT = "state it as ApproxDP at a delta of your choice (`approximate`)"


def compose(event: PrivacyEvent) -> Charge:
    """The cost of an event by basic composition: epsilons add up, deltas add up.

    The sums are exact over the decimals that spell the floats and are rounded up once, so three events of 1/3
    (0.3333333333333333) cost 1.000000000.
    Raises: InvalidParameter that names an event without a rule.
    Source: Dwork and Roth, The Algorithmic Foundations of Differential Privacy (2014), theorem 3.16.
    """
    epsilon = sum((_epsilon(leaf) for leaf in leaves(event)), Fraction(0))
    return Charge(math.ceil(epsilon * 10**NANO_DIGITS), own_delta(event))


def own_delta(event: PrivacyEvent) -> int:
    """The deltas that an event's parts have of their own, added up, in multiples of 1e-18, rounded up once."""
    deltas = (decimal_fraction(leaf.delta) for leaf in leaves(event) if isinstance(leaf, ApproxDP))
    total: Fraction = sum(deltas, Fraction(0)) * 10**ATTO_DIGITS
    return math.ceil(total)


def _epsilon(event: PrivacyEvent) -> Fraction:
    if isinstance(event, (PureDP, ApproxDP, BoundedRange)):
        return decimal_fraction(event.epsilon)
    spread = isinstance(event, (ZCDP, DiscreteGaussian, RenyiCurve))
    raise refusal("basic composition", event, _HINT if spread else "")


__all__ = ["BudgetFilter", "Charge", "atto_delta", "nano_epsilon"]


@dataclass(frozen=True)
class BudgetFilter:
    """Admits charges while both sums stay within the grant.

    Sound for adaptively chosen requests: epsilons and deltas add up even if each request and its charge depend on
    earlier outputs (Rogers, Roth, Ullman, Vadhan, NIPS 2016). All in exact integers.

    Attributes:
      granted: the budget.
    """

    granted: Charge

    @classmethod
    def of(cls, epsilon: float, delta: float = 0.0) -> BudgetFilter:
        """A filter for a budget given as floats, rounded down."""
        return cls(Charge.granted(epsilon, delta))

    @property
    def accountant(self) -> BasicAccountant:
        """Counts in exact epsilons and deltas."""
        return BasicAccountant()

    def admits(self, spent: Charge, charge: Charge) -> bool:
        """Whether the budget can pay `charge` on top of what is already spent. All of the budget may be spent."""
        total = spent + charge
        return total.nano_epsilon <= self.granted.nano_epsilon and total.atto_delta <= self.granted.atto_delta

    def left(self, spent: Charge) -> Charge:
        """The amount that is left; zero if the grant was lowered below what is spent."""
        return Charge(
            max(0, self.granted.nano_epsilon - spent.nano_epsilon), max(0, self.granted.atto_delta - spent.atto_delta)
        )
