"""Interval arithmetic holds for every double within its bounds."""

from __future__ import annotations

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
    assert _holds(x / by, ranges.quotient(a, by))
    assert _holds(float(int(x / by)), ranges.truncated(a, by))
    assert _holds(x, ranges.either(a, b))
    assert _holds(y, ranges.either(a, b))
    assert _holds(x, ranges.constant(x, False))
