"""One epsilon divided: what is alone, what is weighted, what a grid gives to others."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy.marginals import Grid, Strategy
from server.answers.counted_grid import (
    COARSER,
    ENOUGH,
    WORTH,
    CountedGrid,
    GridStrategy,
    allocate,
    floored,
    gentlest,
)
from tests.support.seeds import examples


def grid(questions: int, worst: float) -> GridStrategy:
    """A grid of so many questions: of it no more is asked here."""
    counted = cast(CountedGrid, SimpleNamespace(n_questions=questions))
    return GridStrategy(counted, Strategy({0: 1.0}, worst / 2, worst, np.ones(1)), min(worst, 1.0))


def test_questions_alone_have_equal_shares() -> None:
    shares = allocate({0: 1.0, 2: 1.0, 5: 1.0, 6: 1.0}, [])
    assert dict(shares.alone) == dict.fromkeys((0, 2, 5, 6), 0.25)
    assert (shares.mean, shares.worst, shares.count) == (1.0, 1.0, 4)


def test_a_weight_of_four_is_half_the_error() -> None:
    shares = allocate({0: 4.0, 1: 1.0}, [])
    assert shares.alone[0] == pytest.approx(2 * shares.alone[1])


def test_what_a_grid_gains_everybody_gains() -> None:
    shares = allocate({0: 1.0}, [grid(3, 0.25)])
    alone, of_grid = shares.alone[0], shares.grids[0]
    assert alone + of_grid == pytest.approx(1.0)
    assert 0.25 / alone == pytest.approx(shares.worst)
    assert 0.5 * 0.75 / of_grid == pytest.approx(shares.worst)
    assert shares.mean < shares.worst < 1.0


def test_a_grid_that_makes_totals_worse_takes_nothing_from_others() -> None:
    shares = allocate({0: 1.0}, [grid(3, 16 / 9)])
    assert shares.alone[0] == pytest.approx(0.25)
    assert shares.worst == pytest.approx(4 / 3) and shares.mean < 1.0


def test_nothing_to_charge_has_no_shares() -> None:
    assert allocate({}, []).alone == {}


@given(st.lists(st.floats(1e-4, 1.0), min_size=1, max_size=64), st.floats(1e-3, 100.0))
def test_shares_never_add_up_to_more_than_the_whole(needs: list[float], epsilon: float) -> None:
    shares = allocate(dict(enumerate(needs)), [grid(4, 0.3)])
    parts = [floored(share * epsilon) for share in (*shares.alone.values(), *shares.grids)]
    nanos = [round(part * 1e9) for part in parts]
    assert sum(nanos) <= math.ceil(epsilon * 1e9)


def by(sizes: tuple[int, ...], *keys: tuple[int, ...]) -> Strategy | None:
    """How counts of a grid by these keys are measured."""
    found = Grid(sizes)
    asked = {sum(1 << axis for axis in one): 2.0 * len(keys) ** 2 for one in keys}
    return gentlest(found, np.ones(len(found.masks)), asked)


_ALL = ((), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2))


def test_by_three_keys_all_gain_and_no_question_loses() -> None:
    cases: list[tuple[tuple[int, ...], ...]] = [_ALL, _ALL[:-1]]
    for keys in cases:
        found = by((11, 12, 3), *keys)
        assert found is not None, keys
        assert math.sqrt(found.mean) <= ENOUGH, keys
        assert math.sqrt(found.worst) <= 1.02, keys


def test_by_two_keys_a_question_loses_no_more_than_all_must_gain() -> None:
    cases: list[tuple[tuple[tuple[int, ...], ...], float]] = [
        (((), (0,), (1,), (0, 1)), 1.11),
        (((0,), (1,), (0, 1)), 1.16),
    ]
    for keys, loses in cases:
        found = by((11, 12), *keys)
        assert found is not None, keys
        assert math.sqrt(found.mean) <= ENOUGH, keys
        assert math.sqrt(found.worst) <= loses, keys


def test_what_gains_too_little_is_asked_alone() -> None:
    assert by((11, 12, 3), (0, 1), (0, 2), (1, 2)) is None
    assert by((50, 60), (0,), (1,)) is None


@settings(max_examples=examples(8, 20))
@given(st.lists(st.integers(2, 20), min_size=1, max_size=3), st.integers(1, 255))
def test_no_grid_is_worse_than_its_limits(sizes: list[int], chosen: int) -> None:
    grid = Grid(tuple(sizes))
    asked = [mask for mask in range(len(grid.masks)) if chosen >> mask & 1] or [0]
    found = gentlest(grid, np.ones(len(grid.masks)), dict.fromkeys(asked, 2.0 * len(asked) ** 2))
    if found is not None:
        assert math.sqrt(found.mean) <= WORTH + 1e-9
        assert math.sqrt(found.worst) <= COARSER[-1] * 1.01


def test_an_epsilon_beyond_all_bounds_stays_as_it_is() -> None:
    assert floored(8.36e307) == 8.36e307
    assert floored(0.1234567899) == 0.123456789
