"""Project every provenance set on the few units that matter, and merge what has become equal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.join_tuples import CompactJoinTuples
from privacy.kernel import kernel

NO_PATTERN = -1
_HALF = 31
_MASK = (1 << _HALF) - 1
_FIRST_SIZE = 1 << 12


@dataclass(frozen=True, eq=False, repr=False)
class Patterns:
    """Distinct (group, set of columns) among the tuples that own a column and weigh something.

    Attributes:
      of_tuple: (m,) int32 index of each tuple's pattern, or NO_PATTERN.
      indptr: (P + 1,) int64 and
      columns: (nnz,) int32: CSR; ascending within a pattern.
      group: (P,) int64, ascending.
      weight: (P,) float64 summed units: exact sums, rounded once.
    """

    of_tuple: NDArray[np.int32]
    indptr: NDArray[np.int64]
    columns: NDArray[np.int32]
    group: NDArray[np.int64]
    weight: NDArray[np.float64]

    def __repr__(self) -> str:
        return "Patterns(<private>)"


def merge_patterns(
    tuples: CompactJoinTuples, release: int, column_of: NDArray[np.int32], guess: NDArray[np.float64]
) -> Patterns:
    """Find the patterns, in the order in which they first occur.

    Args:
      column_of: (n_units,) column of each unit that matters, ascending in the unit; negative for the others.
      guess: (n_units,) shares; a tuple of which they leave nothing has no pattern.
    Cost: one pass over the owners and one look into a hash table per tuple that is left.
    """
    width = int(np.diff(tuples.indptr).max(initial=1))
    of_tuple, members, group, high, low = _merge(
        tuples.indptr, tuples.units, tuples.group, tuples.weights[release], column_of, guess, width
    )
    owned = members >= 0
    indptr = np.zeros(len(group) + 1, np.int64)
    np.cumsum(owned.sum(axis=1), out=indptr[1:])
    return Patterns(of_tuple, indptr, members[owned], group, high * float(1 << _HALF) + low)


@kernel
def _merge(
    indptr: NDArray[np.int64],
    units: NDArray[np.int32],
    tuple_group: NDArray[np.int64],
    weights: NDArray[np.int64],
    column_of: NDArray[np.int32],
    guess: NDArray[np.float64],
    width: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Weights are kept in two halves, so that their sums are exact for fewer than 2^31 tuples."""
    of_tuple = np.full(len(tuple_group), NO_PATTERN, np.int32)
    members = np.full((_FIRST_SIZE, width), -1, np.int32)
    group = np.empty(_FIRST_SIZE, np.int64)
    high = np.zeros(_FIRST_SIZE, np.int64)
    low = np.zeros(_FIRST_SIZE, np.int64)
    slots = np.full(2 * _FIRST_SIZE, NO_PATTERN, np.int32)
    row = np.empty(width, np.int32)
    count = 0
    for t in range(len(tuple_group)):
        size, left = 0, 1.0
        for entry in range(indptr[t], indptr[t + 1]):
            column = column_of[units[entry]]
            left -= guess[units[entry]]
            if column >= 0:
                row[size] = column
                size += 1
        if size == 0 or weights[t] == 0 or left <= 0.0:
            continue
        row[size:] = -1
        slot = _find(slots, members, group, row, tuple_group[t])
        pattern = slots[slot]
        if pattern == NO_PATTERN:
            if count == len(group):
                members = np.concatenate((members, np.full((count, width), -1, np.int32)))
                group = np.concatenate((group, np.empty(count, np.int64)))
                high = np.concatenate((high, np.zeros(count, np.int64)))
                low = np.concatenate((low, np.zeros(count, np.int64)))
                slots = np.full(4 * count, NO_PATTERN, np.int32)
                for known in range(count):
                    slots[_find(slots, members, group, members[known], group[known])] = known
                slot = _find(slots, members, group, row, tuple_group[t])
            pattern = count
            slots[slot] = pattern
            members[pattern] = row
            group[pattern] = tuple_group[t]
            count += 1
        of_tuple[t] = pattern
        high[pattern] += weights[t] >> _HALF
        low[pattern] += weights[t] & _MASK
    return of_tuple, members[:count].copy(), group[:count].copy(), high[:count].copy(), low[:count].copy()


@kernel
def _find(
    slots: NDArray[np.int32],
    members: NDArray[np.int32],
    group: NDArray[np.int64],
    row: NDArray[np.int32],
    row_group: int,
) -> int:
    """The slot that holds this pattern, or the free one where it belongs; half of the slots are free."""
    key = row_group
    for i in range(len(row)):
        key = (key ^ row[i]) * -7046029254386353131  # the golden ratio in 64 bits; the product wraps around, as meant
        key ^= (key >> 29) & 0x7FFFFFFFF
    slot = key & (len(slots) - 1)
    while slots[slot] != NO_PATTERN:
        pattern = slots[slot]
        if group[pattern] == row_group:
            same = True
            for i in range(len(row)):
                if members[pattern, i] != row[i]:
                    same = False
                    break
            if same:
                return slot
        slot = (slot + 1) & (len(slots) - 1)
    return slot
