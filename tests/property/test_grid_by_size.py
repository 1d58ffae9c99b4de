"""A grid by size: a database computes the place of each value, places rise, and the interval holds the value."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import duckdb
import numpy as np
import pytest
from sqlglot import exp

from planner.binding import aggregates
from planner.sql.rank_grid import MOST_STEPS, Grid
from server.results import evaluate

_GRIDS = [
    Grid.by_size(low, high, step, "float8")
    for low, high, step in [
        (0.0, 2.0**30, 1.0), (-1e15, 1e15, 0.01), (-3.2e11, 3.2e11, 1e-16), (5.0, 1e12, 1.0), (-1e9, -2.0, 1e-3),
        (-1e290, 1e290, 1e-290), (0.0, 0.0, 1.0),
    ]
]  # fmt: skip


def _values(grid: Grid, rng: random.Random) -> list[float]:
    """Multiples of the step within the ends: small ones, and of every size."""
    low, high = grid.ends
    top = max(abs(low), abs(high)) / grid.step
    counts = [
        0.0,
        1.0,
        2.0,
        3.0,
        7.0,
        *(float(int(10.0 ** rng.uniform(0, math.log10(max(top, 1.0))))) for _ in range(300)),
    ]
    found = [sign * count * grid.step for count in counts for sign in (1, -1)]
    return sorted({value for value in (*found, low, high) if low <= value <= high})


def _places(grid: Grid, values: list[float]) -> list[int]:
    """As DuckDB computes them; NULL has none."""
    sql = aggregates._by_size(exp.column("x"), grid).sql("duckdb")
    read = duckdb.execute(f"SELECT {sql} FROM (SELECT unnest(?::DOUBLE[]) AS x)", [[*values, None]])
    *places, (missing,) = read.fetchall()
    assert missing is None
    return [int(place) for (place,) in places]


def _check(grid: Grid) -> None:
    values = _values(grid, random.Random(3))
    places = _places(grid, values)
    assert places == sorted(places) and 0 <= places[0] <= places[-1] < grid.n_codes
    parts = np.array([places] * 3, np.float64)
    found = evaluate._on_grid(list(parts), grid)
    for value, near, low, high in zip(values, *(part.tolist() for part in found), strict=True):
        slack = 1e-9 * abs(value)
        assert low - slack <= value <= high + slack, (value, low, high)
        assert math.isclose(near, value, rel_tol=1e-3), (value, near)


@pytest.mark.parametrize("grid", _GRIDS)
def test_places_rise_and_intervals_hold_their_values(grid: Grid) -> None:
    assert grid.n_codes <= MOST_STEPS
    _check(grid)


def test_whole_numbers_below_a_thousand_are_on_the_grid() -> None:
    grid = Grid.by_size(-1e9, 1e9, 1.0, "int8")
    values = [float(value) for value in range(-1000, 1001)]
    assert [grid.at(place) for place in _places(grid, values)] == values


@pytest.mark.parametrize(
    "mutant",
    [lambda sql, grid: aggregates._place(sql, Grid(0.0, 1.0, 2, "int8")), lambda sql, grid: exp.Abs(this=sql)],
)
def test_a_mutant_of_the_place_is_caught(
    mutant: Callable[[exp.Expr, Grid], exp.Expr], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aggregates, "_by_size", mutant)
    with pytest.raises(AssertionError):
        _check(_GRIDS[1])


def test_a_mutant_without_the_spacing_in_the_interval_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Grid.at
    monkeypatch.setattr(Grid, "at", lambda grid, place: real(grid, round(place)))
    with pytest.raises(AssertionError):
        _check(_GRIDS[1])
