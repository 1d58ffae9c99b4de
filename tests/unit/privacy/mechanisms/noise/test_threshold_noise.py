from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacy.entropy import MAX_SCALE
from privacy.errors import InvalidParameter
from privacy.ladder import Ladder
from privacy.mechanisms.noise.threshold_noise import ThresholdNoise, rungs
from privacy.units import ONE


@given(
    st.integers(0, 62).flatmap(lambda bits: st.integers(1 << bits, min((2 << bits) - 1, 1 << 62))),
    st.sampled_from([0.0, 0.01, 0.3, 1.0]),
    st.integers(0, 1 << 62),
    st.fractions(0, 1),
)
def test_no_unit_moves_a_floored_value_by_more_than_the_sensitivity(
    tau_units: int, gap: float, value: int, part: Fraction
) -> None:
    rung = ThresholdNoise(tau_units, gap, Fraction(1))
    moved = value + math.floor((1 + Fraction(gap)) * rung.tau_units * part)
    assert 0 <= moved // rung.step - value // rung.step <= rung.sensitivity


def test_the_step_is_one_unit_below_and_a_part_of_tau_above() -> None:
    assert [ThresholdNoise(1 << bits, 0.0, Fraction(1)).step for bits in (0, 10, 20, 21, 62)] == [1, 1, 1, 2, 1 << 42]


def test_a_threshold_between_two_steps_is_charged_for_both() -> None:
    """Of a sample too: what a unit adds is cut in the middle of a step."""
    rung = ThresholdNoise((1 << 40) + 1, 0.0, Fraction(1))
    assert (rung.step, rung.sensitivity) == (1 << 20, (1 << 20) + 1)
    assert rung.loss.step > ThresholdNoise(1 << 40, 0.0, Fraction(1)).loss.step == 0


def test_a_gap_rounds_the_sensitivity_up() -> None:
    assert ThresholdNoise(1 << 10, 0.01, Fraction(1)).sensitivity == 1035
    assert ThresholdNoise(1 << 40, 0.0, Fraction(1)).sensitivity == 1 << 20


@pytest.mark.parametrize("epsilon", [Fraction(1, 3), Fraction(1, 10), Fraction(7, 10**6)])
def test_the_scale_pays_for_the_sensitivity(epsilon: Fraction) -> None:
    for rung in rungs(Ladder(), 0.01, epsilon):
        assert Fraction(rung.scale) * epsilon >= rung.sensitivity
        assert rung.scale <= MAX_SCALE
        assert rung.noise_scale == pytest.approx(1.01 * rung.tau / float(epsilon), rel=1e-2)


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(20), Fraction(500)])
@pytest.mark.parametrize("tail", [0.4, 0.025, 1e-6])
def test_the_quantile_is_the_smallest(epsilon: Fraction, tail: float) -> None:
    rung = ThresholdNoise(1 << 10, 0.0, epsilon)
    a = math.exp(-1 / rung.scale)
    quantile = rung.upper_quantile(tail)
    assert a ** (quantile + 1) / (1 + a) <= tail
    assert quantile == 0 or a**quantile / (1 + a) > tail


def test_the_interval_leaves_room_for_the_floor_and_the_solver() -> None:
    rung = ThresholdNoise(ONE, 0.01, Fraction(1))
    below, above = rung.interval(0.95)
    assert below == pytest.approx(1.01 * math.log(20), rel=1e-3)
    assert above - below == pytest.approx(0.01 + rung.step_weight)


@pytest.mark.parametrize(
    ("tau_units", "gap", "epsilon"),
    [(0, 0.0, 1), (8, -0.1, 1), (8, 1.1, 1), (8, math.nan, 1), (8, 0.0, 0)],
)
def test_refuses_what_it_has_no_proof_for(tau_units: int, gap: float, epsilon: int) -> None:
    with pytest.raises(InvalidParameter):
        ThresholdNoise(tau_units, gap, Fraction(epsilon))
