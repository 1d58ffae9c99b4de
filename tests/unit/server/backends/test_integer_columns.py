from __future__ import annotations

import struct
from decimal import Decimal

import numpy as np
import pytest

from server.backends.columns import key_index
from server.backends.integer_columns import NONE, Integers, from_array, whole


def column(*values: int | None) -> Integers:
    missing = np.array([value is None for value in values], np.bool_)
    return Integers(np.array([value or 0 for value in values], np.int64), missing)


def binary(*values: int) -> bytes:
    """PostgreSQL's binary form of an array of bigint."""
    header = struct.pack(">iiiii", 1, 0, 20, len(values), 1)
    return header + b"".join(struct.pack(">iq", 8, value) for value in values)


def test_an_array_is_read_as_its_values() -> None:
    found = from_array(binary(5, NONE, -7, (1 << 63) - 1))
    assert list(found) == [5, None, -7, (1 << 63) - 1]
    assert list(from_array(None)) == []


def test_a_weight_is_never_null() -> None:
    assert whole(column(1, 2)).tolist() == whole((1, 2)).tolist() == [1, 2]
    with pytest.raises(AssertionError):
        whole(column(1, None))


def test_keys_have_the_places_that_they_have_as_objects() -> None:
    domain: tuple[object, ...] = (3, Decimal(1), None, True, 99)
    keys = column(1, 3, None, 7, 99, 3)
    assert key_index([keys], [domain]).tolist() == key_index([tuple(keys)], [domain]).tolist()
    assert key_index([column()], [domain]).tolist() == []
    assert key_index([keys], [(3, 1)]).tolist() == [1, 0, -1, -1, -1, 0]


def test_shows_no_value() -> None:
    assert repr(column(5)) == "Integers(<private>)"
