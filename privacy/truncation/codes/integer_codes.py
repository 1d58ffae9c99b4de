"""Ranks of integer keys that are spread over several columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.kernel import kernel
from privacy.truncation.codes.radix_sort import radix_sort, row_type

_NOBODY = -1
_DENSE = 2
"""Distances serve as numbers when there are at least so many keys for each: tables by number stay small."""

_TABLE_SLACK = 1 << 16
"""A table of ranks may be this much longer than four times the keys."""

_LIMIT = np.iinfo(np.int32).max
_LOWEST, _HIGHEST = np.int64(-(2**63)), np.int64(2**63 - 1)


def write_integer_codes(
    keys: list[NDArray[np.int64]], missing: list[NDArray[np.bool_]], codes: list[NDArray[np.int32]], first: int
) -> int:
    """Write first + a number that rises with the key and is the same in all columns, -1 where the key is missing.

    Keys that are about as many as they are far apart are numbered by their distance from the smallest one, all others
    by their rank among the distinct ones.

    Args:
      keys: columns of (m,) keys.
      missing: (m,) for each, true where there is no key.
      codes: (m,) for each, to be written.
      first: the code of the smallest key.
    Returns: how many numbers there are, at most the number of keys; not all of them need occur.
    Raises: InvalidParameter when a code would exceed an int32.
    Cost: two passes without a table where keys lie densely, three with a table of ranks where there are gaps.
      Otherwise a linear sort of the keys.
    """
    low, high, count = _extent_of_all(keys, missing)
    if high - low < count // _DENSE:
        _check_size(first, high - low + 1)
        for column, absent, code in zip(keys, missing, codes, strict=True):
            _subtract(column, absent, low, first, code)
        return high - low + 1
    if high - low > 4 * count + _TABLE_SLACK:
        return _sorted_codes(keys, missing, codes, first, low, high, count)
    table = np.zeros(max(high - low + 1, 0), np.int32)
    for column, absent in zip(keys, missing, strict=True):
        _mark(column, absent, low, table)
    size = _rank(table)
    _check_size(first, size)
    for column, absent, code in zip(keys, missing, codes, strict=True):
        _look_up(column, absent, low, table, first, code)
    return size


def _check_size(first: int, size: int) -> None:
    if first + size > _LIMIT:
        raise InvalidParameter("more privacy units than an int32 can number")


def _extent_of_all(keys: list[NDArray[np.int64]], missing: list[NDArray[np.bool_]]) -> tuple[int, int, int]:
    """The smallest and the largest key and how many there are; an empty range (0, -1) without any."""
    extents = [_extent(column, absent) for column, absent in zip(keys, missing, strict=True)]
    count = sum(extent[2] for extent in extents)
    if not count:
        return 0, -1, 0
    return min(int(extent[0]) for extent in extents), max(int(extent[1]) for extent in extents), count


def _sorted_codes(
    keys: list[NDArray[np.int64]],
    missing: list[NDArray[np.bool_]],
    codes: list[NDArray[np.int32]],
    first: int,
    low: int,
    high: int,
    count: int,
) -> int:
    """Ranks of scattered keys: sorted with the places they came from."""
    m = len(keys[0])
    places = np.empty(count, row_type(len(keys) * m))
    joined = np.empty(count, np.int64)
    start = 0
    for i, (column, absent) in enumerate(zip(keys, missing, strict=True)):
        start = _collect(column, absent, low, i * m, joined, places, start)
    joined, places = radix_sort(joined, places, (high - low).bit_length())
    size = _count_distinct(joined)
    _check_size(first, size)
    flat = np.full(len(keys) * m, _NOBODY, np.int32)
    _write_ranks(joined, places, first, flat)
    for i, code in enumerate(codes):
        code[:] = flat[i * m : (i + 1) * m]
    return size


@kernel
def _extent(keys: NDArray[np.int64], missing: NDArray[np.bool_]) -> tuple[int, int, int]:
    """The smallest and the largest key and the number of keys."""
    low, high, count = _HIGHEST, _LOWEST, 0
    for i in range(len(keys)):
        if not missing[i]:
            low, high, count = min(low, keys[i]), max(high, keys[i]), count + 1
    return low, high, count  # type: ignore[return-value] # numba's integers are Python's here


@kernel
def _subtract(
    keys: NDArray[np.int64], missing: NDArray[np.bool_], low: int, first: int, codes: NDArray[np.int32]
) -> None:
    """Write first + key - low."""
    for i in range(len(keys)):
        codes[i] = _NOBODY if missing[i] else first + keys[i] - low


@kernel
def _mark(keys: NDArray[np.int64], missing: NDArray[np.bool_], low: int, table: NDArray[np.int32]) -> None:
    """Set table[key - low] to 1 for every key."""
    for i in range(len(keys)):
        if not missing[i]:
            table[keys[i] - low] = 1


@kernel
def _rank(table: NDArray[np.int32]) -> int:
    """Replace marks by the number of marks before, and return how many there are."""
    total = 0
    for i in range(len(table)):
        mark = table[i]
        table[i] = total
        total += mark
    return total


@kernel
def _look_up(
    keys: NDArray[np.int64],
    missing: NDArray[np.bool_],
    low: int,
    table: NDArray[np.int32],
    first: int,
    codes: NDArray[np.int32],
) -> None:
    """Write first + table[key - low]."""
    for i in range(len(keys)):
        codes[i] = _NOBODY if missing[i] else first + table[keys[i] - low]


@kernel
def _collect(
    keys: NDArray[np.int64],
    missing: NDArray[np.bool_],
    low: int,
    offset: int,
    joined: NDArray[np.int64],
    places: NDArray[np.integer],
    start: int,
) -> int:
    """Append key - low, an unsigned number, and offset + row; returns the new length."""
    for i in range(len(keys)):
        if not missing[i]:
            joined[start] = keys[i] - low
            places[start] = offset + i
            start += 1
    return start


@kernel
def _count_distinct(keys: NDArray[np.int64]) -> int:
    """How many different keys there are in a sorted array."""
    size = min(len(keys), 1)
    for i in range(1, len(keys)):
        size += keys[i] != keys[i - 1]
    return size


@kernel
def _write_ranks(keys: NDArray[np.int64], places: NDArray[np.integer], first: int, codes: NDArray[np.int32]) -> None:
    """Write the rank of every key of a sorted array to its place."""
    code = first
    for i in range(len(keys)):
        code += i > 0 and keys[i] != keys[i - 1]
        codes[places[i]] = code
