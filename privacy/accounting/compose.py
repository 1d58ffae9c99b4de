"""Basic composition of events into one (epsilon, delta)."""

from __future__ import annotations

import math
from fractions import Fraction

from privacy.accounting.charge import ATTO_DIGITS, NANO_DIGITS, Charge
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
from privacy.accounting.spelled import spelled

_HINT = "state it as ApproxDP at a delta of your choice (`approximate`)"


def compose(event: PrivacyEvent) -> Charge:
    """The cost of an event by basic composition: epsilons add up, deltas add up.

    The sums are exact over the decimals that spell the floats and are rounded up once, so three events of 1/3
    (0.3333333333333333) cost 1.000000000.
    Raises: InvalidParameter that names an event without a rule.
    """
    epsilon = sum((_epsilon(leaf) for leaf in leaves(event)), Fraction(0))
    return Charge(math.ceil(epsilon * 10**NANO_DIGITS), own_delta(event))


def own_delta(event: PrivacyEvent) -> int:
    """The deltas that an event's parts have of their own, added up, in multiples of 1e-18, rounded up once."""
    deltas = (spelled(leaf.delta) for leaf in leaves(event) if isinstance(leaf, ApproxDP))
    total: Fraction = sum(deltas, Fraction(0)) * 10**ATTO_DIGITS
    return math.ceil(total)


def _epsilon(event: PrivacyEvent) -> Fraction:
    if isinstance(event, (PureDP, ApproxDP, BoundedRange)):
        return spelled(event.epsilon)
    spread = isinstance(event, (ZCDP, DiscreteGaussian, RenyiCurve))
    raise refusal("basic composition", event, _HINT if spread else "")
