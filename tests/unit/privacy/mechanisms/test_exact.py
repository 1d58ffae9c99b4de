from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacy.errors import InvalidParameter
from privacy.mechanisms.exact import exact, exact_epsilon, float_at_least, group_epsilon


def test_a_float_is_the_decimal_that_spells_it() -> None:
    assert exact(0.1) == Fraction(1, 10)
    assert exact(1e-9) == Fraction(1, 10**9)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf])
def test_epsilon_is_finite_and_positive(epsilon: float) -> None:
    with pytest.raises(InvalidParameter):
        exact_epsilon(epsilon)


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**12))
def test_scales_round_up_and_by_no_more_than_one_float(value: Fraction) -> None:
    rounded = float_at_least(value)
    assert Fraction(math.nextafter(rounded, 0)) < value <= Fraction(rounded)


@pytest.mark.parametrize(
    ("groups_per_unit", "n_groups", "parts"), [(1, 25, 1), (2, 25, 2), (30, 25, 25), (None, 25, 25), (None, 0, 1)]
)
def test_a_group_gets_its_part(groups_per_unit: int | None, n_groups: int, parts: int) -> None:
    assert group_epsilon(0.3, groups_per_unit, n_groups) == Fraction(3, 10 * parts)


def test_a_unit_reaches_at_least_one_group() -> None:
    with pytest.raises(InvalidParameter):
        group_epsilon(1.0, 0, 5)
