"""Vectors over groups: the sparse vector, the grid, and the mechanisms with both."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import pairwise
from unittest.mock import Mock

import numpy as np
import pytest

from privacy.accounting.renyi import approximate
from privacy.errors import EntropyFailed
from privacy.join_tuples import JoinTuples, OwnerColumn
from privacy.papers.pmsja import Pmsja
from privacy.papers.s4s_vector import S4SVector
from privacy.papers.vector_program.certificate import SHARE_BITS, WHOLE
from privacy.papers.vector_program.search import DEFAULT_GAP
from privacy.papers.vector_release import (
    SparseVector,
    TruncatedVector,
    VectorGrid,
    check_least,
    merged,
    rounding,
    step_bits,
    truncated_vector,
    vector_instance,
)
from privacy.sampling.design import SampleDesign
from privacy.thresholds import Thresholds
from privacy.truncation.encode import encode
from privacy.units import ONE
from tests.support.papers.vectors_as_published import PmsjaAsPublished, S4SVectorAsPublished
from tests.support.replay_entropy import ConstantEntropy, RecordedEntropy, ReplayEntropy
from tests.support.simulated_entropy import SimulatedEntropy
from tests.unit.privacy.answers import ShortEntropy
from tests.unit.privacy.papers.vector_program.stopping import loss
from tests.unit.privacy.refusals import refuses, refuses_calls

GAP = 3 * WHOLE // 10
LEAVING, JOINING = (1.3, 0.3), (0.3, 1.3)
"""How far the early levels fall and the last one rises, when a person with the most helpful gaps leaves or joins."""


def test_the_choice_spends_what_it_says_whatever_the_gap_does() -> None:
    """Exact probabilities of a stop after forty levels."""
    made = SparseVector.monotone(1.0, 4.0, GAP)
    assert loss(made, *LEAVING) == pytest.approx(1.0, abs=1e-6)
    assert loss(made, *JOINING) <= 1.0
    # scales without the gap lose nearly half as much again
    unadjusted = SparseVector.monotone(1.0, 4.0, 0)
    assert loss(unadjusted, *LEAVING) > 1.3
    # noise of one and two persons is for values that move by one
    assert loss(SparseVector.monotone(1.0, 4.0, 0), 1.0, 0.0) <= 1.0 + 1e-6


def test_stops_are_the_noisy_threshold_less_each_rungs_noise() -> None:
    made = SparseVector.monotone(1.0, 4.5, 0)
    noise = ReplayEntropy(
        [
            ("laplace", made.threshold_scale, np.array([7], np.int64)),
            ("laplace", made.level_scale, np.array([1, -2, 3], np.int64)),
        ]
    )
    assert made.stops(3, noise).tolist() == [9 * WHOLE // 2 + 7 - z for z in (1, -2, 3)]


def test_a_threshold_that_was_taken_removes_no_more_than_stated_and_more_epsilon_is_less_noise() -> None:
    made = SparseVector.monotone(1.0, 4.0)
    most, entropy = made.most_removed(10, 0.02), SimulatedEntropy(1)
    beyond = sum(bool(np.any(made.stops(10, entropy) > most * WHOLE)) for _ in range(5000))
    assert beyond <= 0.02 * 5000
    assert made.most_removed(10, 0.01) > most
    scales = [SparseVector.monotone(epsilon, 1.0).level_scale for epsilon in (0.1, 1.0, 10.0)]
    assert all(large > small for large, small in pairwise(scales))


def test_parameters_out_of_range_and_a_source_that_gives_too_little_are_refused() -> None:
    refuses_calls(SparseVector, *((epsilon, 1.0, 1e9, 1e9) for epsilon in (0.0, -1.0)))
    refuses_calls(SparseVector, *((1.0, threshold, 1e9, 1e9) for threshold in (-1.0, 2.0**31)))
    with pytest.raises(EntropyFailed):
        SparseVector.monotone(1.0, 1.0).stops(3, ShortEntropy())


def test_rounding_to_the_grid_is_paid_for() -> None:
    """Values just below a step against values just on it: sqrt(d) steps apart, at a distance of next to nothing."""
    for dimension in [1, 2, 3, 25, 100, 100_000]:
        grid = VectorGrid(ONE, dimension)
        assert math.sqrt(dimension) * grid.step_weight <= 2 * grid.tau * rounding(dimension) <= 2.0**-10 * 1.001


def test_a_step_is_whole_at_the_smallest_threshold_and_the_largest_dimension() -> None:
    grid = VectorGrid(1 << 10, 1 << 20)
    assert grid.step == 1 << 10 + SHARE_BITS - step_bits(1 << 20)


def test_sums_come_out_to_a_step_below_them() -> None:
    grid = VectorGrid(8 * ONE, 3)
    sums = [0, (5 * ONE << SHARE_BITS) + 12345, 7 * ONE << SHARE_BITS + 60]
    values = grid.released(sums, 1.0, ConstantEntropy())
    exact = [total / 2.0 ** (SHARE_BITS + 30) for total in sums]
    assert all(0 <= truth - value < grid.step_weight for truth, value in zip(exact[:2], values, strict=False))
    assert values[2] == exact[2]  # far beyond an int64 of steps


def test_noise_is_asked_for_in_steps() -> None:
    recorded = RecordedEntropy(SimulatedEntropy(1))
    grid = VectorGrid(4 * ONE, 2)
    values = grid.released([0, 0], 3.0, recorded)
    (kind, scale, draws) = recorded.draws[0]
    assert (kind, scale * grid.step_weight) == ("gaussian", 3.0 * 2 * grid.tau)
    assert values.tolist() == [z * grid.step_weight for z in draws.tolist()]
    # noise that the grid would show and what is no noise are refused
    check_least(0.05, 8.0, 10)
    refuses_calls(check_least, (1e-4, 8.0, 10))
    with pytest.raises(EntropyFailed):
        VectorGrid(ONE, 2).released([0, 0], 1.0, ShortEntropy())


THRESHOLDS = Thresholds(0, 4)


def tuples() -> JoinTuples:
    """Person 1 has three tuples in each of two groups, one of them together with person 2; person 3 has one."""
    first = np.array([1, 1, 1, 1, 1, 1, 3])
    second = np.array([0, 0, 2, 0, 0, 2, 0])
    nobody = second == 0
    owners = OwnerColumn("p", first, np.zeros(7, bool)), OwnerColumn("p", second, nobody)
    group = np.array([0, 0, 0, 2, 2, 2, 1])
    return JoinTuples(owners, group, 4, np.stack([np.full(7, 5), np.full(7, ONE)]))


def test_a_person_in_several_groups_is_one_person_and_nobody_is_removed_where_all_are_short() -> None:
    compact = merged(encode(tuples()), 1)
    assert (compact.n_units, compact.n_groups) == (3, 4)
    assert compact.group.tolist() == [0, 0, 1, 2, 2]
    assert sorted(compact.weights[0].tolist()) == [ONE, ONE, ONE, 2 * ONE, 2 * ONE]
    assert len(set(compact.units[compact.indptr[:-1]].tolist())) == 2
    found = truncated_vector(vector_instance(encode(tuples()), 1), THRESHOLDS, np.full(5, 0, np.int64))
    assert found is not None
    assert (THRESHOLDS.taus[found.level], found.removed) == (8.0, 0)  # the vector of person 1 is 4.24 long
    assert [total / 2 ** (SHARE_BITS + 30) for total in found.sums] == [3.0, 1.0, 3.0, 0.0]


def test_a_part_of_a_person_is_removed_at_a_smaller_threshold() -> None:
    found = truncated_vector(vector_instance(encode(tuples()), 1), THRESHOLDS, np.full(5, WHOLE, np.int64))
    assert found is not None
    assert THRESHOLDS.taus[found.level] == 1.0
    assert 0.7 * WHOLE < found.removed < WHOLE
    assert "0." not in repr(found)


def test_who_is_removed_is_told_to_the_last_step() -> None:
    many = (1 << 55) + 1  # 2^24 people and a step
    instance = Mock(select=lambda *_: 0, removal=lambda _: Mock(removed=many), sums=lambda _: ())
    found = truncated_vector(instance, THRESHOLDS, np.full(5, 0, np.int64))
    assert found is not None
    assert found.removed == many
    # no threshold is an answer too
    assert truncated_vector(vector_instance(encode(tuples()), 1), THRESHOLDS, np.full(5, -1, np.int64)) is None
    refuses_calls(partial(vector_instance, encode(tuples())), (2,), (-1,))


def test_no_tuples_are_no_people() -> None:
    none = np.zeros(0, np.int64)
    empty = JoinTuples((OwnerColumn("p", none, none > 0),), none, 4, np.zeros((1, 0), np.int64))
    found = truncated_vector(vector_instance(encode(empty), 0), THRESHOLDS, np.full(5, 0, np.int64))
    assert found is not None
    assert (found.level, found.removed, found.sums) == (0, 0, (0, 0, 0, 0))


LONG = Thresholds(0, 10)
D = 3
Mechanism = S4SVector | Pmsja | S4SVectorAsPublished | PmsjaAsPublished
ALL: list[Callable[[float, float, int], Mechanism]] = [S4SVector, Pmsja, S4SVectorAsPublished, PmsjaAsPublished]
SOUND: list[Callable[[float, float, int], S4SVector | Pmsja]] = [S4SVector, Pmsja]


def two_each(people: int = 40) -> JoinTuples:
    """Everybody has two tuples in one group."""
    person = np.repeat(np.arange(people), 2)
    owners = (OwnerColumn("p", person, np.zeros(2 * people, bool)),)
    return JoinTuples(owners, person % D, D, np.full((1, 2 * people), ONE, np.int64))


def test_without_noise_nobody_is_cut_who_need_not_be() -> None:
    for made in ALL:
        mechanism = made(4.0, 1e-7, D)
        answer = mechanism.release(encode(two_each(100)), 0, ConstantEntropy())
        assert answer.tau.tolist() == [2.0] * D, made  # at 1 half of everybody would go
        assert answer.values.tolist() == [68.0, 66.0, 66.0], made
        assert (answer.mechanism, answer.epsilon, answer.delta, answer.noise) == (
            mechanism.name,
            4.0,
            1e-7,
            "gaussian",
        )
        assert dict(mechanism.expected_noise(D))[2.0] > 0, made


def test_what_is_spent_is_what_is_said_and_a_sample_without_most_people_costs_less() -> None:
    for made in SOUND:
        for dimension in [1, 25, 4096]:
            for epsilon, delta in [(0.1, 1e-9), (1.0, 1e-7), (4.0, 1e-7), (20.0, 1e-3)]:
                charged = approximate(made(epsilon, delta, dimension).stages, delta)
                assert 0.99 * epsilon < charged.epsilon <= epsilon, (made, dimension, epsilon, delta)
    sample = SampleDesign(1 / 32, 1, 4.0)
    whole, thin = S4SVector(4.0, 1e-7, D), S4SVector(4.0, 1e-7, D, sample=sample)
    assert thin.noise.sigma(5.0) < 0.85 * whole.noise.sigma(5.0)
    assert approximate(thin.stages, 1e-7).epsilon <= 4.0 < thin.epsilon_if_bound_fails(D)
    assert whole.epsilon_if_bound_fails(D) == 4.0
    assert S4SVector(4.0, 1e-7, D, sample=SampleDesign(0.5, None, 4.0)).noise == whole.noise


def test_the_amplified_divergence_is_that_of_the_mixture() -> None:
    """At every order: ln(1 - q' + q' e^((a - 1) D)) / (a - 1), q' the chance that any of three tuples is seen."""
    sample = SampleDesign(0.25, 3, 4.0)
    mechanism, seen = S4SVector(4.0, 1e-7, D, sample=sample), 1 - 0.75**3
    order = mechanism.noise.alpha
    alone = mechanism._unsampled(order)
    mixture = math.log(1 - seen + seen * math.exp((order - 1) * alone)) / (order - 1)
    assert mechanism.divergence(order) == pytest.approx(mixture)
    assert mechanism.divergence(order + 1) == math.inf


def test_intervals_cover_the_truncated_answer() -> None:
    for made in SOUND:
        mechanism, entropy = made(1.0, 1e-6, D), SimulatedEntropy(3)
        found = TruncatedVector(20, WHOLE // 2, (7 * ONE << SHARE_BITS,) * D)
        answers = [mechanism.noised(found, entropy) for _ in range(700)]
        covered = [np.mean((answer.low <= 7.0) & (answer.high >= 7.0)) for answer in answers]
        assert np.mean(covered) >= 0.94, made


def test_where_no_threshold_is_taken_nothing_is_said() -> None:
    for made in ALL:
        refused = made(4.0, 1e-7, D).release(encode(two_each()), 0, _NothingPasses())
        assert refused.values.tolist() == [0.0] * D, made
        assert np.isinf(refused.high).all(), made
        assert np.all(refused.may_be_clipped), made


class _NothingPasses(ConstantEntropy):
    """The threshold very low, all levels very high."""

    def laplace(self, scale: float, size: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.full(size, -WHOLE * 1000 if size == 1 else WHOLE * 1000, np.int64)


def test_the_noisy_bound_is_seldom_below_the_bound() -> None:
    mechanism, entropy = Pmsja(1.0, 0.02, D), SimulatedEntropy(7)
    short = sum(mechanism.noisy_bound(3 * WHOLE, entropy) < 4.0 for _ in range(20_000))
    assert 100 < short < 300  # half of delta: 200 expected
    assert mechanism.noisy_bound(0, ConstantEntropy(laplace=-(2**50))) >= 1.0


def test_no_step_is_lost_before_noise_is_added() -> None:
    """Not even where a float has no room for the steps of all people who are removed."""
    for removed in [1, (1 << 54) + 1, (1 << 61) - 1]:
        mechanism = Pmsja(1.0, 0.02, D)
        (before, after) = (
            mechanism.noisy_bound(removed + more, ConstantEntropy(laplace=-removed)) for more in (0, 1)
        )
        assert after - before == 1 / WHOLE, removed


def test_the_bounds_of_neighbours_are_as_near_as_the_noise_relies_on() -> None:
    for removed in [1, (1 << 54) + 1, (1 << 61) - 1]:
        mechanism = S4SVector(1.0, 1e-6, D)
        low, high = (Fraction(mechanism._bound(steps)) for steps in (removed, removed + WHOLE + DEFAULT_GAP))
        assert 0 < high - low <= Fraction(mechanism.noise.growth), removed
    # parameters out of range and shares that leave nothing are refused
    for sound in SOUND:
        refuses_calls(sound, (0.0, 0.1, 1), (1.0, 0.0, 1), (1.0, 1.0, 1), (1.0, 0.1, 0))
    refuses(partial(Pmsja, 1.0, 1e-7, D, split=0.5), {}, bounding=[0.5])
    refuses(partial(S4SVector, 1.0, 1e-7, D), {}, split=[1.0], confidence=[0.99])
    for made in ALL:
        released = [made(4.0, 1e-7, d).release(encode(two_each()), 0, ConstantEntropy()) for d in (D, D + 1)]
        assert np.array_equal(released[0].values, released[1].values), "for as many groups as there are"
