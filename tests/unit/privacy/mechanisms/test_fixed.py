from __future__ import annotations

import math

import numpy as np
import pytest

from privacy.accounting.event import PureDP
from privacy.errors import InvalidParameter
from privacy.ladder import Ladder
from privacy.mechanisms.fixed import Fixed
from privacy.truncation.tabulated_answer import TabulatedAnswer
from privacy.units import ONE
from tests.support.replay_entropy import ConstantEntropy, RecordedEntropy
from tests.support.revealing_answer import RevealingAnswer
from tests.support.simulated_entropy import SimulatedEntropy


def answer(fixed: Fixed, values: list[int]) -> TabulatedAnswer:
    return TabulatedAnswer(np.array(values, np.int64)[:, None] * ONE, fixed.ladder, fixed.gap)


def test_without_noise_it_is_the_value_and_nothing_is_drawn_for_a_choice() -> None:
    fixed = Fixed(1.0)
    recorded = RecordedEntropy(ConstantEntropy())
    released = fixed.release(answer(fixed, [25, 0]), recorded)
    assert released.values.tolist() == [25.0, 0.0]
    assert released.tau.tolist() == [1.0, 1.0]
    assert [kind for kind, _, _ in recorded.draws] == ["laplace"]
    assert (released.mechanism, released.covers, released.epsilon) == ("fixed", "truncated_full", 1.0)
    assert fixed.event == PureDP(1.0)


@pytest.mark.parametrize(("groups_per_unit", "share"), [(1, 1), (3, 3), (None, 8), (50, 8)])
def test_groups_share_the_budget(groups_per_unit: int | None, share: int) -> None:
    fixed = Fixed(0.5, groups_per_unit)
    released = fixed.release(answer(fixed, [7] * 8), SimulatedEntropy(5))
    assert released.noise_scale == pytest.approx(np.full(8, share / 0.5), rel=1e-6)


def test_noise_grows_with_the_threshold_and_the_gap() -> None:
    for exponent, gap in ((0, 0.0), (3, 0.0), (0, 0.01), (-4, 0.01)):
        fixed = Fixed(2.0, gap=gap, ladder=Ladder(exponent, exponent))
        scale = fixed.release(answer(fixed, [7]), SimulatedEntropy(5)).noise_scale[0]
        assert scale == pytest.approx((1 + gap) * 2.0**exponent / 2.0, rel=1e-4)
        assert scale >= (1 + gap) * 2.0**exponent / 2.0


def test_the_interval_covers_as_often_as_it_says() -> None:
    """20,000 runs: 5.4 standard deviations either way, so a false alarm has chance below 1e-6 (and a seed)."""
    fixed = Fixed(1.0, groups_per_unit=1, confidence=0.9)
    released = fixed.release(answer(fixed, [123] * 20_000), SimulatedEntropy(6))
    covered = ((released.low <= 123) & (released.high >= 123)).mean()
    assert abs(covered - 0.9) < 5.4 * math.sqrt(0.09 / 20_000)


def test_expected_noise_is_the_half_width_of_the_interval() -> None:
    fixed = Fixed(0.7, groups_per_unit=2, gap=0.01)
    released = fixed.release(answer(fixed, [1, 2, 3]), SimulatedEntropy(7))
    ((tau, half_width),) = fixed.expected_noise(n_groups=3)
    assert tau == 1.0
    assert (released.high - released.low) / 2 == pytest.approx(half_width)


def test_what_the_bounds_leave_open_is_solved_once() -> None:
    fixed = Fixed(1.0)
    values = np.array([[5], [6]]) * ONE
    hidden = RevealingAnswer(values, fixed.ladder, np.zeros_like(values), values + ONE)
    assert fixed.release(hidden, ConstantEntropy()).values.tolist() == [5.0, 6.0]
    assert sorted(hidden.solved) == [(0, 0), (1, 0)]


def test_fixed_releases_nothing_for_no_groups() -> None:
    fixed = Fixed(1.0)
    assert fixed.release(answer(fixed, []), SimulatedEntropy(8)).values.shape == (0,)


def test_refuses_an_answer_for_other_parameters_before_drawing() -> None:
    fixed = Fixed(1.0)
    recorded = RecordedEntropy(ConstantEntropy())
    for wrong in (
        TabulatedAnswer(np.zeros((1, 1), np.int64), Ladder(1, 1)),
        TabulatedAnswer(np.zeros((1, 1), np.int64), fixed.ladder, gap=0.01),
    ):
        with pytest.raises(InvalidParameter):
            fixed.release(wrong, recorded)
    assert recorded.draws == []


@pytest.mark.parametrize(
    "parameters",
    [
        {"epsilon": 0.0},
        {"epsilon": math.nan},
        {"groups_per_unit": 0},
        {"gap": -0.1},
        {"gap": 2.0},
        {"ladder": Ladder()},
        {"confidence": 1.0},
    ],
)
def test_refuses_parameters_out_of_range(parameters: dict[str, float]) -> None:
    with pytest.raises(InvalidParameter):
        Fixed(**({"epsilon": 1.0} | parameters))  # type: ignore[arg-type]
