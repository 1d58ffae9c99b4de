from __future__ import annotations

import math

import numpy as np
import pytest

from privacy.accounting.event import PureDP
from privacy.errors import InvalidParameter
from privacy.ladder import Ladder
from privacy.published.laplace_global import LaplaceGlobal
from privacy.truncation.tabulated_answer import TabulatedAnswer
from privacy.units import ONE
from tests.support.replay_entropy import ConstantEntropy, RecordedEntropy
from tests.support.simulated_entropy import SimulatedEntropy


def answer(mechanism: LaplaceGlobal, values: list[int]) -> TabulatedAnswer:
    return TabulatedAnswer(np.array(values, np.int64)[:, None] * ONE, mechanism.ladder, mechanism.gap)


@pytest.mark.parametrize(("bound", "exponent"), [(1.0, 0), (1.5, 1), (2.0, 1), (1e3, 10), (0.25, -2), (2.0**32, 32)])
def test_the_threshold_cuts_nobody_within_the_bound(bound: float, exponent: int) -> None:
    assert LaplaceGlobal(1.0, bound).ladder == Ladder(exponent, exponent)


@pytest.mark.parametrize(("bound", "gap", "epsilon"), [(1000.0, 0.0, 0.5), (3.0, 0.01, 2.0), (0.7, 0.0, 0.1)])
def test_the_noise_is_that_of_the_bound_and_not_of_the_threshold(bound: float, gap: float, epsilon: float) -> None:
    mechanism = LaplaceGlobal(epsilon, bound, 1, gap)
    scale = mechanism.release(answer(mechanism, [7]), SimulatedEntropy(5)).noise_scale[0]
    true = (bound + gap * mechanism.ladder.taus[0]) / epsilon
    assert true <= scale <= true * (1 + 2.0**-18)


def test_a_broken_promise_costs_less_than_twice() -> None:
    assert LaplaceGlobal(1.0, 1024.0, 1).epsilon_if_bound_fails() == pytest.approx(1.0)
    assert LaplaceGlobal(1.0, 1000.0, 1).epsilon_if_bound_fails() == pytest.approx(1.024, rel=1e-4)
    assert LaplaceGlobal(1.0, 1025.0).epsilon_if_bound_fails(4) == pytest.approx(2.0, rel=1e-2)


@pytest.mark.parametrize(("groups_per_unit", "share"), [(1, 1), (3, 3), (None, 8), (50, 8)])
def test_groups_share_the_budget(groups_per_unit: int | None, share: int) -> None:
    mechanism = LaplaceGlobal(0.5, 1.0, groups_per_unit)
    released = mechanism.release(answer(mechanism, [7] * 8), SimulatedEntropy(5))
    assert released.noise_scale == pytest.approx(np.full(8, share / 0.5), rel=1e-5)


def test_without_noise_it_is_the_value() -> None:
    mechanism = LaplaceGlobal(1.0, 24.0)
    released = mechanism.release(answer(mechanism, [25, 0]), ConstantEntropy())
    assert released.values.tolist() == [25.0, 0.0]
    assert released.tau.tolist() == [24.0, 24.0]
    assert (released.mechanism, released.covers, released.epsilon) == ("laplace_global", "truncated_full", 1.0)
    assert mechanism.event == PureDP(1.0)


def test_the_interval_covers_as_often_as_it_says() -> None:
    """20,000 runs: 5.4 standard deviations either way, so a false alarm has chance below 1e-6 (and a seed)."""
    mechanism = LaplaceGlobal(1.0, 3.0, 1, confidence=0.9)
    released = mechanism.release(answer(mechanism, [123] * 20_000), SimulatedEntropy(6))
    covered = ((released.low <= 123) & (released.high >= 123)).mean()
    assert abs(covered - 0.9) < 5.4 * math.sqrt(0.09 / 20_000)
    ((_, half_width),) = mechanism.expected_noise()
    assert (released.high - released.low) / 2 == pytest.approx(np.full(20_000, half_width))


def test_refuses_an_answer_for_other_parameters_before_drawing() -> None:
    mechanism, recorded = LaplaceGlobal(1.0, 2.0), RecordedEntropy(ConstantEntropy())
    with pytest.raises(InvalidParameter):
        mechanism.release(TabulatedAnswer(np.zeros((1, 1), np.int64), Ladder(2, 2)), recorded)
    assert recorded.draws == []


@pytest.mark.parametrize(
    "parameters",
    [
        {"epsilon": 0.0},
        {"global_sensitivity": 0.0},
        {"global_sensitivity": math.nan},
        {"global_sensitivity": 2.0**33},
        {"groups_per_unit": 0},
        {"gap": -0.1},
        {"confidence": 1.0},
    ],
)
def test_refuses_parameters_out_of_range(parameters: dict[str, float]) -> None:
    with pytest.raises(InvalidParameter):
        LaplaceGlobal(**({"epsilon": 1.0, "global_sensitivity": 1.0} | parameters))  # type: ignore[arg-type]
