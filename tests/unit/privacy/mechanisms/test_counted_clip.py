"""Sums that are clipped where somebody says, and how many units have more."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from privacy.accounting.event import PureDP
from privacy.errors import InvalidParameter
from privacy.join_tuples import CodedJoinTuples
from privacy.mechanisms.clip import CountedClip
from privacy.mechanisms.sums import Counted, Sum
from privacy.noisy_answer import Exceeding
from privacy.registry import AllGroups, group_measurements, release_together
from privacy.thresholds import Thresholds, one_threshold
from privacy.truncation.encode import encode
from privacy.truncation.histograms import ContributionHistogram, NormHistogram, VectorsOfSum
from privacy.units import ONE
from tests.support.replay_entropy import ConstantEntropy, RecordedEntropy
from tests.support.simulated_entropy import SimulatedEntropy
from tests.unit.privacy.truncation.instances import join_tuples, owner

FIVE = one_threshold(Fraction(5))


def people(*contributions: tuple[int, int]) -> CodedJoinTuples:
    """What each person adds to each of two groups."""
    keys = np.repeat(np.arange(len(contributions)), 2).tolist()
    weights = [part * ONE for contribution in contributions for part in contribution]
    return encode(join_tuples([owner("u", keys)], weights, [0, 1] * len(contributions), 2))


SOME = people((3, 1), (5, 0), (4, 4), (0, 10))


def test_who_has_more_is_counted_and_cut_in_proportion() -> None:
    released = CountedClip(1.0, FIVE).release(SOME, 0, ConstantEntropy())
    assert released.values.tolist() == pytest.approx([3 + 5 + 2.5, 1 + 2.5 + 5], abs=1e-5)
    assert released.exceeding == Exceeding(2, 2 + 23)
    assert (released.mechanism, released.epsilon, released.delta) == ("l1_clip", 1.0, 0.0)
    assert np.isinf(released.signal).all() and not released.may_be_clipped.any(), "nothing was chosen"
    assert released.tau.tolist() == [5.0, 5.0]


def test_a_database_that_adds_up_tells_the_same() -> None:
    """Lengths 4, 5, 8 and 10: two units within the threshold of five, and two beyond it."""
    thresholds = np.array([5 * ONE])
    rows = np.zeros(2, np.int64), np.zeros(2, np.int64), np.arange(2)
    lengths = ContributionHistogram(*rows, np.array([2, 2]), np.array([9, 18]) * ONE, 1, 1, thresholds)
    group, beyond = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    totals, shares = np.array([8, 1, 4, 14]) * ONE, np.array([0, 0, 1, 3]) << 29
    histogram = NormHistogram(lengths, np.zeros(4, np.int64), group, beyond, totals, shares, 2)
    vectors = VectorsOfSum(histogram, 0)
    counted = CountedClip(1.0, FIVE, Fraction(10))
    released = counted.release_vectors(vectors, ConstantEntropy())
    whole = counted.release(SOME, 0, ConstantEntropy())
    assert released.exceeding == whole.exceeding
    assert released.values == pytest.approx(whole.values, abs=1e-5)
    assert released.high == pytest.approx(whole.high, abs=1e-3)


def test_a_tenth_of_epsilon_counts_and_the_rest_hides_the_sums() -> None:
    recorded = RecordedEntropy(SimulatedEntropy(2))
    counted = CountedClip(1.0, FIVE)
    released = counted.release(SOME, 0, recorded)
    (kind, _, sums), (other, scale, number) = recorded.draws
    assert (kind, other, len(sums), len(number), scale) == ("laplace", "laplace", 2, 1, 10.0)
    assert released.noise_scale == pytest.approx([5 / 0.9] * 2, rel=1e-6)
    assert counted.event == PureDP(1.0)
    assert counted.epsilon_if_bound_fails(2) == 1.0


def test_a_promise_raises_the_upper_end_by_what_people_may_lose() -> None:
    """At half of the error that an interval may have, each: noise at 97.5%, and a number at 97.5%."""
    counted = CountedClip(1.0, FIVE, Fraction(25, 2))
    released = counted.release(SOME, 0, ConstantEntropy())
    assert released.exceeding is not None
    reach = 30
    assert (released.exceeding.people, released.exceeding.at_most) == (2, 2 + reach)
    assert released.exceeding.above == pytest.approx((2 + reach) * 7.5)
    assert released.exceeding.below == 0.0
    below = np.log(40) * 5 / 0.9
    assert released.values - released.low == pytest.approx([below] * 2, rel=1e-2)
    assert released.high - released.values == pytest.approx([below + (2 + reach) * 7.5] * 2, rel=1e-2)
    assert released.confidence == 0.95
    assert counted.expected_noise(2)[0][1] == pytest.approx(below + reach * 7.5 / 2, rel=1e-2)


def test_what_adds_with_either_sign_may_be_lost_on_either_side() -> None:
    tuples = encode(join_tuples([owner("u", [1, 2])], [[9 * ONE, 0], [0, 8 * ONE]], [0, 0], 1))
    released = CountedClip(1.0, FIVE, Fraction(10), less=1).release(tuples, 0, ConstantEntropy())
    assert released.exceeding is not None and released.exceeding.people == 2
    assert released.exceeding.below == released.exceeding.above > 10.0
    assert released.values[0] == pytest.approx(0.0, abs=1e-5)
    assert released.low[0] <= 1.0 <= released.high[0]


def test_nobody_may_be_said_to_have_more_where_noise_says_so() -> None:
    released = CountedClip(1.0, FIVE, Fraction(10)).release(SOME, 0, ConstantEntropy(laplace=-100))
    assert released.exceeding == Exceeding(2 - 100, 0)


def test_several_sums_are_released_together() -> None:
    sums = [Sum(0.5, 0.0, FIVE, counted=Counted(Fraction(10))), Sum(0.5, 0.0, FIVE), Sum(0.5, 0.0, Thresholds(0, 9))]
    tuples = encode(join_tuples([owner("u", [1, 2])], [[9 * ONE, ONE]] * 3, [0, 0], 1))
    first, second, third = release_together(
        group_measurements("l1_clip", AllGroups(sums, 0.0)), tuples, SimulatedEntropy(1)
    )
    assert first.exceeding is not None
    assert second.exceeding is None and third.exceeding is None
    assert np.isinf(second.signal).all() and np.isfinite(third.signal).all()


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InvalidParameter):
        CountedClip(1.0, Thresholds(0, 1))
    with pytest.raises(InvalidParameter):
        CountedClip(0.0, FIVE)
    with pytest.raises(InvalidParameter):
        CountedClip(1e-300, FIVE).check_noise()
