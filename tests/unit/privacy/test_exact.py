from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacy.errors import InvalidParameter
from privacy.exact import (
    check_confidence,
    check_gap,
    check_groups,
    exact,
    exact_epsilon,
    float_at_least,
    group_epsilon,
    groups_reached,
)


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


@pytest.mark.parametrize(
    ("groups_per_unit", "n_groups", "reached"), [(1, 25, 1), (2, 25, 2), (30, 25, 25), (None, 25, 25), (None, 0, 1)]
)
def test_no_more_groups_are_reached_than_there_are(groups_per_unit: int | None, n_groups: int, reached: int) -> None:
    assert groups_reached(groups_per_unit, n_groups) == reached


def test_a_unit_reaches_a_group() -> None:
    check_groups(1)
    check_groups(None)
    with pytest.raises(InvalidParameter):
        check_groups(0)
    with pytest.raises(InvalidParameter):
        groups_reached(0, 5)


def test_a_gap_may_be_anything_from_0_to_1() -> None:
    check_gap(0.0)
    check_gap(1.0)
    for gap in (-1e-9, 1 + 1e-9, math.nan):
        with pytest.raises(InvalidParameter):
            check_gap(gap)


def test_nothing_is_certain_and_nothing_is_never() -> None:
    check_confidence(0.95)
    for confidence in (0.0, 1.0, math.nan):
        with pytest.raises(InvalidParameter):
            check_confidence(confidence)
