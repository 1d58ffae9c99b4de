"""When answers leave, and what a question costs at least."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from planner.errors import InvalidSetting
from planner.plan import LONGEST_S, AnswerTimes, JoinSize
from planner.planning.answer_times import answer_times, least_epsilon, moment_s
from planner.policy.policy import SideChannels
from tests.support.planning import demo_policy, planned

DEFAULTS = SideChannels()
PATH = "SELECT count(*) FROM knows a JOIN knows b ON a.dst = b.src"
CROSS = "SELECT count(*) FROM customer CROSS JOIN knows"


def test_linear_joins_leave_at_once_unless_the_policy_holds_all() -> None:
    assert answer_times(JoinSize(), DEFAULTS, 1.0) == AnswerTimes()
    assert answer_times(JoinSize(), replace(DEFAULTS, hold_all_answers=True), 1.0) == AnswerTimes(1.0)
    assert answer_times(JoinSize("unbounded", 1), replace(DEFAULTS, answer_quantum_s=0.0), 1.0) == AnswerTimes()


def test_small_declared_sizes_plan_the_duration_and_large_ones_do_not() -> None:
    moments = [
        answer_times(JoinSize("equi_joined", 1, tuples), DEFAULTS, 4.0).first_s
        for tuples in (0, 10**6, 3 * 10**6, 8 * 10**6, 10**7)
    ]
    assert moments == [1.0, 1.0, 4.0, 8.0, 1.0]


def test_epsilon_buys_the_moments_at_which_an_answer_may_leave() -> None:
    """Whatever it costs, the moments and whether it failed tell no more: N outcomes for ln N at most."""
    for size in (JoinSize("equi_joined", 1), JoinSize("unbounded", 1)):
        for epsilon, first, last in [
            (0.694, 8.0, 8.0), (1.0, 8.0, 8.0), (1.4, 4.0, 8.0), (1.8, 2.0, 8.0), (2.1, 1.0, 8.0), (2.31, 1.0, 16.0),
            (2.9, 1.0, 256.0), (3.0, 1.0, math.inf), (9.0, 1.0, math.inf),
        ]:  # fmt: skip
            assert answer_times(size, DEFAULTS, epsilon) == AnswerTimes(first, last), epsilon
        for epsilon in np.linspace(0.694, 4.0, 500):
            assert math.log(answer_times(size, DEFAULTS, float(epsilon)).outcomes) <= epsilon


def test_every_duration_up_to_the_longest_leaves_at_one_of_few_moments() -> None:
    for first in (0.25, 1.0, 8.0):
        moments = {moment_s(first, LONGEST_S * part / 10_000) for part in range(10_001)}
        assert 2 * len(moments) == AnswerTimes(first).outcomes
        assert min(moments) == first


def test_the_least_epsilon_pays_for_one_moment() -> None:
    for size, least in [
        (JoinSize(), 0.001), (JoinSize("equi_joined", 1), 0.694), (JoinSize("equi_joined", 9), 0.694),
        (JoinSize("equi_joined", 9, 10**6), 0.001), (JoinSize("unbounded", 1), 0.694),
        (JoinSize("unbounded", 1, 10**6), 0.694), (JoinSize("equi_joined", 2, explodes=False), 0.016),
        (JoinSize("equi_joined", 9, explodes=False), 3.0),
    ]:  # fmt: skip
        assert least_epsilon(size, DEFAULTS, 10.0) == least
        assert least_epsilon(size, DEFAULTS, 0.5) == min(0.5, least)
        assert math.log(2) <= 0.694


def test_public_rows_multiply_the_rows_of_one_person_by_a_public_number() -> None:
    times = answer_times(JoinSize("equi_joined", 2, explodes=False), DEFAULTS, 0.016)
    assert times == AnswerTimes(1.0)
    beside_public = "SELECT count(*) FROM customer JOIN part ON c_nationkey = p_size"
    assert not planned(beside_public).size.explodes
    assert planned(PATH).size.explodes


def test_without_moments_a_join_that_may_explode_costs_the_most() -> None:
    for kind in ("equi_joined", "unbounded"):
        assert least_epsilon(JoinSize(kind, 1), replace(DEFAULTS, answer_quantum_s=0.0), 3.0) == 3.0


def test_a_question_below_its_least_epsilon_is_refused() -> None:
    assert planned(PATH, epsilon=0.694).times.last_s == 4.0
    with pytest.raises(InvalidSetting, match=r"at least 0\.694 and at most 4") as caught:
        planned(PATH, epsilon=0.69)
    assert caught.value.hint is not None and "fanout" in caught.value.hint
    with pytest.raises(InvalidSetting, match=r"at least 0\.001"):
        planned("SELECT count(*) FROM orders", epsilon=0.0009)
    allowed = replace(demo_policy(), side_channels=replace(DEFAULTS, unbounded_joins=True))
    assert planned(CROSS, policy=allowed, epsilon=3.0).times.first_s == 1.0
