"""Integer scores of neighbouring answers differ by at most their stated sensitivity, and bounds bound them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from privacy.mechanisms.scores import SENSITIVITY, Scores
from privacy.thresholds import Thresholds
from privacy.units import MAX_UNITS

GAPS = st.sampled_from([0.0, 0.01, 0.5])
PRICES = st.sampled_from([0.0, 0.7, 31.1, 1e6, 2.0**32])
SEEDS = st.integers(0, 2**32 - 1)


def table(
    generator: np.random.Generator, thresholds: Thresholds, size: float
) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """(64, L) values of any kind: up to `size` people at each threshold, as large as values get."""
    people = np.exp2(generator.uniform(-2, size, (64, len(thresholds))))
    return np.minimum(people * thresholds.units, MAX_UNITS / 2).astype(np.int64)


@given(SEEDS, GAPS, PRICES, st.integers(-20, 32), st.integers(-20, 32), st.floats(0, 40))
@example(0, 0.0, 31.1, -20, 32, 33.0)
def test_one_unit_moves_no_score_by_more(seed: int, gap: float, price: float, a: int, b: int, size: float) -> None:
    generator = np.random.default_rng(seed)
    thresholds = Thresholds(min(a, b), max(a, b))
    values = table(generator, thresholds, size)
    limit = np.array([int((1 + Fraction(gap)) * int(unit)) for unit in thresholds.units], dtype=object)
    share = generator.choice([-1.0, 0.0, 0.5, 1.0], values.shape)
    moved = [
        [min(MAX_UNITS, max(0, v + int(part * 2) * bound // 2)) for v, part, bound in zip(*row, limit, strict=True)]
        for row in zip(values.tolist(), share.tolist(), strict=True)
    ]
    margins = (
        tuple(np.minimum(np.arange(len(thresholds)) * price / 10, price)) if seed % 2 and price < 2.0**31 else ()
    )
    scores = Scores(thresholds, gap, (price,) * len(thresholds), margins)
    neighbours = np.array(moved, np.int64)
    assert np.abs(scores(values, values) - scores(neighbours, neighbours)).max() <= SENSITIVITY


@given(SEEDS, GAPS, PRICES, st.integers(-20, 32), st.integers(-20, 32), st.floats(0, 40))
@example(0, 0.0, 31.1, -20, 32, 33.0)
def test_one_unit_that_adds_moves_no_monotone_score_by_more(
    seed: int, gap: float, price: float, a: int, b: int, size: float
) -> None:
    """What one unit adds lies between nothing and tau, and the solver errs downwards by any part of its gap."""
    generator = np.random.default_rng(seed)
    thresholds = Thresholds(min(a, b), max(a, b))
    slack = np.array([int(Fraction(gap) * int(unit)) for unit in thresholds.units], np.int64)
    exact: NDArray[np.int64] = np.minimum(slack + table(generator, thresholds, size), MAX_UNITS - thresholds.units)
    added: NDArray[np.int64] = (thresholds.units * generator.choice([0.0, 0.5, 1.0], exact.shape)).astype(np.int64)

    def erring() -> NDArray[np.int64]:
        return np.where(generator.random(exact.shape) < 0.5, slack, 0)

    margins = (
        tuple(np.minimum(np.arange(len(thresholds)) * price / 10, price)) if seed % 2 and price < 2.0**31 else ()
    )
    scores = Scores(thresholds, gap, (price,) * len(thresholds), margins, monotone=True)
    without: NDArray[np.int64] = np.subtract(exact, erring())
    beside: NDArray[np.int64] = np.subtract(exact + added, erring())
    assert np.abs(scores(without, without) - scores(beside, beside)).max() <= SENSITIVITY


def test_a_unit_that_leaves_while_another_comes_moves_monotone_scores_further() -> None:
    """So that whoever replaces units may not claim it."""
    thresholds = Thresholds(0, 1)
    first: NDArray[np.int64] = np.array([[8, 8]], np.int64) * thresholds.units
    other: NDArray[np.int64] = first + np.array([[1, -1]], np.int64) * thresholds.units
    for monotone, fits in ((False, True), (True, False)):
        scores = Scores(thresholds, 0.0, (0.0, 0.0), monotone=monotone)
        assert (np.abs(scores(first, first) - scores(other, other)).max() <= SENSITIVITY) == fits


@given(SEEDS, GAPS, PRICES, st.floats(0, 40))
def test_bounds_on_values_are_bounds_on_scores(seed: int, gap: float, price: float, size: float) -> None:
    generator = np.random.default_rng(seed)
    margins = tuple(np.arange(len(Thresholds(-5, 12))) * price / 20) if seed % 2 and price < 2.0**31 else ()
    scores = Scores(Thresholds(-5, 12), gap, (price,) * len(Thresholds(-5, 12)), margins, monotone=seed % 4 < 2)
    values = table(generator, scores.thresholds, size)
    lower = (values * generator.choice([0.0, 0.9, 1.0], values.shape)).astype(np.int64).clip(0, values)
    upper = np.maximum(values, (values * generator.choice([1.0, 1.1, 2.0], values.shape)).astype(np.int64))
    exact = scores(values, values)
    assert (scores(upper, lower) <= exact).all()
    assert (exact <= scores(lower, upper)).all()
