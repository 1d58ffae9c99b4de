"""Measurements at remembered thresholds: all of the budget for the release, and nothing chosen."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from privacy.join_tuples import CodedJoinTuples
from privacy.ladder import Ladder
from privacy.mechanisms.budget import ConcentratedBudget, PureBudget
from privacy.mechanisms.concentrated_gem import ConcentratedGem
from privacy.mechanisms.fixed import Fixed
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.groups.bound_first import BoundFirst
from privacy.mechanisms.groups.group_lp import GroupLp
from privacy.mechanisms.groups.l2_clip import L2Clip
from privacy.mechanisms.groups.laplace_or_gaussian import LaplaceOrGaussian
from privacy.mechanisms.groups.shared_threshold import SharedThreshold
from privacy.mechanisms.start_from import Earlier, at_rung, can_start, foretold_from, marked_if_not, start_from
from privacy.noisy_answer import NoisyAnswer
from privacy.registry import measurement
from privacy.sampling.design import SampleDesign
from privacy.truncation.encode import encode
from tests.golden.draws.recording import tuples
from tests.support.released_plan import noisy_answer
from tests.support.simulated_entropy import SimulatedEntropy

LADDER = Ladder(0, 10)
PURE, CONCENTRATED = PureBudget(1.0), ConcentratedBudget.of(1.0, 1e-6)
SHARED = SharedThreshold(PURE, 2, ladder=LADDER)

ALL = {
    "gem": Gem(1.0, ladder=LADDER),
    "bound_first": BoundFirst(1.0, 512, ladder=LADDER),
    "group_lp": GroupLp(SHARED),
    "group_lp, either noise": GroupLp(LaplaceOrGaussian(SHARED, replace(SHARED, budget=CONCENTRATED))),
    "l2_clip": L2Clip(CONCENTRATED, LADDER),
}


def answered(name: str, values: list[float], rung: int) -> NoisyAnswer:
    return replace(noisy_answer(values, mechanism=name), tau=np.full(len(values), 2.0**rung))


def earlier(*answers: NoisyAnswer) -> list[Earlier]:
    return [one for answer in answers if (one := Earlier.of(answer, True)) is not None]


@pytest.mark.parametrize("name", ALL)
def test_what_it_spends_does_not_change(name: str) -> None:
    one = ALL[name]
    started = at_rung(one, 4)
    assert (started.epsilon, started.event) == (one.epsilon, one.event)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ALL)
def test_its_noise_is_less_than_that_of_a_release_that_chooses(name: str) -> None:
    one = ALL[name]
    before = dict(one.expected_noise(3))  # type: ignore[attr-defined]
    ((tau, half),) = at_rung(one, 4).expected_noise(3)  # type: ignore[attr-defined]
    assert tau == 16.0
    assert half < 0.92 * before[tau]


@pytest.mark.parametrize("name", [name for name in ALL if name != "gem"])
def test_it_is_released_at_the_threshold(name: str) -> None:
    coded: CodedJoinTuples = encode(tuples(1, 3))
    noisy = at_rung(ALL[name], 4).release(coded, 0, SimulatedEntropy(1))  # type: ignore[attr-defined]
    assert set(noisy.tau) == {16.0}
    assert noisy.mechanism == name.partition(",")[0]
    assert np.all(np.isinf(noisy.signal))


def test_a_threshold_above_the_bound_is_the_bound() -> None:
    started = at_rung(BoundFirst(1.0, 100, ladder=Ladder(0, 7)), 7)
    assert [tau for tau, _ in started.expected_noise(1)] == [100.0]


def test_a_bound_that_was_good_enough_needs_no_test_again() -> None:
    one = BoundFirst(1.0, 100, ladder=Ladder(0, 7))
    before = replace(noisy_answer([50_000.0], mechanism="bound_first"), tau=np.array([100.0]))
    rung = start_from(one, earlier(before), 1)
    assert rung == 7
    assert at_rung(one, rung).direct.epsilon == 1.0


@pytest.mark.parametrize("name", ALL)
def test_each_can_start_from_its_own_answer(name: str) -> None:
    one = ALL[name]
    before = answered(one.name, [5_000.0, 6_000.0, 4_000.0], 3)  # type: ignore[attr-defined]
    assert can_start(one)
    assert start_from(one, earlier(before), 3) in (3, 4)
    assert start_from(one, [], 3) is None


def test_what_has_one_threshold_or_one_for_each_group_has_nothing_to_remember() -> None:
    alone = [
        Fixed(1.0),
        Gem(1.0, ladder=Ladder(3, 3)),
        GroupLp(ConcentratedGem(CONCENTRATED, 2)),
        Gem(1.0, 1, ladder=LADDER, sample=SampleDesign(0.25, 512, 1.0)),
        measurement("r2t", 1.0, 1, 0.0, 64.0),
    ]
    for one in alone:
        assert not can_start(one)
        assert start_from(one, earlier(answered("gem", [100.0], 3)), 1) is None


def test_answers_of_another_kind_say_nothing() -> None:
    gem = ALL["gem"]
    others = [
        answered("r2t", [100.0], 3),
        replace(answered("gem", [100.0], 3), covers="released_sample"),
        replace(answered("gem", [100.0, 100.0], 3), tau=np.array([4.0, 8.0])),
        replace(answered("gem", [100.0], 3), tau=np.array([3.0])),
        answered("gem", [100.0], 40),
        answered("gem", [], 3),
    ]
    for other in others:
        assert start_from(gem, earlier(other), 1) is None


def test_a_count_of_the_one_value_a_unit_has_remembers_nothing() -> None:
    assert not can_start(measurement("gem", 1.0, whole=True, adds_at_most=Fraction(1)))


def test_an_answer_of_data_that_grew_all_at_once_is_marked_and_one_of_the_same_data_is_not() -> None:
    """Everybody adds 10, then 80: at a threshold of 16 the sum leaps from 10 to 16 for each, and shows it."""
    one, people = Gem(0.5, ladder=LADDER), 20_000
    before = earlier(answered("gem", [10.0 * people], 4))
    told = foretold_from(one, before, 4, 1)
    assert told is not None
    generator = np.random.default_rng(3)
    same, grown = (
        [people * load + 40 * generator.laplace() for _ in range(200)] for load in (10.0, 16.0)
    )  # 40: 16 in multiples of 1 / epsilon, and more
    for values, marked in ((same, False), (grown, True)):
        released = [marked_if_not([told], [answered("gem", [value], 4)])[0] for value in values]
        assert [bool(noisy.may_be_cut.any()) for noisy in released] == [marked] * 200


def test_what_was_not_foretold_is_not_marked() -> None:
    noisy = [answered("gem", [5.0], 4), answered("gem", [6.0], 4)]
    assert marked_if_not([None], noisy) == tuple(noisy)
    assert foretold_from(Gem(0.5, ladder=LADDER), [], 4, 1) is None
