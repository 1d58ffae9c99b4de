"""Tables from tables: unbiased, as good as least squares, with the noise that is said."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.marginals.grid import Grid
from privacy.marginals.reconstruct import Reconstruction

GRID = Grid((3, 4, 2))
SCALES = {7: 1.0, 3: 2.0, 4: 0.5, 0: 3.0}


def marginals(grid: Grid, whole: NDArray[np.float64]) -> dict[int, NDArray[np.float64]]:
    """Every marginal of a grid's cells."""
    every = range(len(grid.sizes))
    return {
        mask: np.asarray(whole.sum(axis=tuple(axis for axis in every if not mask >> axis & 1))) for mask in grid.masks
    }


def test_without_noise_every_table_is_the_exact_one() -> None:
    exact = marginals(GRID, np.random.default_rng(1).integers(0, 100, GRID.sizes).astype(float))
    fit = Reconstruction(GRID, SCALES)
    measured = {mask: exact[mask] for mask in SCALES}
    for mask in GRID.masks:
        assert fit.table(mask, measured) == pytest.approx(exact[mask])


def test_tables_of_one_fit_agree() -> None:
    rng = np.random.default_rng(2)
    fit = Reconstruction(GRID, SCALES)
    measured = {mask: rng.normal(0, 10, GRID.shape(mask)) for mask in SCALES}
    finest = marginals(GRID, fit.table(7, measured))
    for mask in GRID.masks:
        assert fit.table(mask, measured) == pytest.approx(finest[mask])


@pytest.mark.parametrize("wished", [0, 1, 2, 3, 5, 7])
def test_the_noise_that_is_said_is_the_noise_there_is(wished: int) -> None:
    """By the weights of every measured cell in one cell of the table, one at a time."""
    fit = Reconstruction(GRID, SCALES)
    scales, zero = [], {mask: np.zeros(GRID.shape(mask)) for mask in SCALES}
    for mask, scale in SCALES.items():
        for place in np.ndindex(GRID.shape(mask)):
            one = zero | {mask: zero[mask].copy()}
            one[mask][place] = 1.0
            scales.append(abs(float(fit.table(wished, one).flat[-1])) * scale)
    noise = fit.noise(wished)
    said = np.repeat([scale for scale, _ in noise.laplace], [count for _, count in noise.laplace])
    assert np.sort(said[said > 1e-12]) == pytest.approx(np.sort([one for one in scales if one > 1e-12]))
    assert noise.variance == pytest.approx(float(fit.variances[wished]))


def test_an_axis_of_one_value_changes_nothing() -> None:
    grid = Grid((3, 1))
    fit = Reconstruction(grid, {3: 1.0, 0: 1.0})
    measured = {3: np.array([[1.0], [2.0], [4.0]]), 0: np.array(7.0)}
    assert fit.table(1, measured) == pytest.approx([1.0, 2.0, 4.0])
    assert fit.noise(1).variance == pytest.approx(float(fit.variances[1]))


def test_estimates_are_unbiased_and_intervals_cover() -> None:
    """20,000 simulated noises of every measured table, and one cell of each wished one."""
    runs = 20_000
    rng = np.random.default_rng(20261125)
    grid = Grid((3, 2))
    scales = {3: 1.0, 1: 2.0, 0: 0.7}
    fit = Reconstruction(grid, scales)
    draws = {mask: rng.laplace(0, scale, (runs, *grid.shape(mask))) for mask, scale in scales.items()}
    for wished in grid.masks:
        errors = np.array(
            [fit.table(wished, {mask: draws[mask][run] for mask in scales}).flat[0] for run in range(runs)]
        )
        spread = np.sqrt(fit.variances[wished])
        assert abs(errors.mean()) < 5 * spread / np.sqrt(runs)
        assert errors.std() == pytest.approx(spread, rel=0.05)
        covered = (np.abs(errors) <= fit.noise(wished).upper_quantile(0.025)).mean()
        assert 0.95 - 5 * np.sqrt(0.05 * 0.95 / runs) < covered < 0.95 + 5 * np.sqrt(0.05 * 0.95 / runs)


def test_what_does_not_follow_is_refused() -> None:
    fit = Reconstruction(GRID, {3: 1.0})
    assert not fit.follows(7) and fit.follows(1)
    with pytest.raises(InvalidParameter):
        fit.table(7, {3: np.zeros((3, 4))})
    with pytest.raises(InvalidParameter):
        fit.table(1, {3: np.zeros((4, 3))})
