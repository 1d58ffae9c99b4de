"""How many groups one unit reaches, from the list of groups and the keys that follow from it."""

from __future__ import annotations

from decimal import Decimal

import numpy as np

from planner.plan import KindReach
from server.backends.columns import Domain
from server.workers.measure import groups_of_kinds

NATIONS, YEARS = ("FRANCE", "GERMANY", "PERU"), (1995, 1996)
EVERY = Domain((NATIONS, YEARS))
BLOCK = Domain((("FRANCE", "FRANCE", "PERU"), (1995, 1996, 1996), ("a", "b")), ((0, 1), (2,)))
"""Three combinations of nation and year, each with both letters."""


def reached(domain: Domain, *determines: tuple[int, ...]) -> int:
    ((relation, number),) = groups_of_kinds([KindReach("unit", determines)], domain)
    assert relation == "unit"
    return number


def test_groups_that_share_the_keys_add_up_over_positions() -> None:
    cases: list[tuple[list[tuple[int, ...]], int]] = [
        ([()], 6),
        ([(0,)], 2),
        ([(1,)], 3),
        ([(0, 1)], 1),
        ([(0,), (1,)], 5),
        ([(0,), ()], 6),
        ([(0, 1), (0,)], 3),
    ]
    for determines, number in cases:
        assert reached(EVERY, *determines) == number, determines


def test_keys_of_one_block_are_counted_as_they_stand() -> None:
    cases: list[tuple[tuple[int, ...], int]] = [((0,), 4), ((1,), 4), ((2,), 3), ((0, 1), 2), ((0, 2), 2), ((), 6)]
    for places, number in cases:
        assert reached(BLOCK, places) == number, places


def test_groups_that_are_not_shown_do_not_count() -> None:
    shown = EVERY.only(np.array([0, 3, 5]))  # of each nation one
    assert reached(shown, (0,)) == 1
    assert reached(shown, (1,)) == 2


def test_values_that_equal_nothing_are_one() -> None:
    """Two of them might be the same value to a database."""
    assert reached(Domain(((float("nan"), Decimal("nan"), 1.0),)), (0,)) == 2
    assert reached(Domain(((None, "a"),)), (0,)) == 1
    assert reached(Domain(((0.0, -0.0, 1.0),)), (0,)) == 2


def test_of_no_groups_a_unit_reaches_one() -> None:
    cases: list[tuple[int, ...]] = [(), (0,)]
    for places in cases:
        assert reached(Domain(((),)), places) == 1, places


def test_each_relation_has_its_number() -> None:
    both = [KindReach("customer", ((0,),)), KindReach("supplier", ((),))]
    assert groups_of_kinds(both, EVERY) == (("customer", 2), ("supplier", 6))
    assert groups_of_kinds([], EVERY) == ()
