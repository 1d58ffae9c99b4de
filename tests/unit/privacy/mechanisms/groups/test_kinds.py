"""The largest capacities that a noise hides; the proof's numbers are in `tests/property/test_kind_capacities.py`."""

from __future__ import annotations

import math

import pytest

from privacy.errors import InvalidParameter
from privacy.mechanisms.groups.kinds import capacities_of
from privacy.truncation.ladder.capacities import ALIKE, CAPACITY_BITS

TAU = 1 << CAPACITY_BITS


@pytest.mark.parametrize(
    ("few", "many", "n_groups", "pure", "gaussian"),
    [
        (1, 25, 25, 25.0, 5.0),
        (2, 50, 50, 25.0, 5.0),
        (1, 25, 16, 16.0, 4.0),  # there are no more than 16
        (3, 7, 7, 7 / 3, math.sqrt(7 / 3)),
    ],
)
def test_a_kind_that_reaches_fewer_groups_may_fill_them(
    few: int, many: int, n_groups: int, pure: float, gaussian: float
) -> None:
    for is_gaussian, times in ((False, pure), (True, gaussian)):
        found = dict(capacities_of((("few", few), ("many", many)), None, n_groups, is_gaussian).factors)
        assert found == {"few": math.floor(times * TAU), "many": TAU}


def test_noise_for_more_groups_than_anybody_reaches_hides_more() -> None:
    found = dict(capacities_of((("few", 1), ("many", 2)), 4, 8, gaussian=False).factors)
    assert found == {"few": 4 * TAU, "many": 2 * TAU}


@pytest.mark.parametrize("kinds", [(("one", 3),), (("one", 3), ("other", 3)), (("one", 8), ("other", 9))])
def test_where_no_kind_reaches_fewer_all_are_alike(kinds: tuple[tuple[str, int], ...]) -> None:
    assert capacities_of(kinds, None, 8, gaussian=False) == ALIKE


def test_noise_for_fewer_groups_than_somebody_reaches_is_refused() -> None:
    with pytest.raises(InvalidParameter):
        capacities_of((("few", 1), ("many", 3)), 2, 8, gaussian=False)
    with pytest.raises(InvalidParameter):
        capacities_of((("few", 0), ("many", 3)), 3, 8, gaussian=False)
