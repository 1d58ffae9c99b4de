"""The zCDP of an event: the smallest known rho with all its Renyi divergences below rho * order."""

from __future__ import annotations

import math
from fractions import Fraction

from privacy.accounting.divergence import linear_rate
from privacy.accounting.event import ApproxDP, BoundedRange, PrivacyEvent, PureDP, refusal
from privacy.accounting.spelled import UPWARD, spelled

_SMALL = 2.0**-20


def concentration(event: PrivacyEvent) -> Fraction:
    """rho of an event that is not a composition, above the exact value by a relative 2^-39 at most.

    An `ApproxDP` event is rho-zCDP but for an event of probability delta, which is charged apart.
    Raises: InvalidParameter that names an event without a rule.
    """
    if isinstance(event, (PureDP, ApproxDP)):
        return _pure(spelled(event.epsilon))
    if isinstance(event, BoundedRange):
        epsilon = spelled(event.epsilon)
        return min(epsilon**2 / 8, _pure(epsilon))
    rho = linear_rate(event)
    if rho is None:
        raise refusal("zCDP", event)
    return rho


def _pure(epsilon: Fraction) -> Fraction:
    """epsilon tanh(epsilon / 2), never above epsilon^2 / 2.

    With s = (order - 1/2)^2 the divergence of randomised response is (f(s) - f(1/4)) / (order - 1) for
    f(s) = ln cosh(epsilon sqrt(s)), which is concave, so it lies below its tangent at 1/4: f'(1/4) * order. The
    tangent is reached as the order falls to 1.
    """
    value = float(epsilon)
    if value < _SMALL:
        return epsilon**2 / 2
    return min(epsilon**2 / 2, Fraction(value * math.tanh(value / 2) * UPWARD))
