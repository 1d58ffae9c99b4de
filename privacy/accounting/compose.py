"""Basic composition of events into one (epsilon, delta)."""

from __future__ import annotations

import math
from fractions import Fraction

from privacy.accounting.charge import NANO_DIGITS, Charge
from privacy.accounting.event import Composed, PrivacyEvent, PureDP
from privacy.errors import InvalidParameter


def compose(event: PrivacyEvent) -> Charge:
    """The cost of an event by basic composition: epsilons add up.

    The sum is exact over the decimals that spell the floats and is rounded up once, so three events of 1/3
    (0.3333333333333333) cost 1.000000000.
    Raises: InvalidParameter that names an event without a rule.
    """
    return Charge(math.ceil(_epsilon(event) * 10**NANO_DIGITS))


def _epsilon(event: PrivacyEvent) -> Fraction:
    if isinstance(event, PureDP):
        return Fraction(repr(float(event.epsilon)))
    if isinstance(event, Composed):
        return sum((_epsilon(part) for part in event.events), Fraction(0))
    raise InvalidParameter(f"no composition rule for {type(event).__name__}")
