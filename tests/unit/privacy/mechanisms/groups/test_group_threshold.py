"""The public numbers of the selection of groups, and what it refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privacy.accounting.event import ApproxDP, PureDP
from privacy.errors import InvalidParameter
from privacy.ladder import Ladder
from privacy.mechanisms.groups.group_threshold import GroupThreshold
from privacy.truncation.tabulated_answer import TabulatedAnswer
from privacy.units import ONE
from tests.support.simulated_entropy import SimulatedEntropy


@pytest.mark.parametrize(("epsilon", "delta", "groups"), [(1.0, 1e-6, 1), (0.1, 1e-9, 3), (4.0, 1e-12, 40)])
def test_the_threshold_is_one_and_the_quantile_of_the_noise(epsilon: float, delta: float, groups: int) -> None:
    """P(Lap > t) = exp(-t eps / L0) / 2 = delta / L0."""
    made = GroupThreshold(epsilon, delta, groups_per_unit=groups)
    quantile = groups / epsilon * math.log(groups / (2 * delta))
    assert made.threshold() == pytest.approx(1 + quantile, rel=1e-3)
    assert made.threshold(10**6) == made.threshold()  # under discovery the number of groups is private
    assert made.event == ApproxDP(epsilon, delta)


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
    answer = TabulatedAnswer(counts[:, None], Ladder(0, 0))
    shown = made.release(answer, SimulatedEntropy(seed=1)).tolist()
    assert set(shown) - {2} == {0, 4}  # noise of a millionth decides about the third
    assert shown == sorted(shown)


def test_no_groups_are_no_failure() -> None:
    made = GroupThreshold(1.0, 1e-6, groups_per_unit=1)
    answer = TabulatedAnswer(np.zeros((0, 1), np.int64), Ladder(0, 0))
    assert made.release(answer, SimulatedEntropy(seed=1)).tolist() == []


@pytest.mark.parametrize(
    "settings",
    [
        {"epsilon": 0.0, "minimum": 1},
        {"epsilon": 1.0},
        {"epsilon": 1.0, "minimum": 0},
        {"epsilon": 1.0, "delta": 1.0, "groups_per_unit": 1},
        {"epsilon": 1.0, "delta": 1e-6},
        {"epsilon": 1.0, "minimum": 3, "groups_per_unit": 0},
        {"epsilon": 1.0, "minimum": 3, "gap": 2.0},
    ],
)
def test_what_makes_no_threshold_is_refused(settings: dict[str, float]) -> None:
    with pytest.raises(InvalidParameter):
        GroupThreshold(**settings)  # type: ignore[arg-type]


def test_an_answer_on_another_ladder_is_refused_before_noise_is_drawn() -> None:
    answer = TabulatedAnswer(np.zeros((1, 2), np.int64), Ladder(0, 1))
    with pytest.raises(InvalidParameter):
        GroupThreshold(1.0, minimum=3).release(answer, SimulatedEntropy(seed=1))
