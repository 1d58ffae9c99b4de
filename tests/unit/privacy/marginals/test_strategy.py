"""Which marginals are measured: never worse than each alone, and much better where there are several."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.marginals.grid import Grid
from privacy.marginals.strategy import PARTS, best_shares


def alone(scales: NDArray[np.float64], asked: list[int]) -> dict[int, float]:
    """The variance of each if all are asked alone, with equal shares of 1."""
    return {mask: 2 * float(scales[mask] * len(asked)) ** 2 for mask in asked}


@pytest.mark.parametrize(
    ("sizes", "asked"),
    [
        ((10, 12), [0, 1, 2, 3]),
        ((10, 12, 2), [0, 1, 2, 4, 3, 5, 6, 7]),
        ((10, 12, 2), [0, 1, 2, 4, 3, 5, 6]),
        ((10, 12, 2), [3, 5, 6]),
        ((8, 12), [1, 2, 3]),
    ],
)
def test_grids_by_two_and_three_keys_are_known_much_better(sizes: tuple[int, ...], asked: list[int]) -> None:
    grid = Grid(sizes)
    scales = np.ones(len(grid.masks))
    found = best_shares(grid, scales, alone(scales, asked), most=16 / 9)
    assert np.sqrt(found.mean) <= 0.7 and np.sqrt(found.worst) <= 1.35
    ratios = [float(np.sqrt(found.variances[mask] / alone(scales, asked)[mask])) for mask in asked]
    assert max(ratios) == pytest.approx(np.sqrt(found.worst))


def test_one_question_is_measured_itself() -> None:
    found = best_shares(Grid((4, 3)), np.ones(4), {1: 2.0})
    assert dict(found.shares) == {1: 1.0} and found.worst == pytest.approx(1.0)


def test_noise_that_grows_with_the_groups_makes_fine_tables_dear() -> None:
    """Where one unit may be in every group, the finest table has as much noise as it has cells."""
    grid = Grid((10, 12))
    scales = np.array([float(grid.cells(mask)) for mask in grid.masks])
    found = best_shares(grid, scales, alone(scales, [0, 1, 2]))
    assert 3 not in found.shares and found.worst <= 1.01


@settings(max_examples=40)
@given(st.data())
def test_nothing_is_worse_than_alone_and_shares_are_shares(data: st.DataObject) -> None:
    sizes = tuple(data.draw(st.lists(st.integers(1, 8), min_size=1, max_size=3)))
    grid = Grid(sizes)
    asked = data.draw(st.lists(st.sampled_from(list(grid.masks)), min_size=1, max_size=5, unique=True))
    scales = np.array(data.draw(st.lists(st.floats(0.5, 50), min_size=len(grid.masks), max_size=len(grid.masks))))
    found = best_shares(grid, scales, alone(scales, asked))
    assert found.worst <= 1.0 + 0.02
    assert found.mean <= 1.0 + 0.02
    assert sum(found.shares.values()) <= 1.0 + 1e-12
    assert all(abs(share * PARTS - round(share * PARTS)) < 1e-6 for share in found.shares.values())


def test_shares_are_the_same_each_time() -> None:
    grid = Grid((10, 12, 2))
    scales = np.ones(8)
    first, second = (best_shares(grid, scales, alone(scales, [0, 1, 3, 7])) for _ in range(2))
    assert first.shares == second.shares


def test_what_follows_from_nothing_is_refused() -> None:
    with pytest.raises(InvalidParameter):
        best_shares(Grid((3,)), np.array([1.0, np.inf]), {1: 1.0})
    with pytest.raises(InvalidParameter):
        best_shares(Grid((3,)), np.ones(2), {})
