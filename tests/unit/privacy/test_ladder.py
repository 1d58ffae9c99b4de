from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from privacy.errors import InvalidParameter
from privacy.ladder import Ladder, one_threshold
from privacy.units import ONE


def test_powers_of_two_by_default() -> None:
    ladder = Ladder(-2, 3)
    assert ladder.taus.tolist() == [0.25, 0.5, 1, 2, 4, 8]
    assert ladder.units.tolist() == [int(tau * ONE) for tau in ladder.taus]
    assert len(ladder) == 6
    assert ladder.doubling
    assert Ladder(-2, 3, Fraction(2)) == ladder


@pytest.mark.parametrize("base", [3, Fraction(3, 2), Fraction(11, 2), Fraction(6, 5)])
def test_powers_of_any_base_rounded_down_to_what_a_float_holds(base: Fraction | int) -> None:
    ladder = Ladder(1, 12, base)
    assert not ladder.doubling
    assert np.all(np.diff(ladder.units) > 0)
    for exponent, (units, tau) in enumerate(zip(ladder.units.tolist(), ladder.taus.tolist(), strict=True), 1):
        exact = Fraction(base) ** exponent * ONE
        assert exact * (1 - Fraction(1, 1 << 49)) - 1 < units <= exact
        assert Fraction(tau) * ONE == units


def test_the_longest_ladders_there_are() -> None:
    assert Ladder().units[[0, -1]].tolist() == [1 << 10, 1 << 62]
    assert len(Ladder(0, 121, Fraction(6, 5))) == 122


@pytest.mark.parametrize(
    ("low", "high", "base"),
    [
        (3, 2, 2),
        (-21, 0, 2),
        (0, 33, 2),
        (0, 21, 3),
        (0, 1, 1),
        (0, 1, Fraction(1, 2)),
        (0, 1, 1.5),
        (0, 127, Fraction(101, 100)),
        (0, 1, 1 + Fraction(1, 1 << 40)),
        (-(10**9), -(10**9), Fraction(101, 100)),
    ],
)
def test_refuses_what_truncation_is_not_made_for(low: int, high: int, base: Fraction | int) -> None:
    with pytest.raises(InvalidParameter):
        Ladder(low, high, base)


@pytest.mark.parametrize(
    "bound", [1, 2, 30, 4097, 1 << 32, (1 << 32) - Fraction(1, 3), Fraction(1, 10), Fraction(7, 3)]
)
def test_one_threshold_is_no_less_than_a_bound_and_hardly_more(bound: Fraction | int) -> None:
    (units,) = one_threshold(Fraction(bound)).units.tolist()
    assert Fraction(bound) <= Fraction(units, ONE) <= Fraction(bound) * (1 + Fraction(1, 1 << 49)) + Fraction(1, ONE)
    assert Fraction(one_threshold(Fraction(bound)).taus[0]) * ONE == units


def test_one_threshold_is_within_what_ladders_are() -> None:
    assert one_threshold(Fraction(1, 1 << 40)).taus.tolist() == [2.0**-20]
    with pytest.raises(InvalidParameter):
        one_threshold(Fraction(1 << 33))
