from __future__ import annotations

import pytest

from planner.sql.rank_grid import MOST_STEPS, Grid


def test_a_grid_has_every_value_unless_they_are_too_many() -> None:
    for low, high, step, n_codes, made in [
        (0.0, 90.0, 1.0, 91, 1.0), (-5.0, 5.0, 1.0, 11, 1.0), (0.0, 100.0, 0.01, 10_001, 0.01),
        (0.0, 1e6, 0.01, 1_000_001, 1.0), (3.0, 3.0, None, 1, 1.0),
    ]:  # fmt: skip
        grid = Grid.over(low, high, step, "float8")
        assert grid.n_codes == n_codes
        assert grid.step == pytest.approx(made)


def test_a_range_of_doubles_is_cut_into_equal_parts() -> None:
    grid = Grid.over(-1.0, 3.0, None, "float8")
    assert grid.n_codes == 2**20 + 1 <= MOST_STEPS
    assert grid.low + grid.step * (grid.n_codes - 1) == pytest.approx(3.0)


def test_the_upper_end_of_a_range_has_a_place() -> None:
    for high in (50000.35, 10.005, 0.1, 7.25, 1e9 / 3):
        for step in (None, 0.01, 0.1, 1.0):
            grid = Grid.over(0.0, high, step, "float8")
            once = 1 / grid.step
            place = high * round(once) + 0.5 if abs(once - round(once)) < 1e-6 * once else high / grid.step + 0.5
            assert int(place) - 1 <= grid.n_codes - 1 <= int(place) + 1


def test_decimal_places_are_those_of_the_step() -> None:
    assert [Grid.over(0.0, 9.0, step, "float8").digits for step in (1.0, 0.01, None)] == [0, 2, None]
