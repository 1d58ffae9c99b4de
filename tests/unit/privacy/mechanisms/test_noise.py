"""Noise in steps: of integers, of thresholds, and what is released with it."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacy.entropy import MAX_DRAW, MAX_SCALE
from privacy.errors import EntropyFailed
from privacy.mechanisms.noise import IntegerNoise, ThresholdNoise, levels
from privacy.mechanisms.release import release_noise, released
from privacy.thresholds import Thresholds
from privacy.units import MAX_UNITS, ONE
from tests.support.papers.summed_noise import SummedNoise
from tests.support.replay_entropy import ConstantEntropy, RecordedEntropy, ReplayEntropy
from tests.support.simulated_entropy import SimulatedEntropy
from tests.unit.privacy.answers import FloatEntropy, ShortEntropy
from tests.unit.privacy.refusals import refuses_calls


def test_the_noise_hides_the_sensitivity_at_any_offset() -> None:
    for sensitivity in [1, 7, ONE, 3 * ONE, 1000 * ONE + 1, MAX_UNITS]:
        noise = IntegerNoise(sensitivity, Fraction(1, 3))
        for start in (0, 1, noise.step - 1, 12345):
            moved = (start + sensitivity) // noise.step - start // noise.step
            assert moved <= noise.scale * Fraction(1, 3) * (1 + 2**-40), sensitivity
        assert noise.step_weight * noise.scale >= sensitivity / ONE * 3
        assert noise.noise_scale <= sensitivity / ONE * 3 * (1 + 2.0**-18)


def test_powers_of_two_have_the_noise_of_a_rung() -> None:
    level = ThresholdNoise(32 * ONE, 0.0, Fraction(1, 2))
    noise = IntegerNoise(32 * ONE, Fraction(1, 2))
    assert (noise.step, noise.scale) == (level.step, level.scale)
    assert noise.upper_quantile(0.025) == level.upper_quantile(0.025)


def test_released_integers_are_floors_and_noise() -> None:
    noise = SummedNoise(4 * ONE, Fraction(1))
    values = np.array([[0, ONE], [5 * ONE + 1, MAX_UNITS]])
    noisy = noise.released(values, ConstantEntropy(laplace=3))
    assert noisy.tolist() == (values // noise.step + 3).tolist()
    assert noise.weight(noisy).tolist() == ((values // noise.step + 3) * noise.step_weight).tolist()


def test_a_sum_exceeds_its_quantile_no_oftener_than_said() -> None:
    """At most 40 of 4000 expected; 80 have chance below 1e-7. And a third of the bound is exceeded often."""
    for times, epsilon in [(2, 0.01), (10, 0.5), (1000, 0.5), (10, 40.0)]:
        noise = SummedNoise(1, Fraction(epsilon))
        reach = noise.quantile(0.01, times)
        sums = SimulatedEntropy(3).laplace(noise.scale, 4000 * times).reshape(4000, times).sum(axis=1)
        assert (sums > reach).sum() < 80, (times, epsilon)
        if epsilon < 1:
            assert (sums > reach / 3).sum() > 80, (times, epsilon)


def test_refuses_what_is_out_of_range_and_what_is_not_noise() -> None:
    refuses_calls(IntegerNoise, (0, Fraction(1)), (MAX_UNITS + 1, Fraction(1)), (1, Fraction(0)))
    noise = SummedNoise(1, Fraction(1, 10**9))
    refuses_calls(noise.quantile, (0.0, 1), (0.6, 1), (0.1, 0))
    refuses_calls(noise.check_sum, (10**9,))
    with pytest.raises(EntropyFailed):
        IntegerNoise(1, Fraction(1)).released(np.zeros(3, np.int64), ShortEntropy())


@given(
    st.integers(0, 62).flatmap(lambda bits: st.integers(1 << bits, min((2 << bits) - 1, 1 << 62))),
    st.sampled_from([0.0, 0.01, 0.3, 1.0]),
    st.integers(0, 1 << 62),
    st.fractions(0, 1),
)
def test_no_unit_moves_a_floored_value_by_more_than_the_sensitivity(
    tau_units: int, gap: float, value: int, part: Fraction
) -> None:
    level = ThresholdNoise(tau_units, gap, Fraction(1))
    moved = value + math.floor((1 + Fraction(gap)) * level.tau_units * part)
    assert 0 <= moved // level.step - value // level.step <= level.sensitivity


def test_the_step_is_one_unit_below_and_a_part_of_tau_above() -> None:
    assert ThresholdNoise(1 << 10, 0.01, Fraction(1)).sensitivity == 1035  # rounded up
    assert ThresholdNoise(1 << 40, 0.0, Fraction(1)).sensitivity == 1 << 20
    assert [ThresholdNoise(1 << bits, 0.0, Fraction(1)).step for bits in (0, 10, 20, 21, 62)] == [1, 1, 1, 2, 1 << 42]


def test_a_threshold_between_two_steps_is_charged_for_both() -> None:
    """Of a sample too: what a unit adds is cut in the middle of a step."""
    level = ThresholdNoise((1 << 40) + 1, 0.0, Fraction(1))
    assert (level.step, level.sensitivity) == (1 << 20, (1 << 20) + 1)
    assert level.loss.step > ThresholdNoise(1 << 40, 0.0, Fraction(1)).loss.step == 0
    wider, whole = (ThresholdNoise(1 << 40, 0.0, Fraction(1), whole_steps=step) for step in (2 * ONE, ONE))
    assert wider.loss.step > whole.loss.step == 0


def test_the_scale_pays_for_the_sensitivity() -> None:
    for epsilon in [Fraction(1, 3), Fraction(1, 10), Fraction(7, 10**6)]:
        for level in levels(Thresholds(), 0.01, epsilon):
            assert Fraction(level.scale) * epsilon >= level.sensitivity
            assert level.scale <= MAX_SCALE, epsilon
            assert level.noise_scale == pytest.approx(1.01 * level.tau / float(epsilon), rel=1e-2)


def test_the_quantile_is_the_smallest() -> None:
    for epsilon in [Fraction(1, 2), Fraction(20), Fraction(500)]:
        for tail in [0.4, 0.025, 1e-6]:
            level = ThresholdNoise(1 << 10, 0.0, epsilon)
            a = math.exp(-1 / level.scale)
            quantile = level.upper_quantile(tail)
            assert a ** (quantile + 1) / (1 + a) <= tail, (epsilon, tail)
            assert quantile == 0 or a**quantile / (1 + a) > tail, (epsilon, tail)


def test_the_interval_leaves_room_for_the_floor_and_the_solver() -> None:
    level = ThresholdNoise(ONE, 0.01, Fraction(1))
    below, above = level.interval(0.95)
    assert below == pytest.approx(1.01 * math.log(20), rel=1e-3)
    assert above - below == pytest.approx(0.01 + level.step_weight)
    # refuses what it has no proof for
    one = Fraction(1)
    refuses_calls(ThresholdNoise, (0, 0.0, one), (8, -0.1, one), (8, 1.1, one), (8, math.nan, one), (8, 0.0, 0 * one))


THRESHOLDS = Thresholds(-20, 32)
EVERY = np.arange(len(THRESHOLDS))


@cache
def steps() -> tuple[ThresholdNoise, ...]:
    return tuple(levels(THRESHOLDS, 0.01, Fraction(1, 10**6)))


def test_noise_is_counted_in_steps_and_lands_on_the_grid() -> None:
    values = np.full(len(THRESHOLDS), 5 * ONE + 123, np.int64)
    noisy = released(values, np.full(len(THRESHOLDS), -3), EVERY, steps())
    expected = [(int(v) // level.step - 3) * level.step / ONE for v, level in zip(values, steps(), strict=True)]
    assert noisy.tolist() == expected


def test_the_largest_value_and_the_largest_noise_do_not_overflow() -> None:
    for noise in [MAX_DRAW - 1, 1 - MAX_DRAW]:
        values = np.full(len(THRESHOLDS), MAX_UNITS, np.int64)
        noisy = released(values, np.full(len(THRESHOLDS), noise), EVERY, steps())
        exact = [float((MAX_UNITS // level.step + noise) * level.step) / ONE for level in steps()]
        assert noisy.tolist() == exact, noise


def test_each_release_gets_noise_of_its_own_scale_and_what_is_not_noise_is_refused() -> None:
    recorded = RecordedEntropy(SimulatedEntropy(1))
    index = np.tile(EVERY, 3)
    noise = release_noise(index, steps(), recorded)
    asked = {scale: len(draws) for _, scale, draws in recorded.draws}
    assert asked == {level.scale: 3 * sum(other.scale == level.scale for other in steps()) for level in steps()}
    replayed = release_noise(index, steps(), ReplayEntropy(recorded.draws))
    assert replayed.tolist() == noise.tolist()
    for entropy in (ShortEntropy(), FloatEntropy()):
        with pytest.raises(EntropyFailed):
            release_noise(np.array([30, 30, 30]), steps(), entropy)
