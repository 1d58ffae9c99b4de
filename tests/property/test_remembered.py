"""The rule for remembered thresholds is total and bounded; a release there moves by the threshold at most."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from privacy.ladder import Ladder
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.measurement import Measurement
from privacy.mechanisms.selection.remembered import WINDOW, Told, remembered_rung
from privacy.mechanisms.start_from import Earlier, at_rung, start_from
from privacy.noisy_answer import NoisyAnswer
from privacy.truncation.tabulated_answer import TabulatedAnswer
from tests.support.simulated_entropy import SimulatedEntropy

RUNGS = st.integers(-20, 32)
VALUES = st.floats(-1e15, 1e15)
NOISES = st.floats(1e-9, 1e12)
HISTORIES = st.lists(st.builds(Told, RUNGS, VALUES, NOISES, st.booleans()), max_size=2 * WINDOW)


@given(HISTORIES, st.floats(1e-3, 1e6))
def test_any_answers_name_a_threshold_that_was_used_or_the_next(told: list[Told], price: float) -> None:
    rung = remembered_rung(told, price)
    used = [one.rung for one in told[-WINDOW:]]
    assert rung is None or min(used) <= rung <= max(used) + 1


@given(HISTORIES, st.floats(1e-3, 1e6))
def test_it_is_a_function_of_what_was_told(told: list[Told], price: float) -> None:
    assert remembered_rung(told, price) == remembered_rung(list(told), price)


LOADS = st.lists(st.integers(0, 1 << 50), max_size=30)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=WINDOW), LOADS, st.integers(0, 1 << 50))
def test_whatever_was_remembered_one_unit_moves_the_release_by_its_threshold_at_most(
    values: list[float], others: list[int], load: int
) -> None:
    """Both neighbours are released at the same threshold, since it follows from released numbers alone."""
    gem = Gem(1.0, 1, 0.0, Ladder(0, 20), monotone=True, nested=True)
    rung = start_from(gem, [Earlier("gem", 2.0, value, 1.5, True, 1.0, 8.0, True) for value in values], 1)
    if rung is None:
        return
    started = at_rung(gem, rung)
    found = [_released(started, loads) for loads in (others, [*others, load])]
    assert found[0].tau == found[1].tau == 2.0**rung
    assert found[0].noise_scale == found[1].noise_scale
    assert 0 <= found[1].values[0] - found[0].values[0] <= 2.0**rung


def _released(one: Measurement, loads: list[int]) -> NoisyAnswer:
    """With the same noise every time."""
    units = one.ladder.units
    cut = np.minimum(np.array(loads, np.int64)[:, None], units[None]).sum(axis=0)
    return one.release(TabulatedAnswer(cut[None], one.ladder), SimulatedEntropy(9))
