import numpy as np

from privacy.truncation.starting_bounds import StartingBounds
from privacy.units import MAX_UNITS


def _spread(lower: list[int], upper: list[int], linear: int) -> tuple[list[int], list[int]]:
    start = StartingBounds(np.array([lower]), np.array([upper]), np.array([linear])).spread()
    return start.lower[0].tolist(), start.upper[0].tolist()


def test_a_threshold_has_at_least_half_of_the_next_and_at_most_twice_the_last() -> None:
    assert _spread([0, 0, 40], [99, 99, 99], -1) == ([10, 20, 40], [99, 99, 99])
    assert _spread([0, 0, 0], [7, 99, 99], -1) == ([0, 0, 0], [7, 14, 28])


def test_values_grow_with_the_threshold() -> None:
    assert _spread([5, 0, 0], [99, 99, 9], -1) == ([5, 5, 5], [9, 9, 9])


def test_exactly_half_where_it_is_linear_rounded_outwards() -> None:
    assert _spread([0, 0, 9], [99, 99, 9], 2) == ([2, 4, 9], [3, 5, 9])


def test_doubling_stops_where_values_saturate() -> None:
    assert _spread([0, 0], [MAX_UNITS, MAX_UNITS], -1)[1] == [MAX_UNITS, MAX_UNITS]


def test_other_bases_only_grow_and_are_nowhere_linear() -> None:
    start = StartingBounds(np.array([[5, 0, 40]]), np.array([[99, 99, 60]]), np.array([2])).spread(doubling=False)
    assert (start.lower[0].tolist(), start.upper[0].tolist()) == ([5, 5, 40], [60, 60, 60])
    assert start.linear.tolist() == [-1]


def test_nothing_private_is_shown() -> None:
    assert repr(StartingBounds(np.array([[4711]]), np.array([[4711]]), np.array([0]))) == "StartingBounds(<private>)"
