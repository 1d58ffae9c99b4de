"""Squared norms in two limbs against Python's integers."""

import numpy as np
import pytest

from privacy.truncation.vector.norms import squared_norms
from privacy.units import MAX_UNITS, ONE
from tests.unit.privacy.truncation.vector.vectors import compacted


@pytest.mark.parametrize("size", [3, ONE, 1 << 45, MAX_UNITS // 8])
def test_the_limbs_are_the_exact_square(size: int) -> None:
    rng = np.random.default_rng(size)
    rows = [(frozenset({0}), int(rng.integers(size)), g) for g in (0, 1, 2) for _ in range(2)]
    norms = squared_norms(compacted(rows), 0)
    exact = sum(sum(w for _, w, g in rows if g == group) ** 2 for group in range(3))
    assert (int(norms.high[0]) << 62) + int(norms.low[0]) == exact


def test_a_pythagorean_length_does_not_exceed_itself() -> None:
    big = 3 << 55
    norms = squared_norms(compacted([(frozenset({0}), big, 0), (frozenset({0}), big // 3 * 4, 1)]), 0)
    assert not norms.exceed(big // 3 * 5)[0]
    assert norms.exceed(big // 3 * 5 - 1)[0]


def test_saturated_loads_exceed_every_threshold_and_are_removed_entirely() -> None:
    rows = [(frozenset({0, other}), MAX_UNITS, 0) for other in range(1, 6)]
    norms = squared_norms(compacted(rows), 0)
    assert norms.exceed(MAX_UNITS).tolist() == [True, *[False] * 5]
    assert norms.shares(MAX_UNITS)[0] == 1.0
