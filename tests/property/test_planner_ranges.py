"""Interval arithmetic holds for every double within its bounds."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from planner.expressions import intervals
from planner.expressions.intervals import Bounds

_numbers = st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) >= 1e-6)


@st.composite
def _bounded(draw: st.DrawFn) -> tuple[float, Bounds]:
    low, value, high = sorted(draw(st.tuples(_numbers, _numbers, _numbers)))
    return value, Bounds(low, high, 1e-6, False)


def _holds(value: float, bounds: Bounds) -> bool:
    return bounds.lo <= value <= bounds.hi and (value == 0 or abs(value) >= bounds.least)


@given(_bounded(), _bounded(), _numbers.filter(bool))
def test_results_lie_within_their_bounds(left: tuple[float, Bounds], right: tuple[float, Bounds], by: float) -> None:
    (x, a), (y, b) = left, right
    assert _holds(-x, intervals.negative(a))
    assert _holds(x + y, intervals.total(a, b))
    assert _holds(x - y, intervals.total(a, intervals.negative(b)))
    assert _holds(x * y, intervals.product(a, b))
    exact = intervals.constant(by, False)
    assert _holds(x / by, intervals.quotient(a, exact))
    assert _holds(float(int(x / by)), intervals.truncated(intervals.quotient(a, exact)))
    if y:
        assert _holds(x / y, intervals.quotient(a, replace(b, nonzero=True)))
    assert _holds(x, intervals.either(a, b))
    assert _holds(y, intervals.either(a, b))
    assert _holds(x, intervals.constant(x, False))
    assert _holds(abs(x), intervals.absolute(a))
    assert _holds(x * x, intervals.square(a))
    assert _holds(math.copysign(1, x) if x else 0, intervals.sign(a))
    assert _holds(min(x, 3.0), intervals.within(intervals.either(a, intervals.constant(3.0, True)), None, 3.0))


@given(_bounded(), st.integers(1, 6), st.integers(-3, 3))
def test_functions_lie_within_their_bounds(argument: tuple[float, Bounds], power: int, digits: int) -> None:
    x, bounds = argument
    assert _holds(x**power, intervals.power(bounds, power))
    step = Fraction(10) ** -digits
    exact = Fraction(repr(x)) / step  # of the number that is written, as a database rounds it: 1.9 / 0.1 is below 19
    for whole in (math.floor(exact), math.ceil(exact), round(exact)):
        inside = intervals.rounded(bounds, digits)
        assert inside.lo - 1e-9 <= whole * step <= inside.hi + 1e-9
    positive = intervals.absolute(bounds)
    assert _holds(math.sqrt(abs(x)), intervals.square_root(positive))
    if x:
        for base in (math.e, 10.0):
            found = intervals.logarithm(replace(positive, nonzero=True), base)
            assert _holds(math.log(abs(x)) / math.log(base), found)
    assert _holds(
        math.exp(x / 1e4), intervals.exponential(intervals.quotient(bounds, intervals.constant(1e4, False)))
    )
