"""Exact parameters, and the thresholds of ladders."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
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
from privacy.thresholds import Thresholds, one_threshold
from privacy.units import ONE
from tests.unit.privacy.refusals import refuses_calls, refuses_each


def test_a_float_is_the_decimal_that_spells_it_and_epsilon_is_finite_and_positive() -> None:
    assert exact(0.1) == Fraction(1, 10)
    assert exact(1e-9) == Fraction(1, 10**9)
    refuses_each(exact_epsilon, [0.0, -1.0, math.nan, math.inf])


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**12))
def test_scales_round_up_and_by_no_more_than_one_float(value: Fraction) -> None:
    rounded = float_at_least(value)
    assert Fraction(math.nextafter(rounded, 0)) < value <= Fraction(rounded)


def test_a_group_gets_its_part_and_a_unit_reaches_at_least_one_group() -> None:
    for groups_per_unit, n_groups, parts in [(1, 25, 1), (2, 25, 2), (30, 25, 25), (None, 25, 25), (None, 0, 1)]:
        assert group_epsilon(0.3, groups_per_unit, n_groups) == Fraction(3, 10 * parts)
    with pytest.raises(InvalidParameter):
        group_epsilon(1.0, 0, 5)


def test_no_more_groups_are_reached_than_there_are() -> None:
    for groups_per_unit, n_groups, reached in [(1, 25, 1), (2, 25, 2), (30, 25, 25), (None, 25, 25), (None, 0, 1)]:
        assert groups_reached(groups_per_unit, n_groups) == reached
    # a unit reaches a group
    check_groups(1)
    check_groups(None)
    with pytest.raises(InvalidParameter):
        check_groups(0)
    with pytest.raises(InvalidParameter):
        groups_reached(0, 5)
    # a gap may be anything from 0 to 1 and nothing is certain and nothing is never
    check_gap(0.0)
    check_gap(1.0)
    refuses_each(check_gap, (-1e-9, 1 + 1e-9, math.nan))
    check_confidence(0.95)
    refuses_each(check_confidence, (0.0, 1.0, math.nan))


def test_powers_of_two_by_default() -> None:
    thresholds = Thresholds(-2, 3)
    assert thresholds.taus.tolist() == [0.25, 0.5, 1, 2, 4, 8]
    assert thresholds.units.tolist() == [int(tau * ONE) for tau in thresholds.taus]
    assert len(thresholds) == 6
    assert thresholds.doubling
    assert Thresholds(-2, 3, Fraction(2)) == thresholds


def test_powers_of_any_base_rounded_down_to_what_a_float_holds() -> None:
    for base in (Fraction(3), Fraction(3, 2), Fraction(11, 2), Fraction(6, 5)):
        thresholds = Thresholds(1, 12, base)
        assert not thresholds.doubling, base
        assert np.all(np.diff(thresholds.units) > 0), base
        for exponent, (units, tau) in enumerate(
            zip(thresholds.units.tolist(), thresholds.taus.tolist(), strict=True), 1
        ):
            exact = Fraction(base) ** exponent * ONE
            assert exact * (1 - Fraction(1, 1 << 49)) - 1 < units <= exact, base
            assert Fraction(tau) * ONE == units, base


def test_the_longest_ladders_there_are() -> None:
    assert Thresholds().units[[0, -1]].tolist() == [1 << 10, 1 << 62]
    assert len(Thresholds(0, 121, Fraction(6, 5))) == 122


def test_refuses_what_truncation_is_not_made_for() -> None:
    refuses_calls(
        Thresholds, (3, 2, 2), (-21, 0, 2), (0, 33, 2), (0, 21, 3), (0, 1, 1), (0, 1, Fraction(1, 2)), (0, 1, 1.5)
    )
    nearly_one = Fraction(101, 100)
    refuses_calls(
        Thresholds, (0, 127, nearly_one), (0, 1, 1 + Fraction(1, 1 << 40)), (-(10**9), -(10**9), nearly_one)
    )


def test_one_threshold_is_no_less_than_a_bound_and_hardly_more() -> None:
    parts = [(1 << 32) - Fraction(1, 3), Fraction(1, 10), Fraction(7, 3)]
    for bound in [*map(Fraction, (1, 2, 30, 4097, 1 << 32)), *parts]:
        (units,) = one_threshold(bound).units.tolist()
        assert bound <= Fraction(units, ONE) <= bound * (1 + Fraction(1, 1 << 49)) + Fraction(1, ONE)
        assert Fraction(one_threshold(bound).taus[0]) * ONE == units
    # one threshold is within what ladders are
    assert one_threshold(Fraction(1, 1 << 40)).taus.tolist() == [2.0**-20]
    refuses_each(one_threshold, [Fraction(1 << 33)])
