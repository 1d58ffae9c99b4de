from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from privacy.errors import InvalidParameter
from privacy.sampling.bernoulli import MAX_THINGS, _table, bernoulli_places
from privacy.sampling.draws import Draws, SystemDraws
from tests.support.seeded_draws import SeededDraws

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


@pytest.mark.parametrize(("things", "rate"), [(5, 0.25), (6, 0.3), (5, 0.6), (7, 0.4), (3, 0.12)])
def test_every_set_is_as_likely_as_independent_trials_make_it(things: int, rate: float) -> None:
    """Blocks of 1 to 8 things, most of them cut off by the last thing. All 2^N sets, by a chi-square test."""
    assert subsets_p_value(things, rate, 8_000, SeededDraws(things)) > FALSE_ALARM


class Clumped(SeededDraws):
    """Places within a block of which low ones are likelier: in number they are right."""

    def uniform(self, things: int, size: int) -> NDArray[np.int64]:
        drawn = super().uniform(things, size)
        return drawn if things == 1 << 32 else np.minimum(drawn, super().uniform(things, size))


def test_the_test_catches_places_that_are_not_uniform() -> None:
    assert subsets_p_value(5, 0.25, 8_000, Clumped(5)) < FALSE_ALARM


@pytest.mark.parametrize(("things", "rate"), [(10**6, 0.01), (3_000_000, 0.5), (10**9, 2e-4), (10**12, 1e-6)])
def test_many_things_cost_what_stays(things: int, rate: float) -> None:
    """Number, order, distinctness, and the mean place, within 7 standard errors."""
    drawn = np.array(places(things, rate, SystemDraws()))
    assert abs(len(drawn) - things * rate) < 7 * math.sqrt(things * rate * (1 - rate))
    assert (np.diff(drawn) > 0).all()
    assert drawn[0] >= 0 and drawn[-1] < things
    assert abs(float(drawn.mean()) / things - 0.5) < 7 / math.sqrt(12 * len(drawn))


@pytest.mark.parametrize(("block", "rate"), [(0, 0.7), (1, 0.3), (2, 0.25), (3, 0.12), (5, 0.03)])
@pytest.mark.parametrize("bits", [32, 64, 256])
def test_a_table_holds_the_distribution_between_its_bounds(block: int, rate: float, bits: int) -> None:
    """Beside exact fractions; bounds of one entry are a unit apart at most."""
    below, above = _table(block, rate, bits)
    n, q = 1 << block, Fraction(rate)
    total = Fraction(0)
    for count, (low, high) in enumerate(zip(below, above, strict=True)):
        total += math.comb(n, count) * q**count * (1 - q) ** (n - count)
        assert low <= total * 2**bits <= high <= low + 1
    assert len(below) == n or (below[-1], above[-1]) == (2**bits - 1, 2**bits)


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


@pytest.mark.parametrize(("further", "stay"), [((0, 0), 0), ((2**32 - 1, 2**32 - 1), 1)])
def test_a_word_at_the_boundary_is_decided_by_further_bits(further: tuple[int, ...], stay: int) -> None:
    """P(X <= 0) = 0.7 is no fraction of 2^32: the word that it falls into is neither below nor above."""
    edge = int(Fraction(1 - Fraction(0.3)) ** 2 * 2**32)
    draws = Scripted([edge, *further])
    assert len(places(2, 0.3, draws)) == stay
    assert len(draws.words) == 1, "as many bits as it takes"


def test_what_lies_beyond_a_short_table_is_looked_up_in_a_longer_one() -> None:
    """The last word of all: more things stay than 32 bits tell apart."""
    draws = Scripted([2**32 - 1, 2**32 - 1])
    assert len(places(1 << 20, 2.0**-20, draws)) > len(_table(20, 2.0**-20, 32)[0])
    assert not draws.words


def test_all_and_nothing() -> None:
    assert places(0, 0.5, SystemDraws()) == []
    assert places(5, 1.0, SystemDraws()) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("things", "rate"), [(5, 0.0), (5, 1.5), (5, float("nan")), (-1, 0.5), (MAX_THINGS + 1, 0.5)]
)
def test_refuses_what_is_no_sampling(things: int, rate: float) -> None:
    with pytest.raises(InvalidParameter):
        places(things, rate, SystemDraws())
