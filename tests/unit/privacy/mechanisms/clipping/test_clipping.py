"""Sums of vectors that are cut in L1 and in L2."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from privacy.accounting.event import ZCDP, PureDP
from privacy.errors import InvalidParameter
from privacy.join_tuples import CodedJoinTuples
from privacy.ladder import Ladder
from privacy.mechanisms.budget import ConcentratedBudget, PureBudget
from privacy.mechanisms.clipping.clipped_vectors import STEPS, ClippedVectors, sum_sensitivity
from privacy.mechanisms.clipping.l1_clip import L1Clip
from privacy.mechanisms.clipping.l2_clip import L2Clip
from privacy.mechanisms.clipping.levelled_vectors import Level, LevelledVectors, LevelNoise
from privacy.mechanisms.concentrated_gem import ConcentratedGem
from privacy.mechanisms.groups.group_lp import GroupLp, group_lps
from privacy.mechanisms.groups.sums import Sum
from privacy.mechanisms.selection.settings import SelectionSettings
from privacy.truncation.control import Control
from privacy.truncation.encode import encode
from privacy.units import ONE
from tests.support.replay_entropy import ConstantEntropy, RecordedEntropy
from tests.support.simulated_entropy import SimulatedEntropy
from tests.unit.privacy.refusals import refuses, refuses_calls
from tests.unit.privacy.truncation.instances import join_tuples, owner

BUDGET = PureBudget(1.0)
WARDS = 6


@cache
def pair() -> CodedJoinTuples:
    """One unit with (3, 4), and one with (2^-29, 0, 1)."""
    return encode(join_tuples([owner("u", [1, 1, 2, 2, 2])], [3 * ONE, 4 * ONE, 1, 1, ONE], [0, 1, 0, 0, 2], 4))


@cache
def people() -> CodedJoinTuples:
    """1,500 people with up to 200 rows, few of whom have most of them: nine of ten of each in one of 6 groups."""
    pick = np.random.default_rng(1)
    loads = np.minimum(200, pick.zipf(1.7, 1_500))
    rows = int(loads.sum())
    at_home = pick.random(rows) < 0.9
    group = np.where(at_home, np.repeat(pick.integers(0, WARDS, 1_500), loads), pick.integers(0, WARDS, rows))
    unit = owner("u", np.repeat(np.arange(1_500), loads).tolist())
    return encode(join_tuples([unit], [ONE] * rows, group.tolist(), WARDS))


def levelled(tau: int) -> list[float]:
    level = Level(tau, 4)
    return [float(value) for value in LevelledVectors.of_sum(pair(), 0).sums(level) * level.step / ONE]


def test_the_largest_parts_of_a_unit_are_cut_to_one_level() -> None:
    assert levelled(8 * ONE) == pytest.approx([3.0, 4.0, 1.0, 0.0], abs=1e-6)
    assert levelled(6 * ONE) == pytest.approx([3.0, 3.0, 1.0, 0.0], abs=1e-6)
    assert levelled(4 * ONE) == pytest.approx([2.0, 2.0, 1.0, 0.0], abs=1e-6)
    assert LevelledVectors.of_sum(pair(), 0).totals(Ladder(0, 3)).values.tolist() == [
        [2 * ONE, 3 * ONE + 2, 5 * ONE + 2, 8 * ONE + 2]
    ]
    # noise is for tau in two groups and for less than twice that in any
    for reached, times in ((1, 1.0), (2, 1.0), (4, 1.5), (1_000, 1.998)):
        noise = LevelNoise(Level(8 * ONE, reached), Fraction(1, 2))
        assert noise.scale * noise.step_weight == pytest.approx(8 * times / 0.5, rel=1e-6)


def test_keys_that_show_fewer_groups_of_a_unit_buy_less_noise() -> None:
    """One threshold leaves nothing to choose, and the whole budget for the release."""
    clip = L1Clip(BUDGET, Ladder(3, 3))
    assert clip.release(people(), 0, SimulatedEntropy(1)).noise_scale == pytest.approx(
        np.full(WARDS, 8 * 10 / 6), rel=1e-6
    )
    told = clip.of_kinds((("person", 2),))
    assert told.release(people(), 0, SimulatedEntropy(1)).noise_scale == pytest.approx(np.full(WARDS, 8.0), rel=1e-6)
    assert told.of_kinds((("person", 5),)) == told
    with pytest.raises(InvalidParameter, match="at least one group"):
        clip.of_kinds(())


def test_what_is_released_says_what_it_cost() -> None:
    clip = L1Clip(BUDGET, Ladder(0, 9))
    released = clip.release(people(), 0, SimulatedEntropy(1))
    assert (released.mechanism, released.noise, released.delta) == ("l1_clip", "laplace", 0.0)
    assert clip.event == PureDP(1.0)
    assert clip.epsilon_if_bound_fails(WARDS) == released.epsilon == 1.0
    ((tau, half),) = [one for one in clip.expected_noise(WARDS) if one[0] == released.tau[0]]
    assert half == pytest.approx((released.high - released.low)[0] / 2)
    assert tau in clip.ladder.taus


def test_the_choice_is_made_once_with_its_share() -> None:
    recorded = RecordedEntropy(SimulatedEntropy(2))
    L1Clip(BUDGET, Ladder(0, 9), selection=SelectionSettings(0.25)).release(people(), 0, recorded)
    assert [kind for kind, _, _ in recorded.draws] == ["geometric", "laplace"]
    assert recorded.draws[0][1] == pytest.approx(2 * 1025 / 0.25, rel=1e-9)


def test_is_far_better_than_a_share_for_every_group_where_few_people_have_most() -> None:
    """The median errors of 21 releases each."""
    truth = np.diff(people().row_start)  # each weighs one
    (shared,) = group_lps([Sum(1.0, 0.0, Ladder(0, 32), nested=True)], 0.0, None, None)

    def error(measurement: L1Clip | GroupLp) -> float:
        runs = (measurement.release(people(), 0, SimulatedEntropy(seed)).values - truth for seed in range(21))
        return float(np.median([np.abs(run).sum() for run in runs]) / truth.sum())

    assert error(L1Clip(BUDGET, Ladder(0, 32))) < 0.6 * error(shared)


def test_the_interval_covers_the_levelled_sum_as_often_as_it_says() -> None:
    """6 groups, 300 runs: 5.4 standard deviations either way."""
    clip, level = L1Clip(BUDGET, Ladder(3, 3), confidence=0.9), Level(8 * ONE, WARDS)
    truth = LevelledVectors.of_sum(people(), 0).sums(level) * level.step / ONE
    runs = [clip.release(people(), 0, SimulatedEntropy(seed)) for seed in range(300)]
    covered = np.mean([(one.low <= truth) & (truth <= one.high) for one in runs])
    assert abs(covered - 0.9) < 5.4 * np.sqrt(0.09 / 1_800)


def test_refuses_several_owners_other_rows_and_parameters_out_of_range() -> None:
    several = encode(join_tuples([owner("u", [1]), owner("u", [2])], [1]))
    for tuples, row, message in ((several, 0, "one owner"), (pair(), 1, "no such release")):
        with pytest.raises(InvalidParameter, match=message):
            L1Clip(BUDGET).release(tuples, row, ConstantEntropy())
    refuses(L1Clip, {"budget": BUDGET}, confidence=[1.0], groups_per_unit=[0])
    refuses_calls(Level, (0, 1), (1, 0))
    refuses_calls(LevelNoise, (Level(1, 1), Fraction(0)))
    L1Clip(PureBudget(5e-5), Ladder(0, 32)).check_noise(100_000)  # no choice then, but no reason to refuse


def test_can_be_watched_and_keeps_its_data_to_itself() -> None:
    stages: list[str] = []
    L1Clip(BUDGET).release(pair(), 0, SimulatedEntropy(1), Control(progress=lambda stage, _: stages.append(stage)))
    assert set(stages) == {"clip"}
    assert repr(LevelledVectors.of_sum(pair(), 0)) == "LevelledVectors(<private>)"


CONCENTRATED = ConcentratedBudget.of(4.0, 1e-7)


@cache
def many_people() -> CodedJoinTuples:
    """3000 people of 20 rows in 30 groups."""
    pick = np.random.default_rng(1)
    unit = owner("u", pick.integers(0, 3000, 60_000).tolist())
    return encode(join_tuples([unit], [ONE] * 60_000, pick.integers(0, 30, 60_000).tolist(), 30))


def test_vectors_are_cut_in_every_group_and_then_in_length() -> None:
    vectors = ClippedVectors(pair(), 0)
    assert (vectors.sums(8 * ONE) / STEPS * 8).tolist() == [3.0, 4.0, 1.0, 0.0]
    # At tau = 4 the vector (3, 4) has length 5 / 4 of tau, below 2: scaled to tau.
    assert vectors.sums(4 * ONE) / STEPS * 4 == pytest.approx([2.4, 3.2, 1.0, 0.0], abs=1e-6)
    # At tau = 1 both entries are cut to 1, and (1, 1) is scaled to length 1.
    assert vectors.sums(ONE) / STEPS == pytest.approx([math.sqrt(0.5)] * 2 + [1.0, 0.0], abs=1e-6)
    # beyond twice tau a longer vector counts less
    nine = encode(join_tuples([owner("u", [1] * 9)], [ONE] * 9, range(9), 9))
    assert ClippedVectors(nine, 0).sums(ONE) / STEPS == pytest.approx([2 / 9] * 9, abs=1e-6)
    assert ClippedVectors(nine, 0).lengths(Ladder(0, 0)).values.tolist() == [[ONE * 2 // 3]]
    assert sum_sensitivity(1) <= STEPS + 2
    assert sum_sensitivity(100_000) < STEPS * (1 + 1e-4), "rounding costs next to nothing"


def test_noise_is_for_tau_whatever_a_unit_reaches() -> None:
    """One threshold leaves nothing to choose, and the whole budget for the release."""
    clip = L2Clip(CONCENTRATED, Ladder(3, 3), selection=SelectionSettings(0.2))
    released = clip.release(many_people(), 0, SimulatedEntropy(1))
    assert released.noise_scale == pytest.approx(np.full(30, 8 / math.sqrt(2 * CONCENTRATED.rho)), rel=1e-6)
    assert clip.event == ZCDP(CONCENTRATED.rho)
    assert (released.mechanism, released.noise, released.delta) == ("l2_clip", "gaussian", 1e-7)
    assert clip.epsilon_if_bound_fails(30) == released.epsilon == CONCENTRATED.epsilon
    assert clip.expected_noise(30)[0][1] == pytest.approx((released.high - released.low)[0] / 2)


def test_the_choice_is_made_once_with_its_share_of_l2_clip() -> None:
    recorded = RecordedEntropy(SimulatedEntropy(2))
    L2Clip(CONCENTRATED, Ladder(0, 9), selection=SelectionSettings(0.25)).release(many_people(), 0, recorded)
    assert recorded.draws[0][1] == pytest.approx(10 * 2 * 1025 / math.sqrt(2 * CONCENTRATED.rho), rel=1e-9)
    assert [kind for kind, _, _ in recorded.draws].count("gaussian") == 1


def test_is_far_better_than_a_share_for_every_group() -> None:
    truth = np.diff(many_people().row_start)

    def error(measurement: L2Clip | GroupLp) -> float:
        runs = (measurement.release(many_people(), 0, SimulatedEntropy(seed)).values - truth for seed in range(3))
        return float(np.mean([np.linalg.norm(run) for run in runs]) / np.linalg.norm(truth))

    assert error(L2Clip(CONCENTRATED)) < 0.03
    assert 3 * error(L2Clip(CONCENTRATED)) < error(GroupLp(ConcentratedGem(CONCENTRATED)))


def test_the_interval_covers_the_clipped_sum_as_often_as_it_says() -> None:
    """30 groups, 200 runs: 5.4 standard deviations either way."""
    clip = L2Clip(CONCENTRATED, Ladder(3, 3), confidence=0.9)
    truth = ClippedVectors(many_people(), 0).sums(8 * ONE) / STEPS * 8
    runs = [clip.release(many_people(), 0, SimulatedEntropy(seed)) for seed in range(200)]
    covered = np.mean([(one.low <= truth) & (truth <= one.high) for one in runs])
    assert abs(covered - 0.9) < 5.4 * math.sqrt(0.09 / 6000)
    # refuses several owners other rows and parameters out of range of l2 clip
    several = encode(join_tuples([owner("u", [1]), owner("u", [2])], [1]))
    for tuples, row, message in ((several, 0, "one owner"), (pair(), 1, "no such release")):
        with pytest.raises(InvalidParameter, match=message):
            L2Clip(CONCENTRATED).release(tuples, row, ConstantEntropy())
    refuses(L2Clip, {"budget": CONCENTRATED}, confidence=[1.0])


def test_can_be_watched_and_keeps_its_data_to_itself_of_l2_clip() -> None:
    stages: list[str] = []
    L2Clip(CONCENTRATED).release(
        pair(), 0, SimulatedEntropy(1), Control(progress=lambda stage, _: stages.append(stage))
    )
    assert set(stages) == {"clip"}
    assert repr(ClippedVectors(pair(), 0)) == "ClippedVectors(<private>)"
