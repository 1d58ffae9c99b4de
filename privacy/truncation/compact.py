"""Merge join tuples of the same people, so that the programs see each provenance set once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.join_tuples import CompactJoinTuples, JoinTuples
from privacy.truncation.owner_codes import NOBODY, owner_codes
from privacy.units import MAX_UNITS, saturating_sums

_KEY_LIMIT = 1 << 63


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
    Cost: linear, and one sort of the surviving rows.
    """
    _check(tuples)
    codes, n_codes = owner_codes(tuples.owners, len(tuples.group))
    sets = _sorted_sets(codes, n_codes)
    alive = np.flatnonzero((tuples.group >= 0) & np.any(sets != NOBODY, axis=1))
    sets, group = sets[alive], tuples.group[alive]

    columns = [group, *sets.T]
    sizes = [tuples.n_groups] + [n_codes + 1] * sets.shape[1]
    keys = _packed(columns, sizes)
    order = np.lexsort(keys[::-1]) if len(keys) > 1 else np.argsort(keys[0], kind="stable")
    starts = np.ones(len(order), bool)
    starts[1:] = np.any([key[order][1:] != key[order][:-1] for key in keys], axis=0)
    run = np.cumsum(starts) - 1
    first = order[starts]
    return _assembled(
        sets[first], group[first], tuples.n_groups, _merged(tuples.weights, alive[order], run, len(first))
    )


def _check(tuples: JoinTuples) -> None:
    """Refuse what the backend must never return."""
    group, weights = tuples.group, tuples.weights
    if group.ndim != 1 or weights.ndim != 2 or weights.shape[1] != len(group):
        raise InvalidParameter("weights must be (k, m) and groups (m,)")
    if weights.dtype != np.int64 or group.dtype != np.int64:
        raise InvalidParameter("weights and groups must be int64")
    if tuples.n_groups < 0 or not np.all((group >= -1) & (group < tuples.n_groups)):
        raise InvalidParameter("a group is outside the public list")
    if not np.all((weights >= 0) & (weights <= MAX_UNITS)):
        raise InvalidParameter("a weight is outside [0, MAX_UNITS]")


def _sorted_sets(codes: NDArray[np.int64], n_codes: int) -> NDArray[np.int64]:
    """Each row's distinct codes ascending, then NOBODY."""
    if codes.shape[1] == 0:
        return codes
    last = np.where(codes == NOBODY, n_codes, codes)
    last.sort(axis=1)
    repeated = last[:, 1:] == last[:, :-1]
    if repeated.any():
        last[:, 1:][repeated] = n_codes
        last.sort(axis=1)
    return np.where(last == n_codes, NOBODY, last)


def _packed(columns: list[NDArray[np.int64]], sizes: list[int]) -> list[NDArray[np.int64]]:
    """Fewer columns with the same lexicographic order: neighbours share one int64 while they fit.

    Column i holds values in [-1, sizes[i] - 1) or, for the first, [0, sizes[0]).
    """
    packed = [columns[0]]
    width = sizes[0]
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        if width * size < _KEY_LIMIT:
            packed[-1] = packed[-1] * size + (column + 1)
            width *= size
        else:
            packed.append(column + 1)
            width = size
    return packed


def _merged(
    weights: NDArray[np.int64], rows: NDArray[np.intp], run: NDArray[np.intp], size: int
) -> NDArray[np.int64]:
    """(k, size) weights of the merged tuples."""
    merged = np.empty((len(weights), size), np.int64)
    for release, weight in enumerate(weights):
        merged[release] = saturating_sums(run, weight[rows], size)
    return merged


def _assembled(
    sets: NDArray[np.int64], group: NDArray[np.int64], n_groups: int, weights: NDArray[np.int64]
) -> CompactJoinTuples:
    """The CSR form, with units renumbered so that exactly those that occur have a code."""
    owned = sets != NOBODY
    flat = sets[owned]
    occurs = np.zeros(int(flat.max()) + 1 if len(flat) else 0, bool)
    occurs[flat] = True
    code = np.cumsum(occurs) - 1
    n_units = int(occurs.sum())
    if n_units > np.iinfo(np.int32).max:
        raise InvalidParameter("more privacy units than an int32 can number")
    indptr = np.zeros(len(sets) + 1, np.int64)
    np.cumsum(owned.sum(axis=1), out=indptr[1:])
    return CompactJoinTuples(indptr, code[flat].astype(np.int32), n_units, group.copy(), n_groups, weights)
