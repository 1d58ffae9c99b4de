"""Coding of a database's columns."""

from __future__ import annotations

import uuid
from datetime import date
from decimal import Decimal

import numpy as np
import pytest

from planner.plan import BackendQuery
from server.backends.columns import group_domain, join_tuples
from server.errors import BackendFailed


def _query(relations: tuple[str, ...], keys: int = 0, releases: int = 1) -> BackendQuery:
    return BackendQuery("SELECT", relations, (None,) * keys, ((),) * keys, releases, "fingerprint")


def test_integer_owners_keep_their_values_and_null_is_nobody() -> None:
    tuples = join_tuples([(7, None, 7), (5, 6, 7)], _query(("customer",)), group_domain([]))
    (owner,) = tuples.owners
    assert owner.missing.tolist() == [False, True, False]
    assert owner.keys[~owner.missing].tolist() == [7, 7]
    assert tuples.weights.tolist() == [[5, 6, 7]]
    assert tuples.n_groups == 1
    assert tuples.group.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "keys",
    [("ab", "ab ", None), (uuid.UUID(int=1), uuid.UUID(int=2), None), (date(2024, 1, 1), date(2024, 1, 2), None)],
)
def test_text_owners_differ_when_their_text_differs(keys: tuple[object, ...]) -> None:
    tuples = join_tuples([keys, (1, 1, 1)], _query(("person",)), group_domain([]))
    owner = tuples.owners[0]
    assert owner.keys[0] != owner.keys[1]
    assert owner.missing.tolist() == [False, False, True]


@pytest.mark.parametrize("keys", [(Decimal("1.0"), Decimal("1.00")), (1, "1"), (1.0, 2.0), (True, False)])
def test_an_owner_whose_equality_is_not_ours_to_decide_is_refused(keys: tuple[object, ...]) -> None:
    with pytest.raises(BackendFailed):
        join_tuples([keys, (1, 1)], _query(("person",)), group_domain([]))


def test_groups_are_numbered_as_the_domain_lists_them() -> None:
    domain = group_domain([("a", "b"), (1, 2, 3)])
    columns: list[tuple[object, ...]] = [
        (1, 1, 1, 1, 1),
        ("a", "b", "b", None, "z"),
        (Decimal(3), 1, None, 1, 1),
        (1, 1, 1, 1, 1),
    ]
    tuples = join_tuples(columns, _query(("person",), keys=2), domain)
    assert tuples.group.tolist() == [2, 3, -1, -1, -1]
    assert [domain.groups[place] for place in (2, 3)] == [("a", 3), ("b", 1)]
    assert tuples.n_groups == len(domain) == 6


def test_no_rows_at_all() -> None:
    tuples = join_tuples([(), (), (), ()], _query(("person",), keys=1, releases=2), group_domain([("a",)]))
    assert tuples.weights.shape == (2, 0)
    assert len(tuples.owners[0].keys) == 0
    assert tuples.group.dtype == np.int64


def test_no_private_value_in_a_repr() -> None:
    tuples = join_tuples([("secret-person",), (12345,)], _query(("person",)), group_domain([]))
    assert "secret" not in repr(tuples) + repr(tuples.owners[0])
    assert "12345" not in repr(tuples)
