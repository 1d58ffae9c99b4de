from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from privacy.accounting.event import ApproxDP
from privacy.errors import InvalidParameter
from privacy.ladder import Ladder
from privacy.mechanisms.budget import ConcentratedBudget, PureBudget
from privacy.mechanisms.groups.group_lp import group_lps
from privacy.mechanisms.groups.laplace_or_gaussian import LaplaceOrGaussian
from privacy.mechanisms.groups.shared_threshold import SharedThreshold
from privacy.mechanisms.groups.sums import Sum
from privacy.truncation.tabulated_answer import TabulatedAnswer
from privacy.units import ONE
from tests.support.simulated_entropy import SimulatedEntropy

LADDER = Ladder(0, 0)
BUDGET = ConcentratedBudget.of(4.0, 1e-7)
PURE, GAUSSIAN = SharedThreshold(PureBudget(4.0), ladder=LADDER), SharedThreshold(BUDGET, ladder=LADDER)
LONG, CONCENTRATED_MEAN = Ladder(0, 9), BUDGET.mean_noise


def either(groups: int | None = None) -> LaplaceOrGaussian:
    return LaplaceOrGaussian(
        SharedThreshold(PureBudget(4.0), groups, ladder=LADDER), SharedThreshold(BUDGET, groups, ladder=LADDER)
    )


@pytest.mark.parametrize(("groups", "noise"), [(1, "laplace"), (15, "laplace"), (16, "gaussian"), (100, "gaussian")])
def test_takes_the_smaller_noise_of_as_many_groups(groups: int, noise: str) -> None:
    answer = TabulatedAnswer(np.full((groups, 1), ONE), LADDER)
    assert either().release(answer, SimulatedEntropy(1)).noise == noise
    assert either().expected_noise(groups) == either().chosen(groups).expected_noise(groups)


def test_the_choice_is_by_the_groups_of_a_unit_and_not_by_how_many_there_are() -> None:
    assert either(2).chosen(1000) == either(2).pure
    assert either(50).chosen(1000) == either(50).concentrated


def test_a_threshold_that_is_known_decides_nothing() -> None:
    """Sums that share one budget may have different ladders, and have to choose alike: the proof of their charge."""
    several = replace(either(), pure=replace(either().pure, ladder=LONG), concentrated=replace(GAUSSIAN, ladder=LONG))
    for groups in range(1, 60):
        assert either().chosen(groups).budget == several.chosen(groups).budget
    own = GAUSSIAN.noise_per_tau(16), PURE.noise_per_tau(16)
    assert own[0] * CONCENTRATED_MEAN > own[1], "by its own noise alone the single threshold would choose otherwise"


@pytest.mark.parametrize("groups", [1, 2, 5, 20, 200])
def test_sums_with_unequal_shares_of_epsilon_have_noise_of_one_kind(groups: int) -> None:
    """The moments of a slope: of epsilon squares have five times what a count has, of rho as much."""
    sums = [Sum(share, 0.0, LADDER) for share in (0.0625, 0.0625, 0.3125, 0.15625)]
    made = [one.scalar for one in group_lps(sums, 1e-6, None, None)]
    chosen = [one.chosen(groups).budget for one in made if isinstance(one, LaplaceOrGaussian)]
    assert len(chosen) == len(sums) and len({type(budget) for budget in chosen}) == 1
    answer = TabulatedAnswer(np.full((groups, 1), ONE), LADDER)
    assert len({one.release(answer, SimulatedEntropy(1)).noise for one in made}) == 1


def test_by_their_own_shares_alone_they_would_not() -> None:
    sums = [Sum(share, 0.0, LADDER) for share in (0.0625, 0.3125)]
    made = [one.scalar for one in group_lps(sums, 1e-6, None, None)]
    alone = [replace(one, typical=None) for one in made if isinstance(one, LaplaceOrGaussian)]
    assert any(len({type(one.chosen(groups).budget) for one in alone}) == 2 for groups in range(1, 200))


def test_noise_is_checked_up_to_where_laplace_noise_is_chosen() -> None:
    """Which, where an average decides, may be more than the Gaussian one for fewer groups of a unit."""
    small = replace(either(), pure=replace(PURE, budget=PureBudget(1e-15)), typical=PureBudget(4.0))
    with pytest.raises(InvalidParameter):
        small.check_noise(100)


def test_is_charged_for_either() -> None:
    assert either().event == ApproxDP(max(4.0, BUDGET.epsilon), 1e-7)
    assert either().epsilon_if_bound_fails(7) == either().epsilon


def test_refuses_two_of_one_kind_or_of_other_queries() -> None:
    pure, concentrated = SharedThreshold(PureBudget(4.0)), SharedThreshold(BUDGET)
    for pair in (
        (pure, pure),
        (concentrated, pure),
        (pure, SharedThreshold(BUDGET, 3)),
        (pure, either().concentrated),
    ):
        with pytest.raises(InvalidParameter):
            LaplaceOrGaussian(*pair)
