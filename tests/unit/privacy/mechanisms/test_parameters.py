from __future__ import annotations

import math

import pytest

from privacy.errors import InvalidParameter
from privacy.mechanisms.parameters import check_confidence, check_gap, check_groups, groups_reached


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
