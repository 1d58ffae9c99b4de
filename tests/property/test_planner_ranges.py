"""Interval arithmetic holds for every double within its bounds."""

from __future__ import annotations

import math
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from planner import ranges
from planner.ranges import Bounds

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
    assert _holds(-x, ranges.negative(a))
    assert _holds(x + y, ranges.total(a, b))
    assert _holds(x - y, ranges.total(a, ranges.negative(b)))
    assert _holds(x * y, ranges.product(a, b))
    exact = ranges.constant(by, False)
    assert _holds(x / by, ranges.quotient(a, exact))
    assert _holds(float(int(x / by)), ranges.truncated(ranges.quotient(a, exact)))
    if y:
        assert _holds(x / y, ranges.quotient(a, replace(b, nonzero=True)))
    assert _holds(x, ranges.either(a, b))
    assert _holds(y, ranges.either(a, b))
    assert _holds(x, ranges.constant(x, False))
    assert _holds(abs(x), ranges.absolute(a))
    assert _holds(x * x, ranges.square(a))
    assert _holds(math.copysign(1, x) if x else 0, ranges.sign(a))
    assert _holds(min(x, 3.0), ranges.within(ranges.either(a, ranges.constant(3.0, True)), None, 3.0))


@given(_bounded(), st.integers(1, 6), st.integers(-3, 3))
def test_functions_lie_within_their_bounds(argument: tuple[float, Bounds], power: int, digits: int) -> None:
    x, bounds = argument
    assert _holds(x**power, ranges.power(bounds, power))
    step = 10.0**-digits
    for whole in (math.floor(x / step), math.ceil(x / step), round(x / step)):
        inside = ranges.rounded(bounds, digits)
        assert inside.lo - 1e-9 <= whole * step <= inside.hi + 1e-9
    positive = ranges.absolute(bounds)
    assert _holds(math.sqrt(abs(x)), ranges.square_root(positive))
    if x:
        for base in (math.e, 10.0):
            found = ranges.logarithm(replace(positive, nonzero=True), base)
            assert _holds(math.log(abs(x)) / math.log(base), found)
    assert _holds(math.exp(x / 1e4), ranges.exponential(ranges.quotient(bounds, ranges.constant(1e4, False))))
