"""Number the owners of join tuples and lay the tuples side by side by group: all that the scalar programs need."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.join_tuples import CodedJoinTuples, JoinTuples
from privacy.kernel import kernel
from privacy.truncation.codes.owner_codes import NOBODY, codes_by_relation
from privacy.truncation.join_check import check_join

_LIMIT = np.iinfo(np.int32).max


def encode(tuples: JoinTuples) -> CodedJoinTuples:
    """Number the privacy units, and drop tuples without an owner or outside the public groups.

    The owners of a tuple are the union over its positions. Nothing is merged or sorted: merging tuples of the same
    owners does not change fbar (privacy.md section 2, fact 2), and is done to the few that a solver sees.

    Args:
      tuples: m join tuples, k releases.
    Returns: at most m tuples. Weights are the given array, not a copy, when nothing is dropped or moved.
    Raises: InvalidParameter for lengths that differ, groups or weights out of range, keys that cannot be compared,
      more tuples or members than an int32 can number.
    Cost: linear: a few passes. Memory: 4 bytes per tuple and owner, twice that and a copy of the weights when
      tuples are dropped or have to be moved together by group.
    """
    check_join(tuples)
    m = len(tuples.group)
    if m > _LIMIT:
        raise InvalidParameter("more join tuples than an int32 can number")
    codes, relations = codes_by_relation(tuples.owners, m)
    n_codes = relations[-1][1] if relations else 0
    group = np.ascontiguousarray(tuples.group)
    everyone = (len(codes), len(codes))
    owners = everyone if len(codes) and _is_tidy(codes) else _tidy(codes)
    row_start = np.zeros(tuples.n_groups + 1, np.int64)
    in_place = _count(codes, group, row_start)
    np.cumsum(row_start, out=row_start)
    weights = tuples.weights
    if not in_place:
        alive = int(row_start[-1])
        moved, weights = np.empty((len(codes), alive), np.int32), np.empty((len(weights), alive), np.int64)
        _move(codes, group, tuples.weights, row_start[:-1].copy(), moved, weights)
        codes = moved
    member_start, units = np.array([0, n_codes]), np.arange(n_codes, dtype=np.int32)
    if tuples.n_groups != 1:
        member_start, units = _number_members(row_start, codes, n_codes)
        if int(member_start[-1]) > _LIMIT:
            raise InvalidParameter("more privacy units in groups than an int32 can number")
    owners = owners if weights.shape[1] else (1, 1)
    return CodedJoinTuples(codes, row_start, member_start, weights, owners, units, relations)


@kernel
def _is_tidy(codes: NDArray[np.int32]) -> bool:
    """Whether every position has an owner and no tuple has one twice; by position, in loops that vectorise."""
    positions, m = codes.shape
    untidy = 0
    for position in range(positions):
        own = codes[position]
        for t in range(m):
            untidy += own[t] < 0
        for before in range(position):
            other = codes[before]
            for t in range(m):
                untidy += own[t] == other[t]
    return untidy == 0


@kernel
def _tidy(codes: NDArray[np.int32]) -> tuple[int, int]:
    """Move the distinct owners of every tuple to the front, in place.

    Returns: how many a tuple that has any has at least and at most; (1, 1) without such tuples.
    """
    positions, m = codes.shape
    fewest, most = positions + 1, 1
    for t in range(m):
        size = 0
        for position in range(positions):
            code = codes[position, t]
            fresh = code >= 0
            for before in range(size):
                fresh &= codes[before, t] != code
            if fresh:
                codes[size, t] = code
                size += 1
        for position in range(size, positions):
            codes[position, t] = NOBODY
        if size:
            fewest, most = min(fewest, size), max(most, size)
    return min(fewest, most), most


@kernel
def _count(codes: NDArray[np.int32], group: NDArray[np.int64], row_start: NDArray[np.int64]) -> bool:
    """Count each group's owned tuples into row_start[1 + group]; whether all tuples count and are in order."""
    in_place, latest = len(codes) > 0, np.int64(0)
    for t in range(len(group) if len(codes) else 0):
        own = group[t]
        in_place &= (codes[0, t] >= 0) & (own >= latest)
        latest = own
        if own >= 0 and codes[0, t] >= 0:
            row_start[own + 1] += 1
    return in_place


@kernel
def _move(
    codes: NDArray[np.int32],
    group: NDArray[np.int64],
    weights: NDArray[np.int64],
    places: NDArray[np.int64],
    to_codes: NDArray[np.int32],
    to_weights: NDArray[np.int64],
) -> None:
    """Copy owned tuples of a group to the next place of that group, stably; `places` moves on."""
    for t in range(len(group) if len(codes) else 0):
        own = group[t]
        if own < 0 or codes[0, t] < 0:
            continue
        place = places[own]
        places[own] = place + 1
        for position in range(len(codes)):
            to_codes[position, place] = codes[position, t]
        for release in range(len(weights)):
            to_weights[release, place] = weights[release, t]


@kernel
def _number_members(
    row_start: NDArray[np.int64], codes: NDArray[np.int32], n_codes: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Number the units of each group, by group and then unit, in place of their codes.

    Returns: (G + 1,) where each group's members begin, and the unit of each member.
    Cost: linear, and a sort of each group's units.
    """
    member_start = np.zeros(len(row_start), np.int64)
    units = np.empty(n_codes, np.int32)
    number = np.full(n_codes, -1, np.int64)
    present = np.empty(n_codes, np.int32)
    count = 0
    for group in range(len(row_start) - 1):
        size = 0
        for position in range(len(codes)):
            own = codes[position]
            for t in range(row_start[group], row_start[group + 1]):
                if own[t] >= 0 and number[own[t]] < count:
                    number[own[t]] = count  # any number of this group says that the unit was seen
                    present[size] = own[t]
                    size += 1
        present[:size].sort()
        if count + size > len(units):
            longer = np.empty(2 * (count + size), np.int32)
            longer[:count] = units[:count]
            units = longer
        for rank in range(size):
            number[present[rank]] = count + rank
            units[count + rank] = present[rank]
        for position in range(len(codes)):
            own = codes[position]
            for t in range(row_start[group], row_start[group + 1]):
                if own[t] >= 0:
                    own[t] = number[own[t]]
        count += size
        member_start[group + 1] = count
    return member_start, units[:count].copy()
