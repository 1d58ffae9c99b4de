from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from privacy.errors import EntropyFailed
from privacy.mechanisms.ranks.width_search import STEP, WidthSearch

SEARCH = WidthSearch(Fraction(1), STEP + 1, 1000, 0.05)


def rising(centre: int, steps: int) -> Callable[[int], int]:
    """An offset that is 0 at the centre and moves by so many units' worth per value."""
    return lambda code: (code - centre) * steps * STEP


def test_without_noise_it_is_the_first_width_beyond_the_margin() -> None:
    exactly = np.zeros(SEARCH.comparisons, np.int64)
    width = SEARCH.width(rising(500, 1), 500, exactly)
    assert width * STEP >= SEARCH.margin
    assert width // 3 * STEP < SEARCH.margin


def test_it_grows_until_it_holds_a_rank_that_is_far_away() -> None:
    exactly = np.zeros(SEARCH.comparisons, np.int64)
    assert 230 <= SEARCH.width(rising(500, 1), 270, exactly) < 3 * (230 + SEARCH.margin / STEP)


def test_where_nothing_changes_it_is_the_whole_grid() -> None:
    width = SEARCH.width(lambda _: 0, 500, np.zeros(SEARCH.comparisons, np.int64))
    assert 500 - width <= 0 and 500 + width >= 999


def test_wants_a_draw_for_each_comparison() -> None:
    with pytest.raises(EntropyFailed):
        SEARCH.width(rising(1, 1), 1, np.zeros(1, np.int64))


def test_one_side_is_searched_alone() -> None:
    upwards = WidthSearch(Fraction(1), STEP + 1, 1000, 0.05, below=False)
    noise = np.zeros(upwards.comparisons, np.int64)

    def a_step_above(code: int) -> int:
        return 0 if code < 500 else 10**6 * STEP

    assert upwards.width(a_step_above, 499, noise) < 30
    assert SEARCH.width(a_step_above, 499, noise) > 400


def test_noise_says_enough_too_early_as_rarely_as_is_told() -> None:
    """The offset of the rank itself is 0: one comparison of three that succeeds by noise is a miss."""
    generator = np.random.default_rng(7)
    short = WidthSearch(Fraction(1), STEP + 1, 40, 0.05)
    noise = np.round(generator.laplace(0, short.scale, (20_000, short.comparisons))).astype(np.int64)

    def never(code: int) -> int:
        return 0

    found = np.array([short.width(never, 20, row) for row in noise])
    missed = np.mean(found < 27)
    assert 0.01 < missed < 0.06
