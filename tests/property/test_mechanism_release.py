"""The release is exact on its grid: neighbours differ by no more than the sensitivity in steps."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from privacy.ladder import Ladder
from privacy.mechanisms.noise import rungs
from privacy.mechanisms.release import released
from privacy.units import MAX_UNITS, ONE

LADDER = Ladder(-20, 32)


@given(
    st.integers(0, len(LADDER) - 1),
    st.integers(0, MAX_UNITS),
    st.fractions(0, 1),
    st.sampled_from([0.0, 0.01]),
    st.integers(-(1 << 50), 1 << 50),
)
def test_a_shift_of_the_noise_turns_one_neighbour_into_the_other(
    index: int, value: int, part: Fraction, gap: float, noise: int
) -> None:
    steps = rungs(LADDER, gap, Fraction(1))
    rung = steps[index]
    neighbour = min(MAX_UNITS, value + int((1 + Fraction(gap)) * rung.tau_units * part))
    shift = neighbour // rung.step - value // rung.step
    assert 0 <= shift <= rung.sensitivity
    where = np.array([index, index])
    first, second = released(np.array([value, neighbour]), np.array([noise + shift, noise]), where, steps)
    assert first == second == float((neighbour // rung.step + noise) * rung.step) / ONE
