from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from privacy.entropy import MAX_DRAW
from privacy.errors import EntropyFailed
from privacy.ladder import Ladder
from privacy.mechanisms.noise.release import release_noise, released
from privacy.mechanisms.noise.threshold_noise import rungs
from privacy.units import MAX_UNITS, ONE
from tests.support.replay_entropy import ConstantEntropy, RecordedEntropy, ReplayEntropy
from tests.support.simulated_entropy import SimulatedEntropy

LADDER = Ladder(-20, 32)
STEPS = rungs(LADDER, 0.01, Fraction(1, 10**6))
EVERY = np.arange(len(LADDER))


def test_noise_is_counted_in_steps_and_lands_on_the_grid() -> None:
    values = np.full(len(LADDER), 5 * ONE + 123, np.int64)
    noisy = released(values, np.full(len(LADDER), -3), EVERY, STEPS)
    expected = [(int(v) // rung.step - 3) * rung.step / ONE for v, rung in zip(values, STEPS, strict=True)]
    assert noisy.tolist() == expected


@pytest.mark.parametrize("noise", [MAX_DRAW - 1, 1 - MAX_DRAW])
def test_the_largest_value_and_the_largest_noise_do_not_overflow(noise: int) -> None:
    values = np.full(len(LADDER), MAX_UNITS, np.int64)
    noisy = released(values, np.full(len(LADDER), noise), EVERY, STEPS)
    exact = [float((MAX_UNITS // rung.step + noise) * rung.step) / ONE for rung in STEPS]
    assert noisy.tolist() == exact


def test_each_release_gets_noise_of_its_own_scale() -> None:
    recorded = RecordedEntropy(SimulatedEntropy(1))
    index = np.tile(EVERY, 3)
    noise = release_noise(index, STEPS, recorded)
    asked = {scale: len(draws) for _, scale, draws in recorded.draws}
    assert asked == {rung.scale: 3 * sum(other.scale == rung.scale for other in STEPS) for rung in STEPS}
    replayed = release_noise(index, STEPS, ReplayEntropy(recorded.draws))
    assert replayed.tolist() == noise.tolist()


class ShortEntropy(ConstantEntropy):
    def laplace(self, scale: float, size: int) -> NDArray[np.int64]:
        return super().laplace(scale, 1)


class FloatEntropy(ConstantEntropy):
    def laplace(self, scale: float, size: int) -> NDArray[np.int64]:
        return np.zeros(size)  # type: ignore[return-value]


@pytest.mark.parametrize("entropy", [ShortEntropy(), FloatEntropy()])
def test_what_is_not_noise_is_refused(entropy: ConstantEntropy) -> None:
    with pytest.raises(EntropyFailed):
        release_noise(np.array([30, 30, 30]), STEPS, entropy)
