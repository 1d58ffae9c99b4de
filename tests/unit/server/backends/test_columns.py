"""Coding of a database's columns."""

from __future__ import annotations

import math
import uuid
from dataclasses import replace
from datetime import date
from decimal import Decimal

import numpy as np
import pytest

from planner.plan import BackendQuery
from privacy.units import ONE
from server.backends.columns import Domain, contribution_histogram, distinct_tuples, join_tuples
from server.errors import BackendFailed


def _query(relations: tuple[str, ...], keys: int = 0, releases: int = 1) -> BackendQuery:
    return BackendQuery(
        join="SELECT",
        distinct=(None,) * releases,
        relations=relations,
        domains=(None,) * keys,
        values=((),) * keys,
        n_releases=releases,
        fingerprint="fingerprint",
    )


def test_integer_owners_keep_their_values_and_null_is_nobody() -> None:
    tuples = join_tuples([(7, None, 7), (5, 6, 7)], _query(("customer",)), Domain(()))
    (owner,) = tuples.owners
    assert owner.missing.tolist() == [False, True, False]
    assert owner.keys[~owner.missing].tolist() == [7, 7]
    assert tuples.weights.tolist() == [[5, 6, 7]]
    assert tuples.n_groups == 1
    assert tuples.group.tolist() == [0, 0, 0]


def test_text_owners_differ_when_their_text_differs() -> None:
    cases: list[tuple[object, ...]] = [
        ("ab", "ab ", None),
        (uuid.UUID(int=1), uuid.UUID(int=2), None),
        (date(2024, 1, 1), date(2024, 1, 2), None),
    ]
    for keys in cases:
        tuples = join_tuples([keys, (1, 1, 1)], _query(("person",)), Domain(()))
        owner = tuples.owners[0]
        assert owner.keys[0] != owner.keys[1], keys
        assert owner.missing.tolist() == [False, False, True], keys


def test_an_owner_whose_equality_is_not_ours_to_decide_is_refused() -> None:
    cases: list[tuple[object, ...]] = [(Decimal("1.0"), Decimal("1.00")), (1, "1"), (1.0, 2.0), (True, False)]
    for keys in cases:
        with pytest.raises(BackendFailed):
            join_tuples([keys, (1, 1)], _query(("person",)), Domain(()))


def test_groups_are_numbered_as_the_domain_lists_them() -> None:
    domain = Domain((("a", "b"), (1, 2, 3)))
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


def test_a_domain_with_fractions_meets_decimals() -> None:
    columns: list[tuple[object, ...]] = [
        (1, 1, 1),
        (Decimal("0.10"), Decimal("2.00"), Decimal("0.1000001")),
        (1, 1, 1),
    ]
    tuples = join_tuples(columns, _query(("person",), keys=1), Domain(((0.1, 2.0),)))
    assert tuples.group.tolist() == [0, 1, -1]


def test_no_rows_at_all() -> None:
    tuples = join_tuples([(), (), (), ()], _query(("person",), keys=1, releases=2), Domain((("a",),)))
    assert tuples.weights.shape == (2, 0)
    assert len(tuples.owners[0].keys) == 0
    assert tuples.group.dtype == np.int64


def test_equal_values_have_equal_codes_in_their_own_order() -> None:
    cases: list[tuple[tuple[object, ...], list[int]]] = [
        ((7, None, 7, -3, 10**30), [1, -1, 1, 0, 2]),
        (("b", "a", "b", None, "B"), [2, 1, 2, -1, 0]),
        ((True, False, None, True, True), [1, 0, -1, 1, 1]),
        ((0.0, -0.0, math.nan, math.inf, float("nan")), [0, 0, 2, 1, 2]),
        ((Decimal("1.0"), Decimal("1.00"), Decimal("NaN"), None, Decimal("NaN")), [0, 0, 1, -1, 1]),
        ((uuid.UUID(int=2), uuid.UUID(int=1), None, None, None), [1, 0, -1, -1, -1]),
        ((None, None, None, None, None), [-1] * 5),
    ]
    for column, codes in cases:
        owners = (1, 2, 3, 4, 5)
        tuples = distinct_tuples([owners, column, (ONE,) * 5], _query(("person",)), Domain(()))
        assert tuples.value.tolist() == codes, column
        assert tuples.value.dtype == np.int64, column
        assert tuples.owners[0].keys.tolist() == list(owners), column


def test_a_value_whose_weight_is_zero_does_not_count() -> None:
    columns: list[tuple[object, ...]] = [(1, 2, 3), ("a", "b", "a"), ("x", "y", "z"), (ONE, 0, ONE)]
    tuples = distinct_tuples(columns, _query(("person",), keys=1), Domain((("a", "b"),)))
    assert tuples.value.tolist() == [0, -1, 2]
    assert tuples.group.tolist() == [0, 1, 0]
    assert tuples.n_groups == 2


def test_a_value_whose_equality_is_not_ours_to_decide_is_refused() -> None:
    cases: list[tuple[object, ...]] = [(1, "1"), (1, True), (date(2024, 1, 1), None), ((1,), (2,))]
    for column in cases:
        with pytest.raises(BackendFailed) as caught:
            distinct_tuples([(1, 2), column, (ONE, ONE)], _query(("person",)), Domain(()))
        assert "2024" not in str(caught.value), column


def test_no_distinct_values_at_all() -> None:
    tuples = distinct_tuples([(), (), (), ()], _query(("person",), keys=1), Domain((("a",),)))
    assert tuples.value.shape == (0,)
    assert tuples.group.dtype == tuples.value.dtype == np.int64


def test_no_private_value_in_a_repr() -> None:
    tuples = join_tuples([("secret-person",), (12345,)], _query(("person",)), Domain(()))
    assert "secret" not in repr(tuples) + repr(tuples.owners[0])
    assert "12345" not in repr(tuples)


def test_one_numeric_in_two_spellings_is_one_group_of_loads() -> None:
    """PostgreSQL shows whichever spelling of a group came first."""
    query = replace(_query(("person",), 1), contributions="loads", thresholds=(1, 2))
    columns = [(Decimal("1.0"), Decimal("1.00")), (0, 0), (0, 1), (3, 4), (3, 8)]
    found = contribution_histogram(columns, query, Domain(((Decimal(1),),)), n_sums=1)
    assert found.group.tolist() == [0, 0]
    zeros = contribution_histogram([(0.0, -0.0), *columns[1:]], query, Domain(((Decimal("0.0"),),)), n_sums=1)
    assert zeros.group.tolist() == [0, 0]
    two = [("a", "A"), *columns[1:]]
    assert contribution_histogram(two, query, Domain((("a", "A"),)), n_sums=1).group.tolist() == [0, 1]
    with pytest.raises(BackendFailed, match="two of the database's group keys"):
        contribution_histogram([(True, 1), *columns[1:]], query, Domain(((1,),)), n_sums=1)
