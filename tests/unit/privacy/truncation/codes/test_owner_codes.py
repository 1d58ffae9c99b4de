import uuid
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from privacy.errors import InvalidParameter
from privacy.join_tuples import OwnerColumn
from privacy.truncation.codes.owner_codes import NOBODY, owner_codes
from tests.unit.privacy.truncation.instances import owner


@pytest.mark.parametrize(
    ("keys", "dtype"),
    [
        ([30, 10, 20, 10], np.int64),
        ([30, 10, 20, 10], np.int8),
        ([-120, -128, 127, -128], np.int8),
        ([2**63 - 1, -(2**63), 5, -(2**63)], np.int64),
        ([2**64 - 1, 2**64 - 9, 2**64 - 3, 2**64 - 9], np.uint64),
        ([3 * 10**12, 10, 10**12, 10], np.int64),
        (["c", "a", "b", "a"], None),
        (["c", "a", "b", "a"], object),
        ([b"c", b"a", b"b", b"a"], None),
        ([Decimal("3.5"), Decimal("1"), Decimal("2"), Decimal("1.0")], object),
        ([uuid.UUID(int=7), uuid.UUID(int=1), uuid.UUID(int=3), uuid.UUID(int=1)], object),
        ([2.5, -1.0, 0.0, -1.0], np.float64),
        (["2024-03-01", "2024-01-01", "2024-02-01", "2024-01-01"], "datetime64[D]"),
    ],
)
def test_codes_are_ranks_for_every_type_of_key(keys: list[object], dtype: Any) -> None:
    codes, n_units = owner_codes([owner("p", keys, dtype)], 4)
    ordered = sorted(set(keys))  # type: ignore[type-var]
    assert codes[0].tolist() == [ordered.index(key) for key in keys]
    assert n_units == len(ordered)


def test_booleans_are_keys_too() -> None:
    codes, n_units = owner_codes([owner("p", [True, False, True])], 3)
    assert (codes[0].tolist(), n_units) == ([1, 0, 1], 2)


def test_positions_of_one_relation_share_codes_and_relations_do_not() -> None:
    columns = [owner("node", [7, 8]), owner("shop", [7, 7]), owner("node", [8, 9])]
    codes, n_units = owner_codes(columns, 2)
    assert n_units == 4
    assert codes[0, 1] == codes[2, 0]
    assert not set(codes[1].tolist()) & set(codes[[0, 2]].ravel().tolist())


def test_missing_keys_are_nobody_whatever_they_hold() -> None:
    column = OwnerColumn("p", np.array(["b", None, "a"], object), np.array([False, True, False]))
    assert column.keys.dtype == object
    codes, n_units = owner_codes([column], 3)
    assert (codes[0].tolist(), n_units) == ([1, NOBODY, 0], 2)


def test_a_relation_without_any_key_has_no_units() -> None:
    codes, n_units = owner_codes([owner("p", [None, None]), owner("q", [1, 1], np.int64)], 2)
    assert (codes.tolist(), n_units) == ([[NOBODY, NOBODY], [0, 0]], 1)


def test_narrow_and_wide_integers_of_one_relation_compare_exactly() -> None:
    columns = [owner("p", [1, 2], np.int32), owner("p", [2, 2**40], np.int64)]
    codes, n_units = owner_codes(columns, 2)
    assert (codes.tolist(), n_units) == ([[0, 1], [1, 2]], 3)


@pytest.mark.parametrize(
    "columns",
    [
        [owner("p", [1, 2], np.int64), owner("p", ["1", "2"])],
        [owner("p", [1, 2], np.int64), owner("p", [1, 2], np.uint64)],
        [owner("p", [1, 2], np.int64), owner("p", [1.0, 2.0])],
        [owner("p", [1, "2"], object)],
        [owner("p", [[1], [2, 3]], object)],
        [owner("p", [1, 2, 3], np.int64)],
    ],
)
def test_keys_that_cannot_be_compared_are_refused(columns: list[OwnerColumn]) -> None:
    with pytest.raises(InvalidParameter):
        owner_codes(columns, 2)
