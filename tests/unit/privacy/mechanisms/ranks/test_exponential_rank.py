from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from privacy.errors import EntropyFailed, InvalidParameter
from privacy.mechanisms.ranks.exponential_rank import (
    MOST_CODES,
    TAU,
    Ranks,
    WidthSearch,
    check_codes,
    draw_code,
    uniform,
)
from tests.support.simulated_entropy import SimulatedEntropy

_POINTS = [(2 * place + 1) * (1 << 160) // 40_000 for place in range(20_000)]
"""Evenly spread over all that `uniform` returns: their share of a value is its probability."""


def ranks(weights: dict[int, int], n_codes: int) -> Ranks:
    codes = np.array(sorted(weights), np.int64)
    levels = np.concatenate([[0], np.cumsum([weights[code] * TAU for code in codes.tolist()])]).astype(np.int64)
    return Ranks(codes, levels, n_codes)


def law(of: Ranks, target: int, gamma: float) -> NDArray[np.float64]:
    """By its definition, value by value."""
    below = np.array([of.up_to(code - 1) if code else 0 for code in range(of.n_codes)])
    upto = np.array([of.up_to(code) for code in range(of.n_codes)])
    distance = np.maximum(0, np.maximum(below - target, target - upto)).astype(np.float64)
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
    one = ranks(weights, n_codes)
    target = int(rank * TAU)
    drawn = [draw_code(one, target, gamma / TAU, point) for point in _POINTS]
    shares = np.bincount(drawn, minlength=n_codes) / len(drawn)
    assert shares == pytest.approx(law(one, target, gamma / TAU), abs=1.5 / len(drawn) * (n_codes + 1))


def test_what_is_far_is_drawn_as_one_wherever_it_lies() -> None:
    one = ranks({500: 200}, 1000)
    assert draw_code(one, 100 * TAU, 1.0 / TAU, 1 << 159) == 500
    assert draw_code(one, 100 * TAU, 1.0 / TAU, (1 << 160) - 1) == 999
    far = ranks({500: 1}, 1000)
    ends = {draw_code(far, TAU // 2, 1e-9 / TAU, point) for point in (0, (1 << 160) - 1)}
    assert ends == {0, 999}


def test_uniform_numbers_fill_their_range() -> None:
    drawn = np.array(uniform(SimulatedEntropy(3), 4000), object) / (1 << 160)
    assert drawn.min() >= 0 and drawn.max() < 1
    assert abs(float(np.mean(drawn)) - 0.5) < 0.05


class TestWidthSearch:
    SEARCH = WidthSearch(Fraction(1), TAU, 1000, 0.025)

    def test_without_noise_it_is_the_first_width_with_rows_enough_on_both_sides(self) -> None:
        one = ranks(dict.fromkeys(range(0, 1000, 10), 50), 1000)
        nothing = np.full(self.SEARCH.comparisons, -self.SEARCH.margin)
        rows = 200 * TAU
        width = self.SEARCH.width(one, 500, rows, nothing)
        assert _sides(one, 500, width) >= rows + 2 * self.SEARCH.margin
        assert _sides(one, 500, width // 3) < rows + 2 * self.SEARCH.margin

    def test_where_there_are_too_few_rows_it_is_the_whole_grid(self) -> None:
        one = ranks({500: 3}, 1000)
        width = self.SEARCH.width(one, 500, 100 * TAU, np.zeros(self.SEARCH.comparisons, np.int64))
        assert 500 - width <= 0 and 500 + width >= 999

    def test_wants_a_draw_for_each_comparison(self) -> None:
        with pytest.raises(EntropyFailed):
            self.SEARCH.width(ranks({}, 1000), 1, 1, np.zeros(1, np.int64))

    def test_one_side_is_searched_alone(self) -> None:
        upwards = WidthSearch(Fraction(1), TAU, 1000, 0.025, below=False)
        one = ranks(dict.fromkeys(range(500, 520), 1000), 1000)
        noise = np.zeros(upwards.comparisons, np.int64)
        assert upwards.width(one, 499, 1000 * TAU, noise) < 30
        assert self.SEARCH.width(one, 499, 1000 * TAU, noise) > 400


def _sides(one: Ranks, code: int, width: int) -> float:
    above = one.up_to(code + width) - one.up_to(code) if code + width < one.n_codes - 1 else np.inf
    below = one.up_to(code - 1) - one.up_to(code - width - 1) if code - width > 0 else np.inf
    return float(min(above, below))


def test_a_grid_is_not_too_fine() -> None:
    check_codes(MOST_CODES)
    for wrong in (0, MOST_CODES + 1):
        with pytest.raises(InvalidParameter):
            check_codes(wrong)
