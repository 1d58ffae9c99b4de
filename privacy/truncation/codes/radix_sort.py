"""Sorting integers with the rows they come from, in time linear in their number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.kernel import kernel

_DIGIT = 8
_BUCKETS = 1 << _DIGIT
"""256 places to write to at a time: as many as the first level of cache and its page table follow."""

_SIGN_BIT = np.int64(-(2**63))


def row_type(count: int) -> type[np.signedinteger]:
    """The type that numbers so many rows: four bytes, or eight where four do not suffice."""
    return np.int32 if count <= np.iinfo(np.int32).max else np.int64


def radix_sort(
    keys: NDArray[np.int64], rows: NDArray[np.integer], bits: int
) -> tuple[NDArray[np.int64], NDArray[np.integer]]:
    """Sort keys, stably, and their rows along with them.

    Args:
      keys: (m,) unsigned numbers below 2^bits in the bit patterns of int64; overwritten.
      rows: (m,) anything that goes with them; overwritten.
      bits: 0 to 64.
    Returns: both, sorted. Keys that ascend already are returned as they are.
    Cost: two reads, and a read and a write per eight bits in which the keys differ. Memory of a second copy.
    """
    if _ascends(keys):
        return keys, rows
    other_keys, other_rows = np.empty_like(keys), np.empty_like(rows)
    counts = _counts(keys, -(-bits // _DIGIT))
    for digit, count in enumerate(counts):
        if count.max() == len(keys):
            continue
        starts = np.cumsum(count) - count
        _distribute(keys, rows, other_keys, other_rows, starts, digit * _DIGIT)
        keys, other_keys = other_keys, keys
        rows, other_rows = other_rows, rows
    return keys, rows


@kernel
def _ascends(keys: NDArray[np.int64]) -> bool:
    """Whether no key is below the one before, as unsigned numbers."""
    for i in range(1, len(keys)):  # noqa: SIM110 - a loop that numba compiles
        if (keys[i] ^ _SIGN_BIT) < (keys[i - 1] ^ _SIGN_BIT):
            return False
    return True


@kernel
def _counts(keys: NDArray[np.int64], digits: int) -> NDArray[np.int64]:
    """(digits, 256) how often each value of each digit occurs, the lowest digit first."""
    counts = np.zeros((digits, _BUCKETS), np.int64)
    for key in keys:
        for digit in range(digits):
            counts[digit, (key >> (digit * _DIGIT)) & (_BUCKETS - 1)] += 1
    return counts


@kernel
def _distribute(
    keys: NDArray[np.int64],
    rows: NDArray[np.integer],
    to_keys: NDArray[np.int64],
    to_rows: NDArray[np.integer],
    starts: NDArray[np.int64],
    shift: int,
) -> None:
    """Write every key to the next place of its digit's bucket; `starts` moves on."""
    for i in range(len(keys)):
        digit = (keys[i] >> shift) & (_BUCKETS - 1)
        place = starts[digit]
        starts[digit] = place + 1
        to_keys[place] = keys[i]
        to_rows[place] = rows[i]
