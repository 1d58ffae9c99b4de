"""The linear program without a basis: never without a point, and right where simplex loses its way."""

from unittest.mock import patch

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array

from privacy.errors import Cancelled
from privacy.truncation.control import Control
from privacy.truncation.vector.instance import DEFAULT_GAP, VectorInstance
from privacy.truncation.vector.interior_point import interior_point
from privacy.truncation.vector.master import Master
from tests.unit.privacy.truncation.vector.test_tiny_thresholds import five_owners, three_owners
from tests.unit.privacy.truncation.vector.vectors import compacted, feasible


def cuts(seed: int) -> tuple[csr_array, np.ndarray]:
    """Rows like those of cuts: a coefficient 1, others from 1e-9 to 1, bounds next to 1."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, 40)), int(rng.integers(1, 80))
    rows = np.where(rng.random((k, n)) < 0.2, 10.0 ** -rng.uniform(0, 9, (k, n)), 0.0)
    rows[np.arange(k), rng.integers(n, size=k)] = 1.0
    return csr_array(rows), 1.0 - 10.0 ** -rng.uniform(0, 12, k)


@pytest.mark.parametrize("seed", range(40))
def test_both_values_are_the_optimum(seed: int) -> None:
    rows, bound = cuts(seed)
    x, y = interior_point(rows, bound)
    optimum = linprog(np.ones(rows.shape[1]), -rows.toarray(), -bound, bounds=(0, 1)).fun
    assert np.all((x >= 0) & (x <= 1)) and np.all(y >= 0)
    assert np.all(rows @ x >= bound - 1e-11)
    proved = y @ bound - np.maximum(rows.T @ y - 1.0, 0.0).sum()
    assert x.sum() == pytest.approx(optimum, abs=1e-6)
    assert proved == pytest.approx(x.sum(), abs=1e-6)


def test_rows_that_repeat_one_another_have_a_point_too() -> None:
    rows, bound = cuts(3)
    twice = csr_array(np.vstack([rows.toarray()] * 3))
    once, again = interior_point(rows, bound)[0], interior_point(twice, np.tile(bound, 3))[0]
    assert again.sum() == pytest.approx(once.sum(), abs=1e-9)


def test_stopped_between_two_steps() -> None:
    control = Control()
    control.cancel()
    with pytest.raises(Cancelled):
        interior_point(*cuts(0), control)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("tau", [1, 1 << 12])
def test_the_gap_closes_without_simplex(seed: int, tau: int) -> None:
    tuples = compacted(three_owners(seed), 4)
    with patch.object(Master, "_warm", return_value=None):
        removal = VectorInstance(tuples).removal(tau)
    assert feasible(tuples, removal, tau)
    assert 0 <= removal.removed - removal.lower <= DEFAULT_GAP


@pytest.mark.parametrize("seed", range(6))
def test_the_gap_closes_when_simplex_is_wrong(seed: int) -> None:
    """Shares too small and duals too small, said to be optimal: the core proves too little and is done again."""
    tuples = compacted(three_owners(seed), 4)
    warm = Master._warm

    def wrong(self: Master) -> tuple[np.ndarray, np.ndarray] | None:
        found = warm(self)
        return None if found is None else (found[0] * 0.9, found[1] * 0.5)

    with patch.object(Master, "_warm", wrong):
        removal = VectorInstance(tuples).removal(1 << 10)
    assert feasible(tuples, removal, 1 << 10)
    assert 0 <= removal.removed - removal.lower <= DEFAULT_GAP


@pytest.mark.parametrize(("seed", "tau_bits"), [(339, 12), (921, 15), (1044, 0), (3851, 5)])
def test_where_a_warm_simplex_ends_without_a_factor(seed: int, tau_bits: int) -> None:
    tuples = compacted(five_owners(seed), 4)
    removal = VectorInstance(tuples).removal(1 << tau_bits)
    assert feasible(tuples, removal, 1 << tau_bits)
    assert 0 <= removal.removed - removal.lower <= DEFAULT_GAP


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 400, 20))
def test_five_owners_always_close_their_gap(first: int) -> None:
    for seed in range(first, first + 20):
        tuples = compacted(five_owners(seed), 4)
        for tau_bits in (0, 5, 10, 12, 15, 19):
            removal = VectorInstance(tuples).removal(1 << tau_bits)
            assert 0 <= removal.removed - removal.lower <= DEFAULT_GAP
