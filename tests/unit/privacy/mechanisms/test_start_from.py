"""Measurements at remembered thresholds: all of the budget for the release, and nothing chosen."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from privacy.ladder import Ladder
from privacy.mechanisms.budget import ConcentratedBudget, PureBudget
from privacy.mechanisms.clipping.l2_clip import L2Clip
from privacy.mechanisms.concentrated_gem import ConcentratedGem
from privacy.mechanisms.fixed import Fixed
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.groups.bound_first import BoundFirst
from privacy.mechanisms.groups.group_lp import GroupLp
from privacy.mechanisms.groups.laplace_or_gaussian import LaplaceOrGaussian
from privacy.mechanisms.groups.shared_threshold import SharedThreshold
from privacy.mechanisms.start_from import AS_MUCH, Earlier, at_rung, can_start, expected_from, marked, start_from
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

ALL: dict[str, Any] = {
    "gem": Gem(1.0, ladder=LADDER),
    "bound_first": BoundFirst(1.0, 512, ladder=LADDER),
    "group_lp": GroupLp(SHARED),
    "group_lp, either noise": GroupLp(LaplaceOrGaussian(SHARED, replace(SHARED, budget=CONCENTRATED))),
    "l2_clip": L2Clip(CONCENTRATED, LADDER),
}
VALUES = [5_000.0, 6_000.0, 4_000.0]


def answered(name: str, values: list[float], rung: int) -> NoisyAnswer:
    return replace(noisy_answer(values, mechanism=name), tau=np.full(len(values), 2.0**rung))


def earlier(*answers: NoisyAnswer) -> list[Earlier]:
    return [one for answer in answers if (one := Earlier.of(answer, True)) is not None]


def test_it_spends_as_much_at_the_threshold_with_less_noise_than_a_release_that_chooses() -> None:
    for name, one in ALL.items():
        started: Any = at_rung(one, 4)
        assert (started.epsilon, started.event) == (one.epsilon, one.event), name
        ((tau, half),) = started.expected_noise(3)
        assert tau == 16.0 and half < 0.92 * dict(one.expected_noise(3))[tau], name
        if name != "gem":
            noisy = started.release(encode(tuples(1, 3)), 0, SimulatedEntropy(1))
            assert set(noisy.tau) == {16.0} and np.all(np.isinf(noisy.signal)), name
            assert noisy.mechanism == name.partition(",")[0]


def test_a_threshold_above_the_bound_is_the_bound() -> None:
    started = at_rung(BoundFirst(1.0, 100, ladder=Ladder(0, 7)), 7)
    assert [tau for tau, _ in started.expected_noise(1)] == [100.0]
    # a bound that was good enough needs no test again
    one = BoundFirst(1.0, 100, ladder=Ladder(0, 7))
    before = replace(noisy_answer([50_000.0], mechanism="bound_first"), tau=np.array([100.0]))
    rung = start_from(one, earlier(before), 1)
    assert rung == 7
    assert at_rung(one, rung).direct.epsilon == 1.0


def test_what_has_one_threshold_or_one_for_each_group_has_nothing_to_remember() -> None:
    alone = [
        Fixed(1.0),
        Gem(1.0, ladder=Ladder(3, 3)),
        GroupLp(ConcentratedGem(CONCENTRATED, 2)),
        Gem(1.0, 1, ladder=LADDER, sample=SampleDesign(0.25, 512, 1.0)),
        measurement("r2t", 1.0, 1, 0.0, 64.0),
        measurement("gem", 1.0, whole=True, adds_at_most=Fraction(1)),  # a count of the one value a unit has
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


def test_an_answer_of_data_that_grew_all_at_once_is_marked_and_one_of_the_same_data_is_not() -> None:
    """Everybody adds 10, then 80: at a threshold of 16 the sum leaps from 10 to 16 for each, and shows it."""
    one, people = Gem(0.5, ladder=LADDER), 20_000
    before = earlier(answered("gem", [10.0 * people], 4))
    told = expected_from(one, before, 4, 1)
    assert told is not None
    generator = np.random.default_rng(3)
    same, grown = (
        [people * load + 40 * generator.laplace() for _ in range(200)] for load in (10.0, 16.0)
    )  # 40: 16 in multiples of 1 / epsilon, and more
    for values, is_cut in ((same, False), (grown, True)):
        released = [marked([4], [told], [answered("gem", [value], 4)])[0] for value in values]
        assert [bool(noisy.may_be_cut.any()) for noisy in released] == [is_cut] * 200


def test_a_release_is_marked_by_what_the_choice_could_know_that_its_threshold_rests_on() -> None:
    """Below three times what choosing the threshold cost, a value is marked, as of a release that chose."""
    for doubt, is_cut in [(100.0, False), (400.0, True)]:
        one, value = Gem(1.0, ladder=LADDER), 1_000.0
        chosen = answered("gem", [value], 4)
        before = earlier(replace(chosen, signal=np.array([value / doubt])))
        told = expected_from(one, before, 5, 1)
        assert told is not None and told.doubt == doubt, (doubt, is_cut)
        (now,) = marked([5], [told], [answered("gem", [value + 5.0], 5)])
        assert bool(now.may_be_cut.all()) is is_cut, (doubt, is_cut)
        assert now.signal[0] == pytest.approx((value + 5.0) / doubt), (doubt, is_cut)


def test_the_doubt_of_one_threshold_for_all_groups_is_of_their_sum() -> None:
    one = ALL["group_lp"]
    values = [100.0, 700.0, 200.0]
    before = earlier(replace(answered("group_lp", values, 3), signal=np.full(3, 20.0)))
    assert (before[0].doubt, before[0].together) == (50.0, True)
    told = expected_from(one, before, 3, 3)
    (now,) = marked([3], [told], [answered("group_lp", values, 3)])
    assert now.signal.tolist() == [20.0] * 3
    each = earlier(replace(answered("gem", values, 3), signal=np.array([2.0, 14.0, 4.0])))
    assert (each[0].doubt, each[0].together) == (50.0, False)
    (now,) = marked([3], [expected_from(ALL["gem"], each, 3, 3)], [answered("gem", values, 3)])
    assert now.signal.tolist() == [2.0, 14.0, 4.0]


def test_each_can_start_from_its_own_answer_but_not_from_one_that_was_chosen_with_much_less() -> None:
    """The threshold of a pilot is right for its noise, and cuts away many times that of the answer after it."""
    for name, one in ALL.items():
        before, higher = (answered(one.name, VALUES, rung) for rung in (3, 5))
        assert can_start(one), name
        assert start_from(one, [], 3) is None, name
        pilot, near, equal = (
            earlier(replace(before, epsilon=one.epsilon / times)) for times in (AS_MUCH + 0.1, AS_MUCH - 0.1, 1.0)
        )
        assert start_from(one, pilot, 3) is None, name
        assert start_from(one, near, 3) in (3, 4) and start_from(one, equal, 3) in (3, 4), name
        chosen = earlier(replace(higher, epsilon=one.epsilon))
        found = start_from(one, [*chosen, *pilot, *pilot], 3)
        assert found in (5, 6), f"{name}: none below those that were chosen with as much"


def test_a_choice_that_tells_nothing_of_what_it_missed_is_made_anew() -> None:
    one = Gem(1.0, ladder=LADDER)
    nothing = earlier(replace(answered("gem", [-3.0], 4), signal=np.zeros(1)))
    assert nothing[0].doubt is None
    assert start_from(one, nothing, 1) is None
    # what is not known is marked and what was chosen stays as it is
    noisy = [answered("gem", [5.0], 4), answered("gem", [6.0], 4)]
    first, second = marked([None, 4], [None], noisy)
    assert first is noisy[0]
    assert second.may_be_cut.all()
    assert expected_from(Gem(0.5, ladder=LADDER), [], 4, 1) is None
