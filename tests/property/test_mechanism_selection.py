"""Integer scores of neighbouring answers differ by at most their stated sensitivity, and bounds bound them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from privacy.ladder import Ladder
from privacy.mechanisms.selection.scores import SENSITIVITY, Scores
from privacy.units import MAX_UNITS

GAPS = st.sampled_from([0.0, 0.01, 0.5])
PRICES = st.sampled_from([0.0, 0.7, 31.1, 1e6, 2.0**32])
SEEDS = st.integers(0, 2**32 - 1)


def table(
    generator: np.random.Generator, ladder: Ladder, size: float
) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """(64, L) values of any kind: up to `size` people at each threshold, as large as values get."""
    people = np.exp2(generator.uniform(-2, size, (64, len(ladder))))
    return np.minimum(people * ladder.units, MAX_UNITS / 2).astype(np.int64)


@given(SEEDS, GAPS, PRICES, st.integers(-20, 32), st.integers(-20, 32), st.floats(0, 40))
@example(0, 0.0, 31.1, -20, 32, 33.0)
def test_one_unit_moves_no_score_by_more(seed: int, gap: float, price: float, a: int, b: int, size: float) -> None:
    generator = np.random.default_rng(seed)
    ladder = Ladder(min(a, b), max(a, b))
    values = table(generator, ladder, size)
    limit = np.array([int((1 + Fraction(gap)) * int(unit)) for unit in ladder.units], dtype=object)
    share = generator.choice([-1.0, 0.0, 0.5, 1.0], values.shape)
    moved = [
        [min(MAX_UNITS, max(0, v + int(part * 2) * bound // 2)) for v, part, bound in zip(*row, limit, strict=True)]
        for row in zip(values.tolist(), share.tolist(), strict=True)
    ]
    margins = tuple(np.minimum(np.arange(len(ladder)) * price / 10, price)) if seed % 2 and price < 2.0**31 else ()
    scores = Scores(ladder, gap, (price,) * len(ladder), margins)
    neighbours = np.array(moved, np.int64)
    assert np.abs(scores(values, values) - scores(neighbours, neighbours)).max() <= SENSITIVITY


@given(SEEDS, GAPS, PRICES, st.integers(-20, 32), st.integers(-20, 32), st.floats(0, 40))
@example(0, 0.0, 31.1, -20, 32, 33.0)
def test_one_unit_that_adds_moves_no_monotone_score_by_more(
    seed: int, gap: float, price: float, a: int, b: int, size: float
) -> None:
    """What one unit adds lies between nothing and tau, and the solver errs downwards by any part of its gap."""
    generator = np.random.default_rng(seed)
    ladder = Ladder(min(a, b), max(a, b))
    slack = np.array([int(Fraction(gap) * int(unit)) for unit in ladder.units], np.int64)
    exact: NDArray[np.int64] = np.minimum(slack + table(generator, ladder, size), MAX_UNITS - ladder.units)
    added: NDArray[np.int64] = (ladder.units * generator.choice([0.0, 0.5, 1.0], exact.shape)).astype(np.int64)

    def erring() -> NDArray[np.int64]:
        return np.where(generator.random(exact.shape) < 0.5, slack, 0)

    margins = tuple(np.minimum(np.arange(len(ladder)) * price / 10, price)) if seed % 2 and price < 2.0**31 else ()
    scores = Scores(ladder, gap, (price,) * len(ladder), margins, monotone=True)
    without: NDArray[np.int64] = np.subtract(exact, erring())
    beside: NDArray[np.int64] = np.subtract(exact + added, erring())
    assert np.abs(scores(without, without) - scores(beside, beside)).max() <= SENSITIVITY


@given(SEEDS, GAPS, PRICES, st.integers(-20, 32), st.integers(-20, 32), st.floats(0, 40), st.integers(1, 5))
@example(0, 0.0, 31.1, -20, 32, 33.0, 1)
def test_one_unit_of_one_load_moves_no_nested_score_by_more(
    seed: int, gap: float, price: float, a: int, b: int, size: float, groups: int
) -> None:
    """What one unit adds is min(tau, load) in each of its groups, of which the sum is taken and divided."""
    generator = np.random.default_rng(seed)
    ladder = Ladder(min(a, b), max(a, b))
    slack = np.array([int(Fraction(gap) * int(unit)) for unit in ladder.units], np.int64)
    exact: NDArray[np.int64] = np.minimum(slack + table(generator, ladder, size), MAX_UNITS - ladder.units)
    loads = np.exp2(generator.uniform(-2, 63, (64, groups, 1))).astype(np.int64)
    added: NDArray[np.int64] = np.minimum(ladder.units, loads)

    remainder = generator.integers(0, groups, exact.shape).astype(object)

    def erring() -> NDArray[np.int64]:
        return np.where(generator.random(exact.shape) < 0.5, slack, 0)

    def divided(total: NDArray[np.int64], unit: bool) -> NDArray[np.int64]:
        """floor((what others add, and the unit) / L0), in whole numbers of any size."""
        more = added.astype(object).sum(axis=1) if unit else 0
        return np.asarray((total.astype(object) * groups + remainder + more) // groups, np.int64)

    margins = tuple(np.minimum(np.arange(len(ladder)) * price / 10, price)) if seed % 2 and price < 2.0**31 else ()
    by_doublings = bool(margins) and seed % 4 == 1
    scores = Scores(
        ladder, gap, (price,) * len(ladder), margins, monotone=True, nested=True, by_doublings=by_doublings
    )
    without, beside = divided(exact - erring(), unit=False), divided(exact - erring(), unit=True)
    assert np.abs(scores(without, without) - scores(beside, beside)).max() <= SENSITIVITY


def test_a_unit_that_fills_one_threshold_alone_moves_nested_scores_further() -> None:
    """So that of tuples with several owners nobody may claim it."""
    ladder = Ladder(0, 1)
    first: NDArray[np.int64] = np.array([[8, 8]], np.int64) * ladder.units
    other: NDArray[np.int64] = first + np.array([[0, 1]], np.int64) * ladder.units
    for nested, fits in ((False, True), (True, False)):
        scores = Scores(ladder, 0.0, (0.0, 0.0), monotone=True, nested=nested)
        assert (np.abs(scores(first, first) - scores(other, other)).max() <= SENSITIVITY) == fits


def test_a_unit_that_leaves_while_another_comes_moves_monotone_scores_further() -> None:
    """So that whoever exchanges units may not claim it."""
    ladder = Ladder(0, 1)
    first: NDArray[np.int64] = np.array([[8, 8]], np.int64) * ladder.units
    other: NDArray[np.int64] = first + np.array([[1, -1]], np.int64) * ladder.units
    for monotone, fits in ((False, True), (True, False)):
        scores = Scores(ladder, 0.0, (0.0, 0.0), monotone=monotone)
        assert (np.abs(scores(first, first) - scores(other, other)).max() <= SENSITIVITY) == fits


@given(SEEDS, st.sampled_from([0.0, 0.7, 31.1]), st.integers(-20, 32), st.integers(-20, 32), st.integers(1, 300))
@example(1, 0.7, -20, 32, 300)
def test_a_unit_moves_no_score_by_doublings_by_more(seed: int, price: float, a: int, b: int, units: int) -> None:
    """Loads as units have them, and one of them goes: each score by doublings is within a grid step of its moves."""
    generator = np.random.default_rng(seed)
    ladder = Ladder(min(a, b), max(a, b))
    loads = np.exp2(generator.uniform(-2, 62, units)).astype(np.int64)
    margins = tuple(np.arange(len(ladder)) * generator.uniform(0, 40))
    scores = Scores(ladder, 0.0, (price,) * len(ladder), margins, monotone=True, nested=True, by_doublings=True)

    def values(of: NDArray[np.int64]) -> NDArray[np.int64]:
        cut = np.minimum(ladder.units[None], of[:, None]).astype(object).sum(axis=0)
        return np.array([[min(MAX_UNITS, value) for value in np.atleast_1d(cut)]], np.int64)

    first, other = values(loads), values(loads[1:]) if units > 1 else np.zeros((1, len(ladder)), np.int64)
    assert np.abs(scores(first, first) - scores(other, other)).max() <= SENSITIVITY


@given(SEEDS, GAPS, PRICES, st.floats(0, 40))
def test_bounds_on_values_are_bounds_on_scores(seed: int, gap: float, price: float, size: float) -> None:
    generator = np.random.default_rng(seed)
    margins = tuple(np.arange(len(Ladder(-5, 12))) * price / 20) if seed % 2 and price < 2.0**31 else ()
    by_doublings = bool(margins) and seed % 8 < 4
    scores = Scores(
        Ladder(-5, 12), gap, (price,) * len(Ladder(-5, 12)), margins, monotone=seed % 4 < 2, by_doublings=by_doublings
    )
    values = table(generator, scores.ladder, size)
    lower = (values * generator.choice([0.0, 0.9, 1.0], values.shape)).astype(np.int64).clip(0, values)
    upper = np.maximum(values, (values * generator.choice([1.0, 1.1, 2.0], values.shape)).astype(np.int64))
    exact = scores(values, values)
    assert (scores(upper, lower) <= exact).all()
    assert (exact <= scores(lower, upper)).all()
