from __future__ import annotations

import struct
from decimal import Decimal

import numpy as np
import pytest

from server.backends.columns import Integers, from_array, from_arrays, key_index, whole


def column(*values: int | None) -> Integers:
    missing = np.array([value is None for value in values], np.bool_)
    return Integers(np.array([value or 0 for value in values], np.int64), missing)


def binary(*values: int | None) -> bytes:
    """PostgreSQL's binary form of an array of bigint."""
    header = struct.pack(">iiiii", 1, None in values, 20, len(values), 1)
    elements = (struct.pack(">i", -1) if value is None else struct.pack(">iq", 8, value) for value in values)
    return header + b"".join(elements)


def test_an_array_is_read_as_its_values() -> None:
    cases: list[tuple[int | None, ...]] = [
        (5, -7, (1 << 63) - 1, -(1 << 63)),
        (5, None, -7, (1 << 63) - 1, None, None, -(1 << 63), -1, 1 << 32),
        (None, -1),  # the bits of a NULL's length
        (None,),
    ]
    for values in cases:
        assert list(from_array(binary(*values))) == list(values), values


def test_arrays_behind_one_another_are_read_as_their_values() -> None:
    arrays = [(5, -7), (None, -1, None), ((1 << 63) - 1,), (None,), (-(1 << 63), 1 << 32)]
    found = from_arrays([binary(*values) for values in arrays], np.array([len(values) for values in arrays]))
    assert list(found) == [value for values in arrays for value in values]


def test_of_no_row_there_is_no_array() -> None:
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
