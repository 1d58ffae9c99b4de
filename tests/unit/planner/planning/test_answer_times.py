"""When answers leave, and what a question costs at least."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from planner.errors import InvalidSetting
from planner.plan import JoinSize
from planner.planning.answer_times import LONGEST_S, first_moment_s, least_epsilon, moment_s, outcomes
from planner.policy.side_channels import SideChannels
from tests.support.planning import demo_policy, planned

DEFAULTS = SideChannels()
PATH = "SELECT count(*) FROM knows a JOIN knows b ON a.dst = b.src"
CROSS = "SELECT count(*) FROM customer CROSS JOIN knows"


def test_linear_joins_leave_at_once_unless_the_policy_holds_all() -> None:
    assert first_moment_s(JoinSize(), DEFAULTS) == 0.0
    assert first_moment_s(JoinSize(), replace(DEFAULTS, hold_all_answers=True)) == DEFAULTS.answer_quantum_s
    assert first_moment_s(JoinSize("equi_joined", 1), DEFAULTS) == DEFAULTS.answer_quantum_s
    assert first_moment_s(JoinSize("unbounded", 1), replace(DEFAULTS, answer_quantum_s=0.0)) == 0.0


def test_small_declared_sizes_plan_the_duration_and_large_ones_do_not() -> None:
    moments = [
        first_moment_s(JoinSize("equi_joined", 1, tuples), DEFAULTS)
        for tuples in (0, 10**6, 3 * 10**6, 8 * 10**6, 10**7)
    ]
    assert moments == [1.0, 1.0, 4.0, 8.0, 1.0]


def test_every_duration_up_to_the_longest_leaves_at_one_of_few_moments() -> None:
    for first in (0.25, 1.0, 8.0):
        moments = {moment_s(first, LONGEST_S * part / 10_000) for part in range(10_001)}
        assert 2 * len(moments) == outcomes(first)
        assert min(moments) == first


def test_the_least_epsilon_pays_for_the_outcomes() -> None:
    for size, least in [
        (JoinSize(), 0.001), (JoinSize("equi_joined", 1), 0.004), (JoinSize("equi_joined", 3), 0.064),
        (JoinSize("equi_joined", 9), 3.0), (JoinSize("equi_joined", 9, 10**6), 0.001),
        (JoinSize("unbounded", 1), 3.0), (JoinSize("unbounded", 1, 10**6), 3.0),
    ]:  # fmt: skip
        assert least_epsilon(size, DEFAULTS, 10.0) == least
        assert least_epsilon(size, DEFAULTS, 2.0) == min(2.0, least)
        assert math.log(20) <= 3.0


def test_without_moments_an_unbounded_join_costs_the_most() -> None:
    assert least_epsilon(JoinSize("unbounded", 1), replace(DEFAULTS, answer_quantum_s=0.0), 3.0) == 3.0


def test_a_question_below_its_least_epsilon_is_refused() -> None:
    assert planned(PATH, epsilon=0.004).epsilon == 0.004
    with pytest.raises(InvalidSetting, match=r"at least 0\.004 and at most 4") as caught:
        planned(PATH, epsilon=0.0039)
    assert caught.value.hint is not None
    with pytest.raises(InvalidSetting, match=r"at least 0\.001"):
        planned("SELECT count(*) FROM orders", epsilon=0.0009)
    allowed = replace(demo_policy(), side_channels=replace(DEFAULTS, unbounded_joins=True))
    assert planned(CROSS, policy=allowed, epsilon=3.0).first_moment_s == 1.0
    with pytest.raises(InvalidSetting, match=r"at least 3"):
        planned(CROSS, policy=allowed, epsilon=1.0)
