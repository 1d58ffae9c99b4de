from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import InvalidSetting
from server.ledger.currency import (
    MAX_EPSILON,
    charged_delta,
    charged_epsilon,
    delta_of,
    epsilon_of,
    granted_delta,
    granted_epsilon,
)

EPSILONS = st.floats(min_value=5e-324, max_value=MAX_EPSILON)
DELTAS = st.floats(min_value=0.0, max_value=1.0, exclude_max=True)


def test_a_tenth_is_a_tenth() -> None:
    assert charged_epsilon(0.1) == granted_epsilon(0.1) == 10**8
    assert charged_epsilon(0.1 + 0.2) == 3 * 10**8 + 1  # 0.30000000000000004 is a little more, and is charged so
    assert charged_delta(1e-6) == granted_delta(1e-6) == 10**12


def test_charges_round_up_and_budgets_down() -> None:
    assert charged_epsilon(1e-300) == 1
    assert granted_epsilon(1.9e-9) == 1
    assert charged_delta(1.1e-18) == 2
    assert granted_delta(1.9e-18) == 1
    assert charged_delta(0.0) == 0


def test_a_numpy_float_is_a_float() -> None:
    assert charged_epsilon(np.float64(0.1)) == 10**8


@given(EPSILONS)
def test_a_charge_is_never_less_than_what_was_asked(epsilon: float) -> None:
    if epsilon < 1e-9:
        with pytest.raises(InvalidSetting, match="at least 1e-9"):
            granted_epsilon(epsilon)
        return
    assert granted_epsilon(epsilon) <= Fraction(repr(epsilon)) * 10**9 <= charged_epsilon(epsilon)
    assert charged_epsilon(epsilon) - granted_epsilon(epsilon) <= 1


@given(DELTAS)
def test_a_delta_is_never_less_than_what_was_asked(delta: float) -> None:
    assert granted_delta(delta) <= Fraction(repr(delta)) * 10**18 <= charged_delta(delta)


@given(st.integers(min_value=1, max_value=10**18))
def test_what_is_said_to_be_left_can_be_charged(nano: int) -> None:
    assert 0 < charged_epsilon(epsilon_of(nano)) <= nano
    assert charged_epsilon(epsilon_of(nano)) >= nano * (1 - 2**-50) - 1  # and it is nearly all


@given(st.integers(min_value=0, max_value=10**18 - 1))
def test_what_is_said_to_be_left_of_delta_can_be_charged(atto: int) -> None:
    assert charged_delta(delta_of(atto)) <= atto


def test_an_epsilon_that_cannot_be_counted_is_refused() -> None:
    converts: list[Callable[[float], int]] = [charged_epsilon, granted_epsilon]
    for convert in converts:
        for epsilon in [0.0, -1.0, math.nan, math.inf, -math.inf, 2 * MAX_EPSILON]:
            with pytest.raises(InvalidSetting):
                convert(epsilon)


def test_a_delta_that_cannot_be_counted_is_refused() -> None:
    converts: list[Callable[[float], int]] = [charged_delta, granted_delta]
    for convert in converts:
        for delta in [-1e-9, 1.0, math.nan, math.inf]:
            with pytest.raises(InvalidSetting):
                convert(delta)
