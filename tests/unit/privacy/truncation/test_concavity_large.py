"""Chords and rays stay true bounds for values as large as there are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacy.ladder import Ladder
from privacy.truncation.concavity import tighten
from privacy.units import MAX_UNITS

TAUS = Ladder().units


def _concave(slopes: list[tuple[int, int]]) -> list[int]:
    """sum of min(k tau, cap): concave, non-decreasing, 0 at 0, exactly."""
    return [min(MAX_UNITS, sum(min(k * int(tau), cap) for k, cap in slopes)) for tau in TAUS]


@given(
    st.lists(st.tuples(st.integers(0, 1000), st.integers(0, MAX_UNITS)), min_size=1, max_size=4),
    st.lists(st.integers(0, len(TAUS) - 1), max_size=8),
    st.integers(0, 60),
)
def test_bounds_contain_the_function(slopes: list[tuple[int, int]], known: list[int], looseness: int) -> None:
    exact = np.array(_concave(slopes), np.int64)
    slack = 1 << looseness
    lower = np.array(
        [value if i in known else max(0, value - slack) for i, value in enumerate(exact.tolist())], np.int64
    )
    upper = np.array(
        [value if i in known else min(MAX_UNITS, value + slack) for i, value in enumerate(exact.tolist())], np.int64
    )
    tighten(lower, upper, TAUS)
    assert np.all(lower <= exact)
    assert np.all(exact <= upper)


@pytest.mark.parametrize("total", [1 << 40, 1 << 54, 1 << 61])
def test_a_small_part_beside_a_huge_one_is_not_lost(total: int) -> None:
    """The case that broke relative pads: a steep start, then a gentle slope up to a large total."""
    exact = np.array(_concave([(3, total), (1, 5000)]), np.int64)
    lower, upper = np.zeros_like(exact), np.full_like(exact, MAX_UNITS)
    for index in (0, 5, 20, 40, len(TAUS) - 1):
        lower[index] = upper[index] = exact[index]
    tighten(lower, upper, TAUS)
    assert np.all(lower <= exact)
    assert np.all(exact <= upper)
