"""Groups that the rows themselves hold."""

from __future__ import annotations

from decimal import Decimal

import numpy as np

from planner.plan import BackendQuery
from server.backends.columns import Domain, join_tuples
from server.backends.query_tuples import selected_domain

OWNERS = (1, 2, 3, 4, 5)
WEIGHTS = (1, 1, 1, 1, 1)


def _query(*values: tuple[object, ...] | None) -> BackendQuery:
    """One key per argument: its public values, or None where they are found."""
    return BackendQuery("join", (None,), ("person",), (None,) * len(values), values, 1, "f")  # type: ignore[arg-type]


def test_found_values_are_sorted_with_null_last() -> None:
    query = _query(None)
    columns = [OWNERS, ("b", None, "a", "b", "c"), WEIGHTS]
    found = selected_domain(columns[1:], query, Domain(((),)))
    assert found.groups == [("a",), ("b",), ("c",), (None,)]
    assert join_tuples(columns, query, found).group.tolist() == [1, 3, 0, 1, 2]


def test_combinations_are_those_of_rows_within_the_public_domain() -> None:
    query = _query((Decimal("0.1"), 0.2), None, (True, False))
    columns = [
        OWNERS,
        (Decimal("0.2"), Decimal("0.1"), Decimal("0.2"), Decimal("0.7"), Decimal("0.2")),
        (7, 9, 3, 7, 7),
        (True, False, True, True, True),
        WEIGHTS,
    ]
    public = Domain(((Decimal("0.1"), 0.2), (), (True, False)))
    found = selected_domain(columns[1:], query, public)
    assert found.groups == [(Decimal("0.1"), 9, False), (0.2, 3, True), (0.2, 7, True)]
    assert len(found) == 3
    assert join_tuples(columns, query, found).group.tolist() == [2, 0, 1, -1, 2]


def test_more_combinations_than_64_bits_can_number_stay_apart() -> None:
    n = 8_000  # to the fifth power: beyond 2**64
    rows = tuple(range(n))
    columns = [rows, *([rows] * 5), (1,) * n]
    query = _query(*[None] * 5)
    found = selected_domain(columns[1:], query, Domain(((),) * 5))
    assert found.groups == [(row,) * 5 for row in rows]
    assert join_tuples(columns, query, found).group.tolist() == list(rows)


def test_no_rows_hold_no_groups() -> None:
    found = selected_domain([(), ()], _query(None), Domain(((),)))
    assert len(found) == 0
    assert found.groups == []


def test_keys_are_in_no_repr() -> None:
    found = selected_domain([("secret",) * 5, WEIGHTS], _query(None), Domain(((),)))
    assert "secret" not in repr(found)


def test_some_of_the_groups() -> None:
    domain = Domain((("a", "b"), (1, 2, 3)))
    shown = domain.only(np.array([1, 5]), withheld=4)
    assert shown.groups == [("a", 2), ("b", 3)]
    assert (len(shown), shown.withheld) == (2, 4)
    assert shown.places(1).tolist() == [0, 1]
    assert [len(Domain(()).only(np.arange(count))) for count in (0, 1)] == [0, 1]
    assert Domain(()).only(np.arange(0)).groups == []
