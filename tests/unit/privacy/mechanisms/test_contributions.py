"""A histogram of what people have, and the bounds that are proposed from it."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from privacy.errors import InvalidParameter
from privacy.mechanisms.contributions import (
    CONTRIBUTION_THRESHOLDS,
    FAMILY_WISE,
    ReleasedHistogram,
    released,
    rounded_up,
)
from privacy.units import ONE
from tests.support.replay_entropy import ConstantEntropy, RecordedEntropy
from tests.support.simulated_entropy import SimulatedEntropy

BUCKETS = 8


def histogram(*people: int, epsilon: float = 1.0, unit: float = 1.0) -> ReleasedHistogram:
    return ReleasedHistogram(people, unit, 0, epsilon)


def test_the_ends_are_doublings() -> None:
    assert CONTRIBUTION_THRESHOLDS.doubling
    assert ONE in CONTRIBUTION_THRESHOLDS.units
    assert histogram(1, 2, 3, 4).ends == (1.0, 2.0, 4.0)
    assert ReleasedHistogram((1, 2, 3), 120.0000071525578, -1, 1.0).ends == (60.0, 120.0)


def test_every_bucket_has_noise_of_its_own_at_the_whole_epsilon() -> None:
    entropy = RecordedEntropy(SimulatedEntropy(1))
    counts = np.array([5, 0, 0, 3], np.int64)
    noisy = released(counts, Fraction(1, 3), entropy)
    ((kind, scale, draws),) = entropy.draws
    assert (kind, scale) == ("laplace", 3.0)
    assert (noisy == counts + draws).all()
    assert len(draws) == len(counts)


def test_nothing_to_spend_releases_nothing() -> None:
    with pytest.raises(InvalidParameter):
        released(np.zeros(2, np.int64), Fraction(0), ConstantEntropy())


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 5.0])
def test_an_empty_bucket_shows_no_more_than_its_noise_reaches(epsilon: float) -> None:
    most = histogram(0, 0, epsilon=epsilon).noise(BUCKETS)
    a = math.exp(-epsilon)
    assert BUCKETS * a ** (most + 1) / (1 + a) <= FAMILY_WISE
    assert not most or BUCKETS * a**most / (1 + a) > FAMILY_WISE, "and it is the least that holds"


def test_a_clip_leaves_about_as_many_people_above_as_noise_is_worth() -> None:
    usual = histogram(900, 60, 20, 15, 13, 0, 0, 0).bounds(BUCKETS, 1 / 28)
    assert usual is not None
    assert (usual.clip, usual.above) == (4.0, 28)
    strict = histogram(900, 60, 20, 15, 13, 0, 0, 0).bounds(BUCKETS, 1.0)
    assert strict is not None
    assert (strict.clip, strict.above) == (16.0, 0)
    assert strict.seen == 16.0


def test_a_clip_leaves_nearly_all_people_whole() -> None:
    found = histogram(80, 15, 14, 13, 0, 0, 0, 0).bounds(BUCKETS, 1e-3)
    assert found is not None
    assert found.held >= 0.95
    assert found.clip == 8.0


def test_what_is_noise_is_nobody() -> None:
    most = histogram(0, 0).noise(BUCKETS)
    found = histogram(1000, 100, most, -50, most, -3, most, most).bounds(BUCKETS, 1.0)
    assert found is not None
    assert (found.seen, found.clip) == (2.0, 2.0)
    assert histogram(most, most, -1, 0, 0, 0, 0, 0).bounds(BUCKETS, 1.0) is None


def test_people_beyond_the_last_end_have_no_bound() -> None:
    assert histogram(1000, 0, 0, 500).bounds(BUCKETS, 1.0) is None


def test_a_histogram_has_ends_and_a_price() -> None:
    for people, unit, epsilon in (((1,), 1.0, 1.0), ((1, 2), 0.0, 1.0), ((1, 2), 1.0, 0.0)):
        with pytest.raises(InvalidParameter):
            ReleasedHistogram(people, unit, 0, epsilon)


@pytest.mark.parametrize("value", [1.0, 3.14159, 0.002345678, 99999.5, 123456789.123])
def test_a_number_is_rounded_up_to_what_people_read(value: float) -> None:
    rounded = rounded_up(value)
    assert value * (1 - 1e-6) <= rounded <= value * 1.01
    assert rounded == float(f"{rounded:.3g}") or value.is_integer()
