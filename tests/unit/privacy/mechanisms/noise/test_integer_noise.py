from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from privacy.errors import EntropyFailed, InvalidParameter
from privacy.mechanisms.noise.integer_noise import IntegerNoise
from privacy.mechanisms.noise.threshold_noise import ThresholdNoise
from privacy.units import MAX_UNITS, ONE
from tests.support.replay_entropy import ConstantEntropy
from tests.support.simulated_entropy import SimulatedEntropy


@pytest.mark.parametrize("sensitivity", [1, 7, ONE, 3 * ONE, 1000 * ONE + 1, MAX_UNITS])
def test_the_noise_hides_the_sensitivity_at_any_offset(sensitivity: int) -> None:
    noise = IntegerNoise(sensitivity, Fraction(1, 3))
    for start in (0, 1, noise.step - 1, 12345):
        moved = (start + sensitivity) // noise.step - start // noise.step
        assert moved <= noise.scale * Fraction(1, 3) * (1 + 2**-40)
    assert noise.step_weight * noise.scale >= sensitivity / ONE * 3
    assert noise.noise_scale <= sensitivity / ONE * 3 * (1 + 2.0**-18)


def test_powers_of_two_have_the_noise_of_a_rung() -> None:
    rung = ThresholdNoise(32 * ONE, 0.0, Fraction(1, 2))
    noise = IntegerNoise(32 * ONE, Fraction(1, 2))
    assert (noise.step, noise.scale) == (rung.step, rung.scale)
    assert noise.quantile(0.025) == rung.upper_quantile(0.025)


def test_released_integers_are_floors_and_noise() -> None:
    noise = IntegerNoise(4 * ONE, Fraction(1))
    values = np.array([[0, ONE], [5 * ONE + 1, MAX_UNITS]])
    noisy = noise.released(values, ConstantEntropy(laplace=3))
    assert noisy.tolist() == (values // noise.step + 3).tolist()
    assert noise.weight(noisy).tolist() == ((values // noise.step + 3) * noise.step_weight).tolist()


@pytest.mark.parametrize(("times", "epsilon"), [(2, 0.01), (10, 0.5), (1000, 0.5), (10, 40.0)])
def test_a_sum_exceeds_its_quantile_no_oftener_than_said(times: int, epsilon: float) -> None:
    """At most 40 of 4000 expected; 80 have chance below 1e-7. And a third of the bound is exceeded often."""
    noise = IntegerNoise(1, Fraction(epsilon))
    reach = noise.quantile(0.01, times)
    sums = SimulatedEntropy(3).laplace(noise.scale, 4000 * times).reshape(4000, times).sum(axis=1)
    assert (sums > reach).sum() < 80
    if epsilon < 1:
        assert (sums > reach / 3).sum() > 80


def test_refuses_what_is_out_of_range() -> None:
    for sensitivity, epsilon in [(0, Fraction(1)), (MAX_UNITS + 1, Fraction(1)), (1, Fraction(0))]:
        with pytest.raises(InvalidParameter):
            IntegerNoise(sensitivity, epsilon)
    noise = IntegerNoise(1, Fraction(1, 10**9))
    for tail, times in [(0.0, 1), (0.6, 1), (0.1, 0)]:
        with pytest.raises(InvalidParameter):
            noise.quantile(tail, times)
    with pytest.raises(InvalidParameter):
        noise.check_sum(10**9)


def test_refuses_what_is_not_noise() -> None:
    class Short(ConstantEntropy):
        def laplace(self, scale: float, size: int) -> np.ndarray:
            return np.zeros(size - 1, np.int64)

    with pytest.raises(EntropyFailed):
        IntegerNoise(1, Fraction(1)).released(np.zeros(3, np.int64), Short())
