"""Averages around a centre: what is rounded of one unit is nothing, or in no interval."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from privacy.join_tuples import CodedJoinTuples
from privacy.mechanisms import joint_scale
from privacy.mechanisms.budget import PureBudget
from privacy.mechanisms.clip import Clip
from privacy.mechanisms.joint_scale import ScaledSum, release_at_one_scale
from privacy.mechanisms.sums import Centre, Deviation, Products
from privacy.thresholds import Thresholds
from privacy.units import ONE
from tests.support.simulated_entropy import SimulatedEntropy

_PEOPLE = 4_000


def _miss(value: int, seed: int) -> float:
    """How far an average of equal values is off, in units, beyond ten times its noise."""
    fine = Thresholds(-20, 0)
    count, centre, left = (Clip(PureBudget(4.0), one) for one in (Thresholds(0, 0), fine, fine))
    sums = [ScaledSum(count), ScaledSum(centre, Centre(0)), ScaledSum(left, Deviation(1, 0))]
    members = np.arange(_PEOPLE, dtype=np.int32)
    weights = np.array([[ONE] * _PEOPLE, [value] * _PEOPLE, [value] * _PEOPLE], np.int64)
    ends = np.array([0, _PEOPLE])
    tuples = CodedJoinTuples(members[None], ends, ends, weights, (1, 1), members)
    rows, around, rest = release_at_one_scale(sums, tuples, SimulatedEntropy(seed=seed))
    found = around.values[0] + rest.values[0] / rows.values[0]
    noise = float(rest.noise_scale[0]) / _PEOPLE
    return float((abs(found - value / ONE) - 10 * noise) * ONE)


def test_an_average_of_equal_values_is_off_by_noise_alone() -> None:
    """In a range of half a million, a unit is 0.0005: half of it would be far more than the noise of many people."""
    assert all(_miss(value, seed) <= 0 for value in (10_240, 10_241, 2_047) for seed in range(5))


def test_a_centre_between_units_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint_scale, "round", lambda value: value, raising=False)
    assert max(_miss(10_240, seed) for seed in range(10)) > 0


def test_a_number_beside_an_average_is_released_by_itself() -> None:
    """Units with 4 rows of little value: their count is not scaled down to the average's threshold."""
    by_itself, count = (ScaledSum(Clip(PureBudget(4.0), Thresholds(two, two))) for two in (2, 0))
    members = np.arange(_PEOPLE, dtype=np.int32)
    weights = np.full((2, _PEOPLE), 4 * ONE, np.int64)
    ends = np.array([0, _PEOPLE])
    tuples = CodedJoinTuples(members[None], ends, ends, weights, (1, 1), members)
    sums = [replace(by_itself, alone=True), count]
    rows, scaled = release_at_one_scale(sums, tuples, SimulatedEntropy(seed=1))
    assert rows.values[0] == pytest.approx(4 * _PEOPLE, abs=50)  # 50 scales of noise
    assert scaled.values[0] == pytest.approx(_PEOPLE, abs=50)


def _collapsed(seed: int) -> tuple[bool, bool]:
    """Of ten classes of twenty grades at a small epsilon: is the threshold far too low, and are all rows marked?"""
    people = 200
    fine = Thresholds(-20, 0)
    count, centre, left = (Clip(PureBudget(0.15), one) for one in (Thresholds(0, 0), fine, fine))
    sums = [ScaledSum(count), ScaledSum(centre, Centre(0)), ScaledSum(left, Deviation(1, 0))]
    members = np.arange(people, dtype=np.int32)
    grades = np.where(members % 2 == 0, ONE // 4, ONE)
    weights = np.stack([np.full(people, ONE), grades, grades]).astype(np.int64)
    ends = np.arange(0, people + 1, 20)
    tuples = CodedJoinTuples(members[None], ends, ends, weights, (1, 1), members)
    rest = release_at_one_scale(sums, tuples, SimulatedEntropy(seed=seed))[2]
    return float(rest.tau[0]) < 2.0**-10, bool(rest.may_be_clipped.all())


def test_where_everybody_may_be_overlooked_every_row_is_marked() -> None:
    """Such an answer is the centre in every group, with next to no noise."""
    found = [_collapsed(seed) for seed in range(40)]
    assert sum(low for low, _ in found) >= 10, "the test sees what it is about"
    assert all(marked for low, marked in found if low)


def _holds(seed: int) -> bool:
    """Does the interval of a sum of squares around a poor mean hold the squares around the true mean, which are 0?"""
    people = 300
    count, value, squares = (
        Clip(PureBudget(epsilon), one)
        for epsilon, one in ((4.0, Thresholds(0, 0)), (0.05, Thresholds(0, 0)), (4.0, Thresholds(-20, 16)))
    )
    around = Products((1, 1.0), (1, 1.0), 0, 1.0, one_row=True)
    members = np.arange(people, dtype=np.int32)
    weights = np.array([[ONE] * people, [ONE // 2] * people, [ONE // 4] * people], np.int64)
    ends = np.array([0, people])
    tuples = CodedJoinTuples(members[None], ends, ends, weights, (1, 1), members)
    sums = [ScaledSum(count), ScaledSum(value), ScaledSum(squares, around)]
    found = release_at_one_scale(sums, tuples, SimulatedEntropy(seed=seed))[2]
    return bool(found.low[0] <= 0 <= found.high[0])


def test_a_sum_of_squares_allows_for_the_error_of_its_mean() -> None:
    """At a confidence of 85%, of 100 seeds."""
    assert sum(map(_holds, range(100))) >= 85


def test_a_mutant_that_takes_the_mean_for_true_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint_scale, "_around_other_means", lambda answer, *_: answer)
    assert sum(map(_holds, range(100))) < 50
