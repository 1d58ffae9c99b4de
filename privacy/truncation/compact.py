"""Merge join tuples of the same people, so that the programs see each provenance set once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.join_tuples import CompactJoinTuples, JoinTuples
from privacy.kernel import kernel
from privacy.truncation.owner_codes import owner_codes
from privacy.truncation.provenance_keys import KeyFormat, provenance_keys, sort_keys
from privacy.units import MAX_UNITS


def compact(tuples: JoinTuples) -> CompactJoinTuples:
    """Code the privacy units and merge tuples that have the same group and the same set of owners.

    The owners of a tuple are the union over its positions. Tuples without an owner or outside the public
    groups are dropped. Equal tables give equal arrays, whatever the order of their rows: sorted by group,
    then by provenance set.

    Args:
      tuples: m join tuples, k releases.
    Returns: at most m tuples, weights summed and saturating at MAX_UNITS. Merging keeps fbar
      (privacy.md section 2, fact 2); saturation keeps it too, because no tuple may count above tau <= MAX_UNITS.
    Raises: InvalidParameter for lengths that differ, groups or weights out of range, keys that cannot be compared.
    Cost: linear: a few passes to code the owners, one per byte of a provenance set to sort them, one to merge.
      Memory: at most 60 bytes per tuple and owner beside the input, of integers.
    """
    _check(tuples)
    m = len(tuples.group)
    codes, n_codes = owner_codes(tuples.owners, m)
    form = KeyFormat(tuples.n_groups, n_codes, len(tuples.owners))
    keys, rows = provenance_keys(codes, np.ascontiguousarray(tuples.group), form)
    del codes
    every_unit_occurs = len(rows) == m
    keys, rows = sort_keys(keys, rows, form)
    merged = _merged(keys, rows, tuples, form)
    return merged if every_unit_occurs else _renumbered(merged, n_codes)


def _check(tuples: JoinTuples) -> None:
    """Refuse what the backend must never return."""
    group, weights = tuples.group, tuples.weights
    if group.ndim != 1 or weights.ndim != 2 or weights.shape[1] != len(group):
        raise InvalidParameter("weights must be (k, m) and groups (m,)")
    if weights.dtype != np.int64 or group.dtype != np.int64:
        raise InvalidParameter("weights and groups must be int64")
    if tuples.n_groups < 1 or group.min(initial=0) < -1 or group.max(initial=0) >= tuples.n_groups:
        raise InvalidParameter("a group is outside the public list")
    if weights.min(initial=0) < 0 or weights.max(initial=0) > MAX_UNITS:
        raise InvalidParameter("a weight is outside [0, MAX_UNITS]")


def _merged(
    keys: NDArray[np.int64], rows: NDArray[np.integer], tuples: JoinTuples, form: KeyFormat
) -> CompactJoinTuples:
    """The CSR form of sorted keys."""
    size, owners = _count(keys, form.ends, form.code_bits)
    group, indptr, units = np.empty(size, np.int64), np.zeros(size + 1, np.int64), np.empty(owners, np.int32)
    _decode(keys, form.ends, form.code_bits, group, indptr, units)
    weights = np.zeros((len(tuples.weights), size), np.int64)
    for release, weight in enumerate(tuples.weights):
        _add_up(keys, rows, weight, weights[release])
    return CompactJoinTuples(indptr, units, form.n_codes, group, form.n_groups, weights)


def _renumbered(tuples: CompactJoinTuples, n_codes: int) -> CompactJoinTuples:
    """Number the units so that exactly those that occur have a code; changes the units in place."""
    n_units = _renumber(tuples.units, np.zeros(n_codes, np.int32))
    return CompactJoinTuples(tuples.indptr, tuples.units, n_units, tuples.group, tuples.n_groups, tuples.weights)


@kernel
def _differs(keys: NDArray[np.int64], i: int) -> bool:
    """Whether key i begins a run of equal keys."""
    for word in range(len(keys)):  # noqa: SIM110 - a loop that numba compiles
        if i == 0 or keys[word, i] != keys[word, i - 1]:
            return True
    return False


@kernel
def _count(keys: NDArray[np.int64], ends: NDArray[np.int64], bits: int) -> tuple[int, int]:
    """How many runs of equal keys there are, and how many owners they have together."""
    runs, owners = 0, 0
    for i in range(keys.shape[1]):
        if _differs(keys, i):
            runs += 1
            for word in range(len(ends) - 1):
                key = keys[word, i]
                for _ in range(ends[word], ends[word + 1]):
                    owners += (key & ((1 << bits) - 1)) != 0
                    key >>= bits
    return runs, owners


@kernel
def _decode(
    keys: NDArray[np.int64],
    ends: NDArray[np.int64],
    bits: int,
    group: NDArray[np.int64],
    indptr: NDArray[np.int64],
    units: NDArray[np.int32],
) -> None:
    """Write group and owners of every run."""
    run, end = 0, 0
    for i in range(keys.shape[1]):
        if not _differs(keys, i):
            continue
        group[run] = keys[0, i] >> (bits * (ends[1] - ends[0]))
        for word in range(len(ends) - 1):
            for position in range(ends[word], ends[word + 1]):
                field = (keys[word, i] >> (bits * (ends[word + 1] - 1 - position))) & ((1 << bits) - 1)
                if field:
                    units[end] = field - 1
                    end += 1
        run += 1
        indptr[run] = end


@kernel
def _add_up(
    keys: NDArray[np.int64], rows: NDArray[np.integer], weights: NDArray[np.int64], totals: NDArray[np.int64]
) -> None:
    """Sum the weights of every run, saturating: total + weight <= 2 MAX_UNITS would wrap, so it is cut before."""
    run = -1
    for i in range(keys.shape[1]):
        run += _differs(keys, i)
        weight = weights[rows[i]]
        totals[run] = min(totals[run], MAX_UNITS - weight) + weight


@kernel
def _renumber(units: NDArray[np.int32], code: NDArray[np.int32]) -> int:
    """Replace units by their ranks among those that occur, in place; returns how many those are."""
    for unit in units:
        code[unit] = 1
    total = 0
    for unit in range(len(code)):
        mark = code[unit]
        code[unit] = total
        total += mark
    for i in range(len(units)):
        units[i] = code[units[i]]
    return total
