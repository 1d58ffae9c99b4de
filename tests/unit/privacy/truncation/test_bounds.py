"""Bounds of truncated sums, by concavity and before any program, and exact sums."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from privacy.thresholds import Thresholds
from privacy.truncation.lazy_answer import core_bounds, tighten
from privacy.truncation.programs.certificate import add_products
from privacy.truncation.truncated_answer import StartingBounds
from privacy.units import MAX_UNITS, ONE, exact_sum, from_halves, saturating_add
from tests.unit.privacy.truncation.instances import optimum, program

TAUS = Thresholds(-20, 32).units
OTHERS = Thresholds(-12, 20, 3).units


def _concave(taus: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
    return (1000 * ONE * (1 - np.exp(-taus / (scale * ONE)))).astype(np.int64)


def test_what_is_known_bounds_the_rest_and_the_truth_stays_inside() -> None:
    for taus in [TAUS, OTHERS]:
        for scale in (0.01, 1.0, 300.0):
            truth = _concave(taus, scale)
            lower, upper = np.zeros_like(truth), np.full_like(truth, 1000 * ONE)
            for known in (22, 24, 30):
                before = int((upper - lower).astype(np.float64).sum())
                lower[known] = upper[known] = truth[known]
                tighten(lower, upper, taus)
                assert np.all((lower <= truth + 2) & (truth <= upper + 2)), taus
                assert int((upper - lower).astype(np.float64).sum()) <= before, taus


def test_a_chord_runs_through_the_origin_and_between_solved_thresholds() -> None:
    taus = Thresholds(0, 3).units
    lower, upper = np.array([0, 60, 0, 120]) * ONE, np.array([500, 60, 500, 120]) * ONE
    tighten(lower, upper, taus)
    assert np.allclose(lower / ONE, [30, 60, 80, 120], atol=1e-3)
    assert np.allclose(upper / ONE, [50, 60, 120, 120], atol=1e-3)


def test_saturated_bounds_stay_in_range() -> None:
    lower, upper = np.zeros(len(TAUS), np.int64), np.full(len(TAUS), MAX_UNITS)
    lower[-1] = MAX_UNITS
    tighten(lower, upper, TAUS)
    assert np.all((lower >= 0) & (lower <= upper) & (upper <= MAX_UNITS))


WHOLE_THRESHOLDS = Thresholds().units


def _capped(slopes: list[tuple[int, int]]) -> list[int]:
    """sum of min(k tau, cap): concave, non-decreasing, 0 at 0, exactly."""
    return [min(MAX_UNITS, sum(min(k * int(tau), cap) for k, cap in slopes)) for tau in WHOLE_THRESHOLDS]


@given(
    st.lists(st.tuples(st.integers(0, 1000), st.integers(0, MAX_UNITS)), min_size=1, max_size=4),
    st.lists(st.integers(0, len(WHOLE_THRESHOLDS) - 1), max_size=8),
    st.integers(0, 60),
)
def test_bounds_contain_the_function(slopes: list[tuple[int, int]], known: list[int], looseness: int) -> None:
    exact = np.array(_capped(slopes), np.int64)
    slack = 1 << looseness
    lower = np.array(
        [value if i in known else max(0, value - slack) for i, value in enumerate(exact.tolist())], np.int64
    )
    upper = np.array(
        [value if i in known else min(MAX_UNITS, value + slack) for i, value in enumerate(exact.tolist())], np.int64
    )
    tighten(lower, upper, WHOLE_THRESHOLDS)
    assert np.all(lower <= exact)
    assert np.all(exact <= upper)


def test_a_small_part_beside_a_huge_one_is_not_lost() -> None:
    """The case that broke relative pads: a steep start, then a gentle slope up to a large total."""
    for total in [1 << 40, 1 << 54, 1 << 61]:
        exact = np.array(_capped([(3, total), (1, 5000)]), np.int64)
        lower, upper = np.zeros_like(exact), np.full_like(exact, MAX_UNITS)
        for index in (0, 5, 20, 40, len(WHOLE_THRESHOLDS) - 1):
            lower[index] = upper[index] = exact[index]
        tighten(lower, upper, WHOLE_THRESHOLDS)
        assert np.all(lower <= exact), total
        assert np.all(exact <= upper), total


def test_they_contain_the_optimum_and_are_close_to_it() -> None:
    for owners in [2, 3, 4]:
        random = np.random.default_rng(owners)
        sets = [frozenset(row) for row in random.integers(0, 60, (400, owners)).tolist()]
        instance = program(
            [(units, int(w)) for units, w in zip(sets, random.integers(1, 3 * ONE, 400), strict=True)],
            random.integers(ONE, 20 * ONE, 60).tolist(),
        )
        proof, exact = core_bounds(instance), optimum(instance)
        assert 0.75 * exact <= proof.value <= exact + 1, owners
        assert exact - 1 <= proof.upper <= 1.4 * exact, owners


def test_they_meet_on_a_ring() -> None:
    ring = program([(frozenset({i, (i + 1) % 8}), 4 * ONE) for i in range(8)], [4 * ONE] * 8)
    assert core_bounds(ring).value == core_bounds(ring).upper == 16 * ONE


def test_they_saturate_instead_of_wrapping() -> None:
    full = program([(frozenset({2 * i, 2 * i + 1}), MAX_UNITS) for i in range(5)], [MAX_UNITS - 1] * 10)
    proof = core_bounds(full)
    assert (proof.value, proof.upper) == (MAX_UNITS, MAX_UNITS)


def _spread(lower: list[int], upper: list[int], linear: int) -> tuple[list[int], list[int]]:
    start = StartingBounds(np.array([lower]), np.array([upper]), np.array([linear])).spread()
    return start.lower[0].tolist(), start.upper[0].tolist()


def test_a_threshold_has_at_least_half_of_the_next_and_at_most_twice_the_last() -> None:
    assert _spread([0, 0, 40], [99, 99, 99], -1) == ([10, 20, 40], [99, 99, 99])
    assert _spread([0, 0, 0], [7, 99, 99], -1) == ([0, 0, 0], [7, 14, 28])
    # values grow with the threshold
    assert _spread([5, 0, 0], [99, 99, 9], -1) == ([5, 5, 5], [9, 9, 9])
    # exactly half where it is linear rounded outwards
    assert _spread([0, 0, 9], [99, 99, 9], 2) == ([2, 4, 9], [3, 5, 9])
    # doubling stops where values saturate
    assert _spread([0, 0], [MAX_UNITS, MAX_UNITS], -1)[1] == [MAX_UNITS, MAX_UNITS]
    # other bases only grow and are nowhere linear
    start = StartingBounds(np.array([[5, 0, 40]]), np.array([[99, 99, 60]]), np.array([2])).spread(doubling=False)
    assert (start.lower[0].tolist(), start.upper[0].tolist()) == ([5, 5, 40], [60, 60, 60])
    assert start.linear.tolist() == [-1]
    # nothing private is shown
    assert repr(StartingBounds(np.array([[4711]]), np.array([[4711]]), np.array([0]))) == "StartingBounds(<private>)"


def test_sums_beyond_int64_are_exact() -> None:
    values = np.array([2**63 - 1] * 1000 + [1, 2, 3], np.int64)
    assert exact_sum(values) == sum(values.tolist())
    # products beyond int64 are exact
    random = np.random.default_rng(2)
    left = random.integers(0, 2**63 - 1, 1000)
    right = random.integers(0, 2**32, 1000)
    left[0], right[0] = 2**63 - 1, 2**32 - 1
    total = np.zeros(2, np.uint64)
    add_products(left, right, total)
    assert from_halves(total) == sum(a * b for a, b in zip(left.tolist(), right.tolist(), strict=True))
    # nothing sums to nothing
    assert exact_sum(np.empty(0, np.int64)) == 0


EDGES = [0, 1, 2**31, MAX_UNITS // 2, MAX_UNITS // 2 + 1, MAX_UNITS - 1, MAX_UNITS]


def test_sums_stop_at_the_end() -> None:
    for left in EDGES:
        for right in EDGES:
            assert saturating_add(np.array([left]), np.array([right])).tolist() == [min(MAX_UNITS, left + right)]
