"""Draws of tuples: uniform, binomial, and place by place."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from privacy.join_tuples import JoinTuples, OwnerColumn
from privacy.sampling.draws import MAX_COUNT, MAX_THINGS, Draws, SystemDraws, _table, bernoulli_places, thin
from privacy.units import MAX_UNITS, ONE
from tests.support.papers.choosing_draws import SystemChoosingDraws
from tests.support.seeded_draws import SeededDraws
from tests.unit.privacy.refusals import refuses_calls, refuses_each


@pytest.mark.statistical(1e-9)
def test_uniform_draws_and_chosen_sets_are_alike() -> None:
    """Each count within 7.3 of its standard deviations, 17 times: together below 1e-10, their skewness included."""
    counts = np.bincount(SystemDraws().uniform(7, 70_000), minlength=7)
    assert len(counts) == 7
    assert np.abs(counts - 10_000).max() < 7 * np.sqrt(10_000)
    draws = SystemChoosingDraws()
    sets = [tuple(sorted(draws.choose(5, 2).tolist())) for _ in range(5_000)]
    counts = np.unique(sets, axis=0, return_counts=True)[1]
    assert len(counts) == 10
    assert np.abs(counts - 500).max() < 7 * np.sqrt(500)


def test_chosen_things_are_distinct_also_when_many() -> None:
    for size in (0, 10, 900, 1000):
        chosen = SystemChoosingDraws().choose(1000, size)
        assert len(np.unique(chosen)) == size
        assert chosen.size == 0 or (chosen.min() >= 0 and chosen.max() < 1000)
    # refuses what cannot be chosen or drawn from
    refuses_calls(SystemChoosingDraws().choose, (3, 4), (-1, 0), (3, -1), (MAX_COUNT + 1, 1))
    refuses_calls(SystemDraws().uniform, (0, 1), (3, -1), (MAX_COUNT + 1, 1))
    refuses_calls(SystemDraws().binomial, *((np.array([1]), rate) for rate in (0.0, -0.5, 1.5, float("nan"))))


class Halves(SystemDraws):
    """Keeps half of everything, rounded down."""

    def binomial(self, counts: NDArray[np.int64], rate: float) -> NDArray[np.int64]:
        assert rate == 0.5
        return counts // 2


def counted(*weights: list[int]) -> JoinTuples:
    rows = len(weights[0])
    owner = OwnerColumn("person", np.arange(rows), np.zeros(rows, bool))
    return JoinTuples((owner,), np.zeros(rows, np.int64), 1, np.array(weights, np.int64))


def test_every_release_sees_the_same_sample() -> None:
    thinned = thin(counted([ONE, ONE, 7], [3, 0, 9], [4, 1, 10]), 0.5, Halves())
    assert thinned.weights.tolist() == [[2 * ONE, 0, 35], [6, 0, 45]]
    assert thinned.owners[0].keys.tolist() == [0, 1, 2]


def test_the_heaviest_row_stays_within_the_units() -> None:
    thinned = thin(counted([ONE], [MAX_COUNT]), 1.0, SystemDraws())
    assert thinned.weights.tolist() == [[MAX_UNITS]]
    # no rows stay no rows
    assert thin(counted([], []), 0.5, SystemDraws()).weights.shape == (1, 0)
    # refuses what the database must never return
    wrong = [([1],), ([-1], [1]), ([ONE + 1], [1]), ([1], [-1]), ([1], [MAX_COUNT + 1])]
    refuses_each(lambda weights: thin(counted(*weights), 0.5, SystemDraws()), wrong)


@pytest.mark.statistical(1e-10)
def test_draws_are_binomial() -> None:
    """Mean, variance and independence of neighbours, nine in all, within 8 standard errors: each below 1e-13."""
    size, count = 200_000, 50
    for rate in (0.01, 0.3, 0.9):
        draws = SystemDraws().binomial(np.full(size, count), rate)
        variance = count * rate * (1 - rate)
        assert abs(draws.mean() - count * rate) < 8 * np.sqrt(variance / size), rate
        kurtosis = 3 + (1 - 6 * rate * (1 - rate)) / variance
        assert abs(draws.var() / variance - 1) < 8 * np.sqrt((kurtosis - 1) / size), rate
        pairs = (draws[:-1] - count * rate) * (draws[1:] - count * rate)
        assert abs(pairs.mean()) < 8 * variance / np.sqrt(size), rate
    assert draws.tolist() != SystemDraws().binomial(np.full(size, count), rate).tolist()


FALSE_ALARM = 1e-9


def places(things: int, rate: float, draws: Draws) -> list[int]:
    return [place for block in bernoulli_places(things, rate, draws) for place in block.tolist()]


def subsets_p_value(things: int, rate: float, runs: int, draws: Draws) -> float:
    """How likely so uneven counts of the 2^things sets are, if every thing stays by itself."""
    found = Counter(tuple(places(things, rate, draws)) for _ in range(runs))
    statistic = 0.0
    for size in range(things + 1):
        expected = runs * rate**size * (1 - rate) ** (things - size)
        for chosen in itertools.combinations(range(things), size):
            statistic += (found[chosen] - expected) ** 2 / expected
    return float(chi2.sf(statistic, 2**things - 1))


def test_every_set_is_as_likely_as_independent_trials_make_it() -> None:
    """Blocks of 1 to 8 things, most of them cut off by the last thing. All 2^N sets, by a chi-square test."""
    for things, rate in [(5, 0.25), (6, 0.3), (5, 0.6), (7, 0.4), (3, 0.12)]:
        assert subsets_p_value(things, rate, 4_000, SeededDraws(things)) > FALSE_ALARM


class Clumped(SeededDraws):
    """Places within a block of which low ones are likelier: in number they are right."""

    def uniform(self, things: int, size: int) -> NDArray[np.int64]:
        drawn = super().uniform(things, size)
        return drawn if things == 1 << 32 else np.minimum(drawn, super().uniform(things, size))


def test_the_test_catches_places_that_are_not_uniform() -> None:
    assert subsets_p_value(5, 0.25, 4_000, Clumped(5)) < FALSE_ALARM


def test_many_things_cost_what_stays() -> None:
    """Number, order, distinctness, and the mean place, within 7 standard errors, with seeds."""
    for things, rate in ((10**6, 0.01), (200_000, 0.5), (10**9, 2e-5), (10**12, 1e-7)):
        drawn = np.array(places(things, rate, SeededDraws(1)))
        assert abs(len(drawn) - things * rate) < 7 * math.sqrt(things * rate * (1 - rate)), (things, rate)
        assert (np.diff(drawn) > 0).all(), (things, rate)
        assert drawn[0] >= 0 and drawn[-1] < things, (things, rate)
        assert abs(float(drawn.mean()) / things - 0.5) < 7 / math.sqrt(12 * len(drawn)), (things, rate)


def test_a_table_holds_the_distribution_between_its_bounds() -> None:
    """Beside exact fractions; bounds of one entry are a unit apart at most."""
    for block, rate in [(0, 0.7), (1, 0.3), (2, 0.25), (3, 0.12), (5, 0.03)]:
        for bits in [32, 64, 256]:
            below, above = _table(block, rate, bits)
            n, q = 1 << block, Fraction(rate)
            total = Fraction(0)
            for count, (low, high) in enumerate(zip(below, above, strict=True)):
                total += math.comb(n, count) * q**count * (1 - q) ** (n - count)
                assert low <= total * 2**bits <= high <= low + 1, (block, rate, bits)
            assert len(below) == n or (below[-1], above[-1]) == (2**bits - 1, 2**bits), (block, rate, bits)


class Scripted(SeededDraws):
    """First the words that are written down, then seeded ones."""

    def __init__(self, words: Sequence[int]) -> None:
        super().__init__(1)
        self.words = list(words)

    def uniform(self, things: int, size: int) -> NDArray[np.int64]:
        if things == 1 << 32 and self.words:
            assert size == 1
            return np.array([self.words.pop(0)], np.int64)
        return super().uniform(things, size)


def test_a_word_at_the_boundary_is_decided_by_further_bits() -> None:
    """P(X <= 0) = 0.7 is no fraction of 2^32: the word that it falls into is neither below nor above."""
    for further, stay in [((0, 0), 0), ((2**32 - 1, 2**32 - 1), 1)]:
        edge = int(Fraction(1 - Fraction(0.3)) ** 2 * 2**32)
        draws = Scripted([edge, *further])
        assert len(places(2, 0.3, draws)) == stay, (further, stay)
        assert len(draws.words) == 1, "as many bits as it takes"


def test_what_lies_beyond_a_short_table_is_looked_up_in_a_longer_one_and_all_and_nothing() -> None:
    """The last word of all: more things stay than 32 bits tell apart."""
    draws = Scripted([2**32 - 1, 2**32 - 1])
    assert len(places(1 << 20, 2.0**-20, draws)) > len(_table(20, 2.0**-20, 32)[0])
    assert not draws.words
    assert places(0, 0.5, SystemDraws()) == []
    assert places(5, 1.0, SystemDraws()) == [0, 1, 2, 3, 4]
    wrong = [(5, 0.0), (5, 1.5), (5, float("nan")), (-1, 0.5), (MAX_THINGS + 1, 0.5)]
    refuses_calls(partial(places, draws=SystemDraws()), *wrong)
