"""Sums of vectors that are scaled to a total, and to a Euclidean length."""

from __future__ import annotations

import itertools
import math
from functools import cache

import numpy as np
import pytest

from privacy.accounting.event import ZCDP, PureDP
from privacy.errors import InvalidParameter
from privacy.join_tuples import CodedJoinTuples
from privacy.mechanisms.budget import Budget, ConcentratedBudget, PureBudget
from privacy.mechanisms.clip import Clip
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.group_lp import GroupLp, group_lps
from privacy.mechanisms.selection import SelectionSettings
from privacy.mechanisms.sums import Sum
from privacy.mechanisms.unit_vectors import UnitVectors, step_of
from privacy.thresholds import Thresholds, useful_thresholds
from privacy.truncation.encode import encode
from privacy.units import ONE
from tests.support.replay_entropy import ConstantEntropy, RecordedEntropy
from tests.support.simulated_entropy import SimulatedEntropy
from tests.unit.privacy.refusals import refuses
from tests.unit.privacy.truncation.instances import join_tuples, owner

PURE, CONCENTRATED = PureBudget(1.0), ConcentratedBudget.of(4.0, 1e-7)
BOTH = pytest.mark.parametrize("budget", [PURE, CONCENTRATED], ids=["l1", "l2"])
WARDS = 6


@cache
def pair() -> CodedJoinTuples:
    """One unit with (3, 4), and one with (2^-29, 0, 1)."""
    return encode(join_tuples([owner("u", [1, 1, 2, 2, 2])], [3 * ONE, 4 * ONE, 1, 1, ONE], [0, 1, 0, 0, 2], 4))


@cache
def people() -> CodedJoinTuples:
    """1,500 people with up to 200 rows, few of whom have most of them: nine of ten of each in one of 6 groups."""
    pick = np.random.default_rng(1)
    contributions = np.minimum(200, pick.zipf(1.7, 1_500))
    rows = int(contributions.sum())
    at_home = pick.random(rows) < 0.9
    group = np.where(at_home, np.repeat(pick.integers(0, WARDS, 1_500), contributions), pick.integers(0, WARDS, rows))
    unit = owner("u", np.repeat(np.arange(1_500), contributions).tolist())
    return encode(join_tuples([unit], [ONE] * rows, group.tolist(), WARDS))


@cache
def many_people() -> CodedJoinTuples:
    """3000 people of 20 rows in 30 groups."""
    pick = np.random.default_rng(1)
    unit = owner("u", pick.integers(0, 3000, 60_000).tolist())
    return encode(join_tuples([unit], [ONE] * 60_000, pick.integers(0, 30, 60_000).tolist(), 30))


@cache
def everywhere() -> CodedJoinTuples:
    """2,000 people in each of 60 groups, equally often there: once at the median, some a hundred times."""
    pick = np.random.default_rng(1)
    each = np.ceil(pick.lognormal(0.0, 1.5, 2_000)).astype(np.int64)
    group = np.tile(np.arange(60), 2_000)
    unit = owner("u", np.repeat(np.arange(2_000), 60).tolist())
    return encode(join_tuples([unit], (np.repeat(each, 60) * ONE).tolist(), group.tolist(), 60))


def scaled(tau: int, tuples: CodedJoinTuples, *, euclidean: bool) -> list[float]:
    sums = UnitVectors.of_sum(tuples, 0, euclidean=euclidean).sums(tau)
    return [float(value) for value in sums * step_of(tau) / ONE]


def test_a_unit_that_is_too_long_keeps_its_proportions() -> None:
    assert scaled(8 * ONE, pair(), euclidean=False) == pytest.approx([3.0, 4.0, 1.0, 0.0], abs=1e-6)
    assert scaled(ONE * 7 // 2, pair(), euclidean=False) == pytest.approx([1.5, 2.0, 1.0, 0.0], abs=1e-6)
    assert scaled(8 * ONE, pair(), euclidean=True) == pytest.approx([3.0, 4.0, 1.0, 0.0], abs=1e-6)
    assert scaled(4 * ONE, pair(), euclidean=True) == pytest.approx([2.4, 3.2, 1.0, 0.0], abs=1e-6)
    kept = UnitVectors.of_sum(pair(), 0, euclidean=False).kept(Thresholds(0, 3))
    assert kept.values.tolist() == [[2 * ONE, 3 * ONE + 2, 5 * ONE + 2, 8 * ONE + 2]]
    assert kept.exceedances is not None
    assert kept.exceedances.tolist() == [[2, 1, 1, 0]], "1 + 2^-29 is more than 1"


@pytest.mark.parametrize("euclidean", [False, True])
def test_a_vector_of_either_sign_keeps_its_signs_and_is_no_longer_than_tau(euclidean: bool) -> None:
    """Every vector of three groups with entries from -4 to 4, and steps of rounding between them."""
    for vector in itertools.product((-4 * ONE, -3, 0, 1, 2 * ONE + 1), repeat=3):
        up, down = ([max(0, sign * part) for part in vector] for sign in (1, -1))
        tuples = encode(join_tuples([owner("u", [1, 1, 1])], [up, down], [0, 1, 2], 3))
        for tau in (1, 3, ONE, 5 * ONE // 2, 20 * ONE):
            kept = UnitVectors.of_sum(tuples, 0, 1, euclidean=euclidean).sums(tau) * step_of(tau)
            square = sum(int(part) ** 2 for part in kept)
            assert square <= tau**2 if euclidean else abs(kept).sum() <= tau, (vector, tau)
            assert all(0 <= abs(int(part)) <= abs(whole) for part, whole in zip(kept, vector, strict=True))
            assert all(int(part) * whole >= 0 for part, whole in zip(kept, vector, strict=True)), (vector, tau)


@pytest.mark.parametrize(
    ("budget", "scale"), [(PURE, 8.0), (CONCENTRATED, 8 / math.sqrt(2 * CONCENTRATED.rho))], ids=["l1", "l2"]
)
def test_noise_is_for_tau_whatever_a_unit_reaches(budget: Budget, scale: float) -> None:
    """One threshold leaves nothing to choose, and the whole budget for the release."""
    clip = Clip(budget, Thresholds(3, 3))
    for tuples, groups in ((people(), WARDS), (many_people(), 30)):
        released = clip.release(tuples, 0, SimulatedEntropy(1))
        assert released.noise_scale == pytest.approx(np.full(groups, scale), rel=1e-6)
        assert clip.expected_noise(groups)[0][1] == pytest.approx((released.high - released.low)[0] / 2)


def test_what_is_released_says_what_it_cost() -> None:
    clip = Clip(PURE, Thresholds(0, 9))
    released = clip.release(people(), 0, SimulatedEntropy(1))
    assert (released.mechanism, released.noise, released.delta) == ("l1_clip", "laplace", 0.0)
    assert clip.event == PureDP(1.0)
    assert clip.epsilon_if_bound_fails(WARDS) == released.epsilon == 1.0
    assert released.tau[0] in clip.thresholds.taus
    clip = Clip(CONCENTRATED, Thresholds(0, 9))
    released = clip.release(people(), 0, SimulatedEntropy(1))
    assert (released.mechanism, released.noise, released.delta) == ("l2_clip", "gaussian", 1e-7)
    assert clip.event == ZCDP(CONCENTRATED.rho)
    assert clip.epsilon_if_bound_fails(30) == released.epsilon == CONCENTRATED.epsilon


def test_the_choice_is_made_once_with_its_share() -> None:
    recorded = RecordedEntropy(SimulatedEntropy(2))
    Clip(PURE, Thresholds(0, 9), selection=SelectionSettings(0.25)).release(people(), 0, recorded)
    assert [kind for kind, _, _ in recorded.draws] == ["geometric", "laplace"]
    assert recorded.draws[0][1] == pytest.approx(2 * 1025 / 0.25, rel=1e-9)
    recorded = RecordedEntropy(SimulatedEntropy(2))
    Clip(CONCENTRATED, Thresholds(0, 9), selection=SelectionSettings(0.25)).release(many_people(), 0, recorded)
    assert recorded.draws[0][1] == pytest.approx(10 * 2 * 1025 / math.sqrt(2 * CONCENTRATED.rho), rel=1e-9)
    assert [kind for kind, _, _ in recorded.draws].count("gaussian") == 1


def test_is_far_better_than_a_share_for_every_group() -> None:
    """The median errors of 21 releases of people few of whom have most, and of three where all have the same."""

    def error(measurement: Clip | GroupLp, tuples: CodedJoinTuples, runs: int) -> float:
        truth = np.diff(tuples.row_start)  # each weighs one
        released = (measurement.release(tuples, 0, SimulatedEntropy(seed)).values - truth for seed in range(runs))
        return float(np.median([np.abs(run).sum() for run in released]) / truth.sum())

    thresholds = useful_thresholds(True, None, fine=True)
    (shared,) = group_lps([Sum(1.0, 0.0, thresholds, nested=True)], 0.0, None, None)
    assert error(Clip(PURE, thresholds), people(), 21) < 0.6 * error(shared, people(), 21)
    concentrated = error(Clip(CONCENTRATED, thresholds), many_people(), 3)
    assert concentrated < 0.03
    assert 3 * concentrated < error(GroupLp(Gem(CONCENTRATED, c=1.0, monotone=True)), many_people(), 3)


@BOTH
def test_the_interval_covers_the_scaled_sum_as_often_as_it_says(budget: Budget) -> None:
    """30 groups, 300 runs: 5.4 standard deviations either way."""
    clip = Clip(budget, Thresholds(3, 3), confidence=0.9)
    truth = scaled(8 * ONE, many_people(), euclidean=clip.euclidean)
    runs = [clip.release(many_people(), 0, SimulatedEntropy(seed)) for seed in range(300)]
    covered = np.mean([(one.low <= truth) & (truth <= one.high) for one in runs])
    assert abs(covered - 0.9) < 5.4 * np.sqrt(0.09 / 9_000)


@BOTH
def test_refuses_several_owners_other_rows_and_parameters_out_of_range(budget: Budget) -> None:
    several = encode(join_tuples([owner("u", [1]), owner("u", [2])], [1]))
    for tuples, row, message in ((several, 0, "one owner"), (pair(), 1, "no release has this index")):
        with pytest.raises(InvalidParameter, match=message):
            Clip(budget).release(tuples, row, ConstantEntropy())
    refuses(Clip, {"budget": budget}, confidence=[1.0])


def test_so_many_groups_that_no_threshold_is_worth_its_noise_are_no_reason_to_refuse() -> None:
    Clip(PureBudget(5e-5), Thresholds(0, 32)).check_noise(100_000)


def test_keeps_its_data_to_itself() -> None:
    assert repr(UnitVectors.of_sum(pair(), 0, euclidean=False)) == "UnitVectors(<private>)"


def test_where_units_reach_all_groups_what_is_clipped_is_marked_or_in_the_interval() -> None:
    """A unit loses up to sqrt(G) times as much of all groups as of its L2 norm. The seeds are fixed."""
    clip = Clip(ConcentratedBudget.of(1.0, 1e-6), useful_thresholds(False, None, fine=True))
    truth = everywhere().weights[0].sum() / ONE / 60
    kept = []
    for seed in range(10):
        answer = clip.release(everywhere(), 0, SimulatedEntropy(seed))
        holds = (answer.low <= truth) & (truth <= answer.high + answer.missing)
        kept.append((holds | answer.may_be_clipped).mean())
        assert abs(answer.values.mean() / truth - 1) < 0.3, "half is lost if a unit is taken to be in one group"
    assert np.mean(kept) > 0.9
