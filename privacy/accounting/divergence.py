"""Upper bounds on the Renyi divergence of an event at an order, as exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

from privacy.accounting.event import (
    ZCDP,
    ApproxDP,
    BoundedRange,
    DiscreteGaussian,
    PrivacyEvent,
    PureDP,
    RenyiCurve,
    refusal,
)
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
    """rho of an event whose divergence is bounded by rho * order and by nothing else; exact. None for others."""
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
