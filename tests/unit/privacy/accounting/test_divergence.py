"""Events, and the divergences and rho that they have."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from privacy.accounting.event import (
    ORDERS,
    ZCDP,
    ApproxDP,
    BoundedRange,
    Composed,
    DiscreteGaussian,
    PureDP,
    RenyiCurve,
    leaves,
)
from privacy.accounting.renyi import divergence
from privacy.accounting.zcdp import concentration
from privacy.errors import InvalidParameter
from tests.unit.privacy.accounting.currencies import Tarot
from tests.unit.privacy.accounting.precisely import bounded_range, randomised_response
from tests.unit.privacy.refusals import refuses_calls, refuses_each


def test_amounts_are_finite_and_positive() -> None:
    for event_of in (
        PureDP,
        BoundedRange,
        ZCDP,
        lambda amount: ApproxDP(amount, 0.0),
        lambda amount: DiscreteGaussian(amount, 1.0),
        lambda amount: DiscreteGaussian(1.0, amount),
    ):
        refuses_each(event_of, [0.0, -1.0, math.nan, math.inf])
    refuses_each(lambda delta: ApproxDP(1.0, delta), [-1e-9, 1.1, math.nan])
    refuses_calls(DiscreteGaussian, (1.0, 1.0, 0))


def test_a_curve_rises_in_orders_above_one_and_may_know_nothing_at_one() -> None:
    orders: list[tuple[float, ...]] = [(1.0, 2.0), (3.0, 2.0), (2.0, 2.0)]
    refuses_calls(RenyiCurve, *((one, (0.1, 0.2)) for one in orders))
    refuses_calls(RenyiCurve, ((), ()), ((2.0,), (0.1, 0.2)), ((math.nan,), (0.1,)))
    refuses_calls(RenyiCurve, ((2.0,), (-0.1,)), ((2.0,), (math.nan,)))
    assert RenyiCurve((2.0, math.inf), (0.1, math.inf)).divergences[1] == math.inf
    # compositions are walked in order
    event = Composed((PureDP(1.0), Composed((PureDP(2.0), Composed(()))), PureDP(3.0)))
    assert list(leaves(event)) == [PureDP(1.0), PureDP(2.0), PureDP(3.0)]


ABOVE = 1 + Fraction(1, 2**39)

epsilons = st.floats(-8, 2).map(lambda exponent: 10.0**exponent)
orders = st.sampled_from(ORDERS) | st.floats(1.001, 1e5)


def _rational(value: mpf) -> Fraction:
    mantissa, exponent = mp.frexp(value)
    return Fraction(int(mp.ldexp(mantissa, 200)), 2**200) * Fraction(2) ** int(exponent)


@given(epsilons, orders)
def test_of_pure_dp_is_that_of_randomised_response_rounded_up(epsilon: float, order: float) -> None:
    bound = divergence(PureDP(epsilon), order)
    exact = _rational(randomised_response(mpf(repr(epsilon)), order))
    assert bound is not None
    assert exact * (1 - Fraction(1, 10**40)) <= bound <= exact * ABOVE


@given(epsilons, st.floats(0.001, 0.999), orders)
def test_of_a_bounded_range_covers_every_two_outcomes(epsilon: float, part: float, order: float) -> None:
    bound = divergence(BoundedRange(epsilon), order)
    length = mpf(repr(epsilon))
    assert bound is not None
    assert _rational(bounded_range(length, length * part, order)) <= bound * (1 + Fraction(1, 10**30))
    assert bound <= divergence(PureDP(epsilon), order)  # type: ignore[operator]


def test_of_gaussian_noise_is_exact_and_unbounded_at_infinity_and_of_a_bounded_range_an_eighth() -> None:
    assert divergence(DiscreteGaussian(10.0, 3.0), 5.0) == Fraction(9, 200) * 5
    assert divergence(ZCDP(0.1), 5.0) == Fraction(1, 2)
    assert divergence(ZCDP(0.1), math.inf) is None
    assert divergence(BoundedRange(0.1), 2.0) == Fraction(1, 100) / 8 * 2
    assert divergence(ApproxDP(0.3, 1e-6), 4.0) == divergence(PureDP(0.3), 4.0)  # delta is charged elsewhere


def test_of_discrete_gaussian_noise_bounds_its_sum() -> None:
    for scale, shift in ((0.7, 1), (2.0, 3), (5.0, 1)):
        weights = {x: mp.exp(-(mpf(x) ** 2) / (2 * mpf(scale) ** 2)) for x in range(-80, 81)}
        total = mp.fsum(weights.values())
        for order in (1.25, 2.0, 8.0):
            terms = (
                (weights[x] / total) ** mpf(order) * (weights[x - shift] / total) ** (1 - mpf(order))
                for x in range(-75, 81)
            )
            exact = mp.log(mp.fsum(terms)) / (mpf(order) - 1)
            bound = divergence(DiscreteGaussian(scale, float(shift)), order)
            assert bound is not None
            assert exact <= mpf(bound.numerator) / bound.denominator * (1 + mpf(10) ** -12)


def test_a_curve_answers_with_its_next_order_and_refuses_by_name() -> None:
    curve = RenyiCurve((2.0, 4.0, 8.0), (0.25, 0.5, math.inf))
    assert [divergence(curve, order) for order in (1.5, 2.0, 3.0, 4.0)] == [0.25, 0.25, 0.5, 0.5]
    assert divergence(curve, 5.0) is None
    assert divergence(curve, math.inf) is None
    for rule, event in itertools.product((lambda one: divergence(one, 2.0), concentration), (Tarot(), Composed(()))):
        with pytest.raises(InvalidParameter, match=type(event).__name__):
            rule(event)
    with pytest.raises(InvalidParameter, match="RenyiCurve"):
        concentration(RenyiCurve((2.0,), (0.1,)))


@given(epsilons, st.sampled_from([PureDP, BoundedRange]), st.sampled_from(ORDERS[:-1]))
def test_rho_bounds_every_order(epsilon: float, event_of: type[PureDP | BoundedRange], order: float) -> None:
    event = event_of(epsilon)
    bound = divergence(event, order)
    assert bound is not None
    assert bound <= concentration(event) * Fraction(order) * ABOVE


@given(epsilons)
def test_rho_of_pure_dp_is_reached_as_orders_fall_to_one(epsilon: float) -> None:
    """The Kullback-Leibler divergence of randomised response: no smaller rho is right."""
    exact = _rational(mpf(repr(epsilon)) * mp.tanh(mpf(repr(epsilon)) / 2))
    rho = concentration(PureDP(epsilon))
    assert exact * (1 - Fraction(1, 10**40)) <= rho <= exact * ABOVE
    assert rho <= Fraction(repr(epsilon)) ** 2 / 2


def test_rho_of_others() -> None:
    assert concentration(ZCDP(0.1)) == Fraction(1, 10)
    assert concentration(DiscreteGaussian(10.0, 3.0)) == Fraction(9, 200)
    assert concentration(BoundedRange(0.1)) == Fraction(1, 800)
    assert concentration(BoundedRange(40.0)) < 41  # an eighth of its square would be 200
