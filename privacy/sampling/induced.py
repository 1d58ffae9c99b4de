"""The join tuples that a set of privacy units induces: those of which every owner is in the set."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.join_tuples import CompactJoinTuples
from privacy.kernel import kernel


def induced(tuples: CompactJoinTuples, kept: NDArray[np.bool_]) -> CompactJoinTuples:
    """Keep a tuple where all its owners are kept; equal to compacting those tuples alone.

    Args:
      tuples: m join tuples of n units, in canonical order.
      kept: (n,) bool.
    Returns: the tuples that stay, in canonical order, their units numbered anew so that each occurs.
    Raises: InvalidParameter for another number of units.
    Cost: two passes over the owners; an owner that is not kept ends the look at its tuple.
    Source: Fang and Yi (SIGMOD 2024), section 4.
    """
    if kept.shape != (tuples.n_units,) or kept.dtype != np.bool_:
        raise InvalidParameter("a unit is kept or not")
    stays = np.empty(len(tuples.group), np.bool_)
    code = np.zeros(tuples.n_units, np.int32)
    size, owners = _mark(tuples.indptr, tuples.units, kept, stays, code)
    n_units = _number(code)
    indptr, units = np.zeros(size + 1, np.int64), np.empty(owners, np.int32)
    _copy(tuples.indptr, tuples.units, stays, code, indptr, units)
    weights = np.ascontiguousarray(tuples.weights[:, stays])
    return CompactJoinTuples(indptr, units, n_units, tuples.group[stays], tuples.n_groups, weights)


@kernel
def _mark(
    indptr: NDArray[np.int64],
    units: NDArray[np.int32],
    kept: NDArray[np.bool_],
    stays: NDArray[np.bool_],
    code: NDArray[np.int32],
) -> tuple[int, int]:
    """Mark the tuples that stay and the units that occur in them; returns the numbers of tuples and of owners."""
    size, owners = 0, 0
    for t in range(len(stays)):
        all_kept = True
        for i in range(indptr[t], indptr[t + 1]):
            if not kept[units[i]]:
                all_kept = False
                break
        stays[t] = all_kept
        if all_kept:
            size += 1
            owners += indptr[t + 1] - indptr[t]
            for i in range(indptr[t], indptr[t + 1]):
                code[units[i]] = 1
    return size, owners


@kernel
def _number(code: NDArray[np.int32]) -> int:
    """Turn marks into ranks among the marked, in place; returns how many those are."""
    total = 0
    for unit in range(len(code)):
        mark = code[unit]
        code[unit] = total
        total += mark
    return total


@kernel
def _copy(
    indptr: NDArray[np.int64],
    units: NDArray[np.int32],
    stays: NDArray[np.bool_],
    code: NDArray[np.int32],
    new_indptr: NDArray[np.int64],
    new_units: NDArray[np.int32],
) -> None:
    """Write the owners of the tuples that stay."""
    row, end = 0, 0
    for t in range(len(stays)):
        if stays[t]:
            for i in range(indptr[t], indptr[t + 1]):
                new_units[end] = code[units[i]]
                end += 1
            row += 1
            new_indptr[row] = end
