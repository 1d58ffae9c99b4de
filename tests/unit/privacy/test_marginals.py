"""Which marginals are measured, and tables from tables: as good as least squares, with the noise that is said."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.marginals import MOST_AXES, PARTS, Grid, Reconstruction, best_shares
from tests.support.seeds import examples


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


def test_variances_are_those_of_least_squares_over_all_cells() -> None:
    for sizes, measured in [
        ((4,), {1: 1.0}),
        ((3, 2), {3: 2.0, 1: 0.5, 0: 3.0}),
        ((3, 4, 2), {7: 1.0, 3: 2.0, 4: 0.1}),
        ((3, 1, 2), {7: 1.0, 2: 0.3, 5: 2.0}),
        ((2, 2, 3), {3: 1.0, 6: 2.0, 5: 0.7}),
    ]:
        grid = Grid(sizes)
        noise = np.full(len(grid.masks), np.inf)
        for mask, one in measured.items():
            noise[mask] = one
        variances = grid.variances(noise)
        for mask in grid.masks:
            if np.isfinite(variances[mask]):
                assert variance_by_all_cells(grid, measured, mask) == pytest.approx(variances[mask])


def test_what_nothing_says_anything_of_has_no_variance_and_a_grid_is_small_and_no_axis_is_empty() -> None:
    grid = Grid((3, 4))
    variances = grid.variances(np.array([np.inf, 1.0, 2.0, np.inf]))
    assert np.isinf(variances[3]) and np.isfinite(variances[:3]).all()
    with pytest.raises(InvalidParameter):
        Grid((2,) * (MOST_AXES + 1))
    with pytest.raises(InvalidParameter):
        Grid((3, 0))


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


def weights(
    fit: Reconstruction, grid: Grid, measured: Mapping[int, float], wished: int, cell: int
) -> list[NDArray[np.float64]]:
    """Of every measured cell in one cell of a table, one at a time."""
    zero = {mask: np.zeros(grid.shape(mask)) for mask in measured}
    found = []
    for mask in measured:
        table = np.zeros(grid.shape(mask))
        for place in np.ndindex(grid.shape(mask)):
            one = zero | {mask: zero[mask].copy()}
            one[mask][place] = 1.0
            table[place] = float(fit.table(wished, one).flat[cell])
        found.append(table)
    return found


def test_the_noise_that_is_said_is_the_noise_there_is() -> None:
    fit = Reconstruction(GRID, SCALES)
    for wished in (0, 1, 2, 3, 5, 7):
        tables = zip(weights(fit, GRID, SCALES, wished, -1), SCALES.values(), strict=True)
        scales = np.concatenate([np.abs(table).ravel() * scale for table, scale in tables])
        noise = fit.noise(wished)
        said = np.repeat([scale for scale, _ in noise.laplace], [count for _, count in noise.laplace])
        assert np.sort(said[said > 1e-12]) == pytest.approx(np.sort(scales[scales > 1e-12])), wished
        assert noise.variance == pytest.approx(float(fit.variances[wished])), wished


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
    draws = [rng.laplace(0, scale, (runs, *grid.shape(mask))) for mask, scale in scales.items()]
    for wished in grid.masks:
        parts = zip(draws, weights(fit, grid, scales, wished, 0), strict=True)
        errors = sum((drawn * table).reshape(runs, -1).sum(axis=1) for drawn, table in parts) + np.zeros(runs)
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


def alone(scales: NDArray[np.float64], asked: list[int]) -> dict[int, float]:
    """The variance of each if all are asked alone, with equal shares of 1."""
    return {mask: 2 * float(scales[mask] * len(asked)) ** 2 for mask in asked}


def test_grids_by_two_and_three_keys_are_known_much_better() -> None:
    for sizes, asked in [
        ((10, 12), [0, 1, 2, 3]),
        ((10, 12, 2), [0, 1, 2, 4, 3, 5, 6, 7]),
        ((10, 12, 2), [0, 1, 2, 4, 3, 5, 6]),
        ((10, 12, 2), [3, 5, 6]),
        ((8, 12), [1, 2, 3]),
    ]:
        grid = Grid(sizes)
        scales = np.ones(len(grid.masks))
        found = best_shares(grid, scales, alone(scales, asked), most=16 / 9)
        assert np.sqrt(found.mean) <= 0.7 and np.sqrt(found.worst) <= 1.35, (sizes, asked)
        ratios = [float(np.sqrt(found.variances[mask] / alone(scales, asked)[mask])) for mask in asked]
        assert max(ratios) == pytest.approx(np.sqrt(found.worst)), (sizes, asked)


def test_one_question_is_measured_itself() -> None:
    found = best_shares(Grid((4, 3)), np.ones(4), {1: 2.0})
    assert dict(found.shares) == {1: 1.0} and found.worst == pytest.approx(1.0)


def test_noise_that_grows_with_the_groups_makes_fine_tables_dear() -> None:
    """Where one unit may be in every group, the finest table has as much noise as it has cells."""
    grid = Grid((10, 12))
    scales = np.array([float(grid.cells(mask)) for mask in grid.masks])
    found = best_shares(grid, scales, alone(scales, [0, 1, 2]))
    assert 3 not in found.shares and found.worst <= 1.01


@settings(max_examples=examples(15, 40))
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


def test_shares_are_the_same_each_time_and_what_follows_from_nothing_is_refused() -> None:
    grid = Grid((10, 12, 2))
    scales = np.ones(8)
    first, second = (best_shares(grid, scales, alone(scales, [0, 1, 3, 7])) for _ in range(2))
    assert first.shares == second.shares
    with pytest.raises(InvalidParameter):
        best_shares(Grid((3,)), np.array([1.0, np.inf]), {1: 1.0})
    with pytest.raises(InvalidParameter):
        best_shares(Grid((3,)), np.ones(2), {})
