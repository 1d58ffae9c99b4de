"""The release is exact on its grid: neighbours differ by no more than the sensitivity in steps."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from privacy.mechanisms.noise import levels
from privacy.mechanisms.release import released
from privacy.thresholds import Thresholds
from privacy.units import MAX_UNITS, ONE

THRESHOLDS = Thresholds(-20, 32)


@given(
    st.integers(0, len(THRESHOLDS) - 1),
    st.integers(0, MAX_UNITS),
    st.fractions(0, 1),
    st.sampled_from([0.0, 0.01]),
    st.integers(-(1 << 50), 1 << 50),
)
def test_a_shift_of_the_noise_turns_one_neighbour_into_the_other(
    index: int, value: int, part: Fraction, gap: float, noise: int
) -> None:
    steps = levels(THRESHOLDS, gap, Fraction(1))
    level = steps[index]
    neighbour = min(MAX_UNITS, value + int((1 + Fraction(gap)) * level.tau_units * part))
    shift = neighbour // level.step - value // level.step
    assert 0 <= shift <= level.sensitivity
    where = np.array([index, index])
    first, second = released(np.array([value, neighbour]), np.array([noise + shift, noise]), where, steps)
    assert first == second == float((neighbour // level.step + noise) * level.step) / ONE
