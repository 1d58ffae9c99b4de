from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.mechanisms.ranks.exponential_rank import (
    MOST_CODES,
    Ranks,
    check_codes,
    draw_code,
    uniform,
)
from tests.support.simulated_entropy import SimulatedEntropy

_POINTS = [(2 * place + 1) * (1 << 160) // 40_000 for place in range(20_000)]
"""Evenly spread over all that `uniform` returns: their share of a value is its probability."""


TAU = 1 << 24


def ranks(weights: dict[int, int], n_codes: int, target: int) -> Ranks:
    codes = np.array(sorted(weights), np.int64)
    levels = np.concatenate([[0], np.cumsum([weights[code] * TAU for code in codes.tolist()])]).astype(np.int64)
    return Ranks(codes, levels - target, n_codes)


def law(of: Ranks, gamma: float) -> NDArray[np.float64]:
    """By its definition, value by value."""
    before = np.array([of.offset(code - 1) for code in range(of.n_codes)])
    own = np.array([of.offset(code) for code in range(of.n_codes)])
    distance = np.maximum(0, np.maximum(before, -own)).astype(np.float64)
    weight = np.exp(-gamma * (distance - distance.min()))
    return np.asarray(weight / weight.sum())


@pytest.mark.parametrize(
    ("weights", "n_codes", "rank"),
    [
        ({3: 2, 4: 1, 11: 5}, 20, 4.0),
        ({0: 1, 19: 1}, 20, 1.0),
        ({}, 7, 0.0),
        ({5: 4}, 6, 2.0),
        ({0: 3}, 1, 1.0),
        ({1: 1, 2: 1, 3: 1}, 12, -2.0),
        ({8: 1, 9: 1}, 12, 5.0),
    ],
)
@pytest.mark.parametrize("gamma", [0.05, 0.7, 40.0])
def test_each_value_is_drawn_as_often_as_its_distance_says(
    weights: dict[int, int], n_codes: int, rank: float, gamma: float
) -> None:
    one = ranks(weights, n_codes, int(rank * TAU))
    drawn = [draw_code(one, gamma / TAU, point) for point in _POINTS]
    shares = np.bincount(drawn, minlength=n_codes) / len(drawn)
    assert shares == pytest.approx(law(one, gamma / TAU), abs=1.5 / len(drawn) * (n_codes + 1))


def test_what_is_far_is_drawn_as_one_wherever_it_lies() -> None:
    one = ranks({500: 200}, 1000, 100 * TAU)
    assert draw_code(one, 1.0 / TAU, 1 << 159) == 500
    assert draw_code(one, 1.0 / TAU, (1 << 160) - 1) == 999
    far = ranks({500: 1}, 1000, TAU // 2)
    ends = {draw_code(far, 1e-9 / TAU, point) for point in (0, (1 << 160) - 1)}
    assert ends == {0, 999}


def test_uniform_numbers_fill_their_range() -> None:
    drawn = np.array(uniform(SimulatedEntropy(3), 4000), object) / (1 << 160)
    assert drawn.min() >= 0 and drawn.max() < 1
    assert abs(float(np.mean(drawn)) - 0.5) < 0.05


def test_a_grid_is_not_too_fine() -> None:
    check_codes(MOST_CODES)
    for wrong in (0, MOST_CODES + 1):
        with pytest.raises(InvalidParameter):
            check_codes(wrong)
