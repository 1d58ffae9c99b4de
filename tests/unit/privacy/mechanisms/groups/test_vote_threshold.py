"""Votes of units, the public numbers of the selection that counts them, and what it refuses."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from privacy.accounting.approximate import approximate
from privacy.accounting.event import ZCDP, ApproxDP
from privacy.errors import InvalidParameter
from privacy.join_tuples import CodedJoinTuples, JoinTuples, OwnerColumn
from privacy.mechanisms.groups.vote_threshold import MOST_VOTED, VoteThreshold
from privacy.truncation.encode import encode
from privacy.units import ONE
from tests.support.simulated_entropy import SimulatedEntropy

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


@pytest.mark.parametrize("made", [USUAL, PURE])
def test_votes_in_any_number_of_groups_are_no_longer_than_one(made: VoteThreshold) -> None:
    for k in (1, 2, 3, 7, 40, MOST_VOTED):
        votes = made.votes(coded([(5, group) for group in range(k)]), 0)
        length = math.isqrt(int((votes**2).sum())) if made.is_gaussian else int(votes.sum())
        assert (votes == votes[0]).all()
        assert STEPS * 0.99 < length <= STEPS


def test_a_unit_in_too_many_groups_votes_where_it_weighs_most() -> None:
    rows = [(1, group) for group in range(6)]
    votes = replace(USUAL, most_voted=4).votes(coded(rows, [1, 9, 1, 8, 7, 1]), 0)
    assert votes.tolist() == [STEPS // 2, STEPS // 2, 0, STEPS // 2, STEPS // 2, 0]


def test_tuples_that_a_sample_left_out_do_not_vote() -> None:
    assert USUAL.votes(coded([(1, 0), (1, 1), (2, 1)], [0, 1, 1]), 0).tolist() == [0, 2 * STEPS]
    assert USUAL.votes(coded([(1, 0), (2, 1)], [0, 0]), 0).tolist() == [0, 0]


def test_nobody_is_no_failure() -> None:
    assert USUAL.votes(coded([]), 0).tolist() == [0]
    assert USUAL.release(coded([]), 0, SimulatedEntropy(seed=1)).tolist() == []


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-9), (0.5, 1e-7), (1.0, 1e-6), (4.0, 1e-12)])
def test_the_gaussian_noise_costs_epsilon_at_half_of_delta(epsilon: float, delta: float) -> None:
    made = VoteThreshold(epsilon, delta)
    assert made.is_gaussian
    rho = 2 / (2 * made.noise_scale() ** 2)  # two vectors of votes are sqrt(2) apart at most
    assert 0.99 * epsilon < approximate(ZCDP(rho), delta / 2).epsilon <= epsilon
    assert made.event == ApproxDP(epsilon, delta)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-9), (0.5, 1e-7), (4.0, 1e-12), (900.0, 0.5)])
def test_one_unit_alone_is_shown_as_rarely_as_delta_allows(epsilon: float, delta: float) -> None:
    made = VoteThreshold(epsilon, delta)
    k = np.arange(1, MOST_VOTED + 1)
    shown = k * stats.norm.sf((made.threshold() - 1 / np.sqrt(k)) / made.noise_scale())
    assert max(shown) <= delta / 4
    assert max(shown) > delta / 4 / 1.2 or epsilon > 100  # noise of less than a step hides nothing and needs no more


def test_where_no_gaussian_noise_is_worth_epsilon_it_is_laplaces() -> None:
    assert not PURE.is_gaussian
    assert PURE.noise_scale() == pytest.approx(2 / PURE.epsilon, rel=1e-6)
    quantile = 2 / PURE.epsilon * math.log(MOST_VOTED / PURE.delta)
    assert PURE.threshold() == pytest.approx(quantile, rel=1e-3)
    PURE.check_noise(10**6)


def test_the_numbers_do_not_depend_on_how_many_groups_are_found() -> None:
    assert USUAL.threshold(10**6) == USUAL.threshold()
    assert USUAL.noise_scale(10**6) == USUAL.noise_scale()


def test_a_limit_that_is_far_too_large_costs_a_few_percent() -> None:
    assert USUAL.threshold() < 1.06 * replace(USUAL, most_voted=100).threshold()


def test_a_minimum_raises_the_threshold() -> None:
    assert replace(USUAL, minimum=500).threshold() == 500
    assert replace(USUAL, minimum=5).threshold() == USUAL.threshold()


def test_groups_at_and_above_the_threshold_are_shown_in_order() -> None:
    made = VoteThreshold(900.0, 0.5, minimum=3)
    rows = [(10 * group + person, group) for group, count in enumerate([5, 1, 0, 9, 2]) for person in range(count)]
    assert made.release(coded(rows), 0, SimulatedEntropy(seed=1)).tolist() == [0, 3]


@pytest.mark.parametrize(
    "settings",
    [
        {"epsilon": 0.0, "delta": 1e-6},
        {"epsilon": 1.0, "delta": 0.0},
        {"epsilon": 1.0, "delta": 1.0},
        {"epsilon": 1.0, "delta": 1e-6, "minimum": 0},
        {"epsilon": 1.0, "delta": 1e-6, "most_voted": 0},
    ],
)
def test_what_makes_no_threshold_is_refused(settings: dict[str, float]) -> None:
    with pytest.raises(InvalidParameter):
        VoteThreshold(**settings)  # type: ignore[arg-type]


def test_tuples_of_two_owners_are_refused_before_noise_is_drawn() -> None:
    people, nobody = np.arange(3), np.zeros(3, bool)
    owners = OwnerColumn("person", people, nobody), OwnerColumn("doctor", people, nobody)
    shared = encode(JoinTuples(owners, people, 3, np.full((1, 3), ONE)))
    with pytest.raises(InvalidParameter, match="one owner"):
        USUAL.release(shared, 0, SimulatedEntropy(seed=1))
    with pytest.raises(InvalidParameter, match="no such release"):
        USUAL.release(coded([(1, 0)]), 1, SimulatedEntropy(seed=1))
