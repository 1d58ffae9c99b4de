"""Merge join tuples of the same people, so that the programs see each provenance set once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.join_tuples import CompactJoinTuples, JoinTuples
from privacy.kernel import kernel
from privacy.truncation.codes.owner_codes import owner_codes
from privacy.truncation.codes.provenance_keys import KeyFormat, provenance_keys, sort_keys
from privacy.truncation.join_check import check_join
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
    check_join(tuples)
    m = len(tuples.group)
    codes, n_codes = owner_codes(tuples.owners, m)
    form = KeyFormat(tuples.n_groups, n_codes, len(tuples.owners))
    keys, rows = provenance_keys(codes, np.ascontiguousarray(tuples.group), form)
    del codes
    keys, rows = sort_keys(keys, rows, form)
    return _renumbered(_merged(keys, rows, tuples, form), n_codes)


def _merged(
    keys: NDArray[np.int64], rows: NDArray[np.integer], tuples: JoinTuples, form: KeyFormat
) -> CompactJoinTuples:
    """The CSR form of sorted keys. Arrays are made as long as they can be, and what is not written stays unused."""
    m = keys.shape[1]
    group, indptr, units = np.zeros(m, np.int64), np.empty(m + 1, np.int64), np.empty(m * form.positions, np.int32)
    weights = np.empty((len(tuples.weights), m), np.int64)
    size, owners = _merge(keys, rows, tuples.weights, form.ends, form.code_bits, group, indptr, units, weights)
    if size < m:
        weights = weights[:, :size] if len(weights) == 1 else np.ascontiguousarray(weights[:, :size])
    return CompactJoinTuples(indptr[: size + 1], units[:owners], form.n_codes, group[:size], form.n_groups, weights)


def _renumbered(tuples: CompactJoinTuples, n_codes: int) -> CompactJoinTuples:
    """Number the units so that exactly those that occur have a code; changes the units in place."""
    n_units = _renumber(tuples.units, np.zeros(n_codes, np.int32))
    return CompactJoinTuples(tuples.indptr, tuples.units, n_units, tuples.group, tuples.n_groups, tuples.weights)


@kernel
def _merge(
    keys: NDArray[np.int64],
    rows: NDArray[np.integer],
    weights: NDArray[np.int64],
    ends: NDArray[np.int64],
    bits: int,
    group: NDArray[np.int64],
    indptr: NDArray[np.int64],
    units: NDArray[np.int32],
    totals: NDArray[np.int64],
) -> tuple[int, int]:
    """Write group, owners and total weights of every run of equal keys; returns the numbers of runs and of owners.

    Totals saturate: total + weight <= 2 MAX_UNITS would wrap, so the total is cut to MAX_UNITS - weight before.
    """
    run, end = -1, 0
    words, releases, mask = len(keys), len(weights), (1 << bits) - 1
    indptr[0] = 0
    for i in range(keys.shape[1]):
        fresh = i == 0
        for word in range(words):
            fresh |= keys[word, i] != keys[word, i - 1]
        if fresh:
            run += 1
            number = keys[0, i] >> (bits * (ends[1] - ends[0]))
            if number:  # zeros that are never written take no memory
                group[run] = number
            for word in range(words):
                key, shift = keys[word, i], bits * (ends[word + 1] - ends[word])
                for _ in range(ends[word], ends[word + 1]):
                    shift -= bits
                    field = (key >> shift) & mask
                    if field:
                        units[end] = field - 1
                        end += 1
            indptr[run + 1] = end
            for release in range(releases):
                totals[release, run] = weights[release, rows[i]]
            continue
        for release in range(releases):
            weight = weights[release, rows[i]]
            totals[release, run] = min(totals[release, run], MAX_UNITS - weight) + weight
    return run + 1, end


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
