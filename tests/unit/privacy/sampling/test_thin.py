from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.join_tuples import JoinTuples, OwnerColumn
from privacy.sampling.draws import MAX_COUNT, SystemDraws
from privacy.sampling.thin import thin
from privacy.units import MAX_UNITS, ONE


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


def test_no_rows_stay_no_rows() -> None:
    assert thin(counted([], []), 0.5, SystemDraws()).weights.shape == (1, 0)


@pytest.mark.parametrize("weights", [([1],), ([-1], [1]), ([ONE + 1], [1]), ([1], [-1]), ([1], [MAX_COUNT + 1])])
def test_refuses_what_the_database_must_never_return(weights: tuple[list[int], ...]) -> None:
    with pytest.raises(InvalidParameter):
        thin(counted(*weights), 0.5, SystemDraws())


@pytest.mark.parametrize("rate", [0.0, -0.5, 1.5, float("nan")])
def test_refuses_what_is_no_rate(rate: float) -> None:
    with pytest.raises(InvalidParameter):
        SystemDraws().binomial(np.array([1]), rate)


@pytest.mark.parametrize("rate", [0.01, 0.3, 0.9])
def test_draws_are_binomial(rate: float) -> None:
    """Mean, variance and independence of neighbours within 6 standard errors: a false alarm in 10^8 runs."""
    size, count = 200_000, 50
    draws = SystemDraws().binomial(np.full(size, count), rate)
    variance = count * rate * (1 - rate)
    assert abs(draws.mean() - count * rate) < 6 * np.sqrt(variance / size)
    kurtosis = 3 + (1 - 6 * rate * (1 - rate)) / variance
    assert abs(draws.var() / variance - 1) < 6 * np.sqrt((kurtosis - 1) / size)
    pairs = (draws[:-1] - count * rate) * (draws[1:] - count * rate)
    assert abs(pairs.mean()) < 6 * variance / np.sqrt(size)


def test_two_draws_differ() -> None:
    counts = np.full(1000, 1000)
    assert SystemDraws().binomial(counts, 0.5).tolist() != SystemDraws().binomial(counts, 0.5).tolist()
