"""What one marginal says of another: against least squares written out over all cells."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.marginals.grid import MOST_AXES, Grid


def adding(grid: Grid, mask: int) -> NDArray[np.float64]:
    """(cells of the marginal, cells of the grid): which cells each adds up."""
    whole: NDArray[np.float64] = np.ones((1, 1))
    for axis, size in enumerate(grid.sizes):
        whole = np.asarray(np.kron(whole, np.eye(size) if mask >> axis & 1 else np.ones((1, size))), np.float64)
    return whole


def variance_by_all_cells(grid: Grid, measured: Mapping[int, float], wished: int) -> NDArray[np.float64]:
    """Of each cell of a marginal: generalised least squares over the grid's own cells."""
    rows = np.vstack([adding(grid, mask) / np.sqrt(noise) for mask, noise in measured.items()])
    left = adding(grid, wished)
    return np.diag(left @ np.linalg.pinv(rows.T @ rows) @ left.T)


@pytest.mark.parametrize(
    ("sizes", "measured"),
    [
        ((4,), {1: 1.0}),
        ((3, 2), {3: 2.0, 1: 0.5, 0: 3.0}),
        ((3, 4, 2), {7: 1.0, 3: 2.0, 4: 0.1}),
        ((3, 1, 2), {7: 1.0, 2: 0.3, 5: 2.0}),
        ((2, 2, 3), {3: 1.0, 6: 2.0, 5: 0.7}),
    ],
)
def test_variances_are_those_of_least_squares_over_all_cells(
    sizes: tuple[int, ...], measured: dict[int, float]
) -> None:
    grid = Grid(sizes)
    noise = np.full(len(grid.masks), np.inf)
    for mask, one in measured.items():
        noise[mask] = one
    variances = grid.variances(noise)
    for mask in grid.masks:
        if np.isfinite(variances[mask]):
            assert variance_by_all_cells(grid, measured, mask) == pytest.approx(variances[mask])


def test_what_nothing_says_anything_of_has_no_variance() -> None:
    grid = Grid((3, 4))
    variances = grid.variances(np.array([np.inf, 1.0, 2.0, np.inf]))
    assert np.isinf(variances[3]) and np.isfinite(variances[:3]).all()


def test_a_grid_is_small_and_no_axis_is_empty() -> None:
    with pytest.raises(InvalidParameter):
        Grid((2,) * (MOST_AXES + 1))
    with pytest.raises(InvalidParameter):
        Grid((3, 0))
