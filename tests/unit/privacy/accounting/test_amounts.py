from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacy.accounting.amounts import Charge, atto_delta, nano_epsilon
from privacy.errors import InvalidParameter


@pytest.mark.parametrize(
    ("epsilon", "nano"),
    [(0.1, 100_000_000), (0.3, 300_000_000), (1, 10**9), (1e-9, 1), (1e-12, 1), (1.0000000001, 10**9 + 1), (0.0, 0)],
)
def test_epsilon_is_counted_in_decimals_and_rounded_up(epsilon: float, nano: int) -> None:
    assert nano_epsilon(epsilon) == nano


@pytest.mark.parametrize(("delta", "atto"), [(1e-7, 10**11), (1e-18, 1), (1e-30, 1), (0.0, 0), (1.0, 10**18)])
def test_delta_is_counted_in_decimals_and_rounded_up(delta: float, atto: int) -> None:
    assert atto_delta(delta) == atto


def test_numpy_floats_count_as_floats() -> None:
    assert nano_epsilon(np.float64(0.1)) == 100_000_000


@pytest.mark.parametrize("value", [-1e-9, math.nan, math.inf, -math.inf])
def test_refuses_what_is_not_an_amount(value: float) -> None:
    for count in (nano_epsilon, atto_delta, Charge.of, Charge.granted):
        with pytest.raises(InvalidParameter):
            count(value)


def test_a_probability_is_at_most_one() -> None:
    for count in (atto_delta, lambda delta: Charge.granted(1.0, delta)):
        with pytest.raises(InvalidParameter):
            count(1.5)


def test_is_never_negative() -> None:
    for amounts in ((-1, 0), (0, -1)):
        with pytest.raises(InvalidParameter):
            Charge(*amounts)


def test_reads_back_as_floats() -> None:
    assert (Charge.of(0.3, 1e-7).epsilon, Charge.of(0.3, 1e-7).delta) == (0.3, 1e-7)


@given(st.floats(0, 1e300))
def test_a_charge_covers_and_a_grant_does_not_exceed(epsilon: float) -> None:
    exact = Fraction(repr(epsilon)) * 10**9
    assert exact <= nano_epsilon(epsilon) < exact + 1
    assert exact - 1 < Charge.granted(epsilon).nano_epsilon <= exact
