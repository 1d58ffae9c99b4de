"""The public numbers of the selections of groups, by counts and by votes, and what they refuse."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from privacy.accounting.event import ZCDP, ApproxDP, PureDP
from privacy.accounting.renyi import approximate
from privacy.errors import InvalidParameter
from privacy.join_tuples import CodedJoinTuples, JoinTuples, OwnerColumn
from privacy.mechanisms.partition_selection import MOST_VOTED, GroupThreshold, VoteThreshold
from privacy.thresholds import Thresholds
from privacy.truncation.encode import encode
from privacy.truncation.truncated_answer import TabulatedAnswer
from privacy.units import ONE
from tests.support.simulated_entropy import SimulatedEntropy
from tests.unit.privacy.refusals import refuses, refuses_calls


def test_the_threshold_is_one_and_the_quantile_of_the_noise() -> None:
    """P(Lap > t) = exp(-t eps / L0) / 2 = delta / L0."""
    for epsilon, delta, groups in [(1.0, 1e-6, 1), (0.1, 1e-9, 3), (4.0, 1e-12, 40)]:
        made = GroupThreshold(epsilon, delta, groups_per_unit=groups)
        quantile = groups / epsilon * math.log(groups / (2 * delta))
        assert made.threshold() == pytest.approx(1 + quantile, rel=1e-3), (epsilon, delta, groups)
        assert made.threshold(10**6) == made.threshold()
        assert made.event == ApproxDP(epsilon, delta), (epsilon, delta, groups)


def test_a_minimum_raises_the_threshold_and_costs_nothing_more() -> None:
    made = GroupThreshold(1.0, 1e-6, groups_per_unit=1, minimum=100)
    assert made.threshold() == 100
    public = GroupThreshold(1.0, minimum=7)
    assert public.threshold(25) == 7
    assert public.noise_scale(25) == pytest.approx(25.0, rel=1e-3)
    assert public.event == PureDP(1.0)


def test_groups_at_and_above_the_threshold_are_shown_in_order() -> None:
    made = GroupThreshold(1e6, groups_per_unit=1, minimum=3)
    counts = np.array([5, 0, 3, 2, 4], np.int64) * ONE
    answer = TabulatedAnswer(counts[:, None], Thresholds(0, 0))
    shown = made.release(answer, SimulatedEntropy(seed=1)).tolist()
    assert set(shown) - {2} == {0, 4}  # noise of a millionth decides about the third
    assert shown == sorted(shown)


def test_no_groups_are_no_failure_and_another_ladder_is_refused_before_noise_is_drawn() -> None:
    nothing = TabulatedAnswer(np.zeros((0, 1), np.int64), Thresholds(0, 0))
    assert GroupThreshold(1.0, 1e-6, groups_per_unit=1).release(nothing, SimulatedEntropy(seed=1)).tolist() == []
    other = TabulatedAnswer(np.zeros((1, 2), np.int64), Thresholds(0, 1))
    refuses_calls(GroupThreshold(1.0, minimum=3).release, (other, SimulatedEntropy(seed=1)))
    # what makes no threshold is refused
    refuses(
        GroupThreshold, {"epsilon": 1.0, "minimum": 3}, epsilon=[0.0], minimum=[0], groups_per_unit=[0], gap=[2.0]
    )
    refuses(GroupThreshold, {"epsilon": 1.0}, delta=[0.0, 1e-6])  # no minimum, and none from delta
    refuses(GroupThreshold, {"epsilon": 1.0, "groups_per_unit": 1}, delta=[1.0])


STEPS = 1 << 20
"""Of one vote."""

USUAL = VoteThreshold(0.5, 1e-7)
PURE = VoteThreshold(1e-4, 1e-15)


def coded(rows: list[tuple[int, int]], weights: list[int] | None = None, n_groups: int = 0) -> CodedJoinTuples:
    """Rows of (person, group)."""
    table = np.array(rows, np.int64).reshape(-1, 2)
    weighted = np.array([weights or [1] * len(rows)], np.int64) * ONE
    owners = (OwnerColumn("person", table[:, 0], np.zeros(len(table), bool)),)
    return encode(JoinTuples(owners, table[:, 1], max(n_groups, *table[:, 1].tolist(), 0) + 1, weighted))


def test_a_unit_has_one_vote_of_length_one_over_its_groups() -> None:
    rows = [(1, 0), (2, 0), (2, 1), (2, 2), (2, 3), (2, 3)]
    assert USUAL.votes(coded(rows), 0).tolist() == [STEPS + STEPS // 2, STEPS // 2, STEPS // 2, STEPS // 2]
    assert PURE.votes(coded(rows), 0).tolist() == [STEPS + STEPS // 4, STEPS // 4, STEPS // 4, STEPS // 4]
    # votes in any number of groups are no longer than one
    for made in [USUAL, PURE]:
        for k in (1, 2, 3, 7, 40, MOST_VOTED):
            votes = made.votes(coded([(5, group) for group in range(k)]), 0)
            length = math.isqrt(int((votes**2).sum())) if made.is_gaussian else int(votes.sum())
            assert (votes == votes[0]).all(), made
            assert STEPS * 0.99 < length <= STEPS, made


def test_a_unit_in_too_many_groups_votes_where_it_weighs_most() -> None:
    rows = [(1, group) for group in range(6)]
    votes = replace(USUAL, most_voted=4).votes(coded(rows, [1, 9, 1, 8, 7, 1]), 0)
    assert votes.tolist() == [STEPS // 2, STEPS // 2, 0, STEPS // 2, STEPS // 2, 0]
    # tuples that a sample left out do not vote
    assert USUAL.votes(coded([(1, 0), (1, 1), (2, 1)], [0, 1, 1]), 0).tolist() == [0, 2 * STEPS]
    assert USUAL.votes(coded([(1, 0), (2, 1)], [0, 0]), 0).tolist() == [0, 0]
    assert USUAL.votes(coded([]), 0).tolist() == [0]
    assert USUAL.release(coded([]), 0, SimulatedEntropy(seed=1)).tolist() == []


def test_the_gaussian_noise_costs_epsilon_at_half_of_delta() -> None:
    for epsilon, delta in [(0.1, 1e-9), (0.5, 1e-7), (1.0, 1e-6), (4.0, 1e-12)]:
        made = VoteThreshold(epsilon, delta)
        assert made.is_gaussian, (epsilon, delta)
        rho = 1 / (2 * made.noise_scale() ** 2)  # the votes of a unit have the length 1 at most
        assert 0.99 * epsilon < approximate(ZCDP(rho), delta / 2).epsilon <= epsilon
        assert made.event == ApproxDP(epsilon, delta)


def test_one_unit_alone_is_shown_as_rarely_as_delta_allows() -> None:
    for epsilon, delta in [(0.1, 1e-9), (0.5, 1e-7), (4.0, 1e-12), (900.0, 0.5)]:
        made = VoteThreshold(epsilon, delta)
        k = np.arange(1, MOST_VOTED + 1)
        shown = k * stats.norm.sf((made.threshold() - 1 / np.sqrt(k)) / made.noise_scale())
        assert max(shown) <= delta / 2, (epsilon, delta)
        assert (
            max(shown) > delta / 2 / 1.2 or epsilon > 100
        )  # noise of less than a step hides nothing and needs no more


def test_where_no_gaussian_noise_is_worth_epsilon_it_is_laplaces() -> None:
    assert not PURE.is_gaussian
    assert PURE.noise_scale() == pytest.approx(1 / PURE.epsilon, rel=1e-6)
    quantile = math.log(MOST_VOTED / (2 * PURE.delta)) / PURE.epsilon
    assert PURE.threshold() == pytest.approx(quantile, rel=1e-3)
    PURE.check_noise(10**6)
    # neither how many groups are found nor a limit far too large counts but a minimum does
    assert USUAL.threshold(10**6) == USUAL.threshold()
    assert USUAL.noise_scale(10**6) == USUAL.noise_scale()
    assert USUAL.threshold() < 1.06 * replace(USUAL, most_voted=100).threshold()
    assert replace(USUAL, minimum=500).threshold() == 500
    assert replace(USUAL, minimum=5).threshold() == USUAL.threshold()
    # groups at and above the threshold are shown in order of vote threshold
    made = VoteThreshold(900.0, 0.5, minimum=3)
    rows = [(10 * group + person, group) for group, count in enumerate([5, 1, 0, 9, 2]) for person in range(count)]
    assert made.release(coded(rows), 0, SimulatedEntropy(seed=1)).tolist() == [0, 3]


def test_what_makes_no_threshold_is_refused_of_vote_threshold() -> None:
    usual = {"epsilon": 1.0, "delta": 1e-6}
    refuses(VoteThreshold, usual, epsilon=[0.0], delta=[0.0, 1.0], minimum=[0], most_voted=[0])
    # tuples of two owners are refused before noise is drawn
    people, nobody = np.arange(3), np.zeros(3, bool)
    owners = OwnerColumn("person", people, nobody), OwnerColumn("doctor", people, nobody)
    shared = encode(JoinTuples(owners, people, 3, np.full((1, 3), ONE)))
    with pytest.raises(InvalidParameter, match="one owner"):
        USUAL.release(shared, 0, SimulatedEntropy(seed=1))
    with pytest.raises(InvalidParameter, match="no release has this index"):
        USUAL.release(coded([(1, 0)]), 1, SimulatedEntropy(seed=1))
