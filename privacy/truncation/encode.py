"""Check join tuples, number their privacy units, lay them out by group, and merge equal provenance sets.

`encode` lays tuples side by side by group, as scalar programs need them; `compact` merges those of the same people.
Both refuse what a backend must never return.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.join_tuples import CodedJoinTuples, CompactJoinTuples, JoinTuples
from privacy.kernel import kernel
from privacy.truncation.codes import NO_OWNER, KeyFormat, codes_by_relation, owner_codes, provenance_keys, sort_keys
from privacy.units import MAX_UNITS, Int32s, Ints


def check_join(tuples: JoinTuples) -> None:
    """Refuse groups and weights of other types or lengths, or out of range. Cost: one pass.

    Raises: InvalidParameter.
    """
    group, weights = tuples.group, tuples.weights
    if group.ndim != 1 or weights.ndim != 2 or weights.shape[1] != len(group):
        raise InvalidParameter("weights must be (k, m) and groups (m,)")
    if weights.dtype != np.int64 or group.dtype != np.int64:
        raise InvalidParameter("weights and groups must be int64")
    if tuples.n_groups < 0 or not _within(group, -1, tuples.n_groups - 1):
        raise InvalidParameter("a tuple has a group that is not in the public list")
    if not all(_within(row, 0, MAX_UNITS) for row in weights):
        raise InvalidParameter("weights must be in [0, MAX_UNITS]")


@kernel
def _within(values: Ints, low: int, high: int) -> bool:
    """Does every value lie in [low, high]? No early exit, which is faster."""
    outside = False
    for i in range(len(values)):
        outside |= (values[i] < low) | (values[i] > high)
    return not outside


_LIMIT = np.iinfo(np.int32).max


def encode(tuples: JoinTuples) -> CodedJoinTuples:
    """Number the privacy units, and drop tuples without an owner or outside the public groups.

    The owners of a tuple are the union over its positions. Nothing is merged or sorted. Merging tuples of the same
    owners does not change fbar (docs/mathematics.md, section 3.3), and happens for the few tuples that a solver sees.

    Args:
      tuples: m join tuples, k releases.
    Returns: at most m tuples. Weights are the given array, not a copy, if nothing is dropped or moved.
    Raises: InvalidParameter for lengths that differ, groups or weights out of range, keys that cannot be compared,
      more tuples or members than an int32 can number.
    Cost: linear: a few passes. Memory: 4 bytes per tuple and owner; twice that and a copy of the weights if tuples
      are dropped or moved.
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
def _is_tidy(codes: Int32s) -> bool:
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
def _tidy(codes: Int32s) -> tuple[int, int]:
    """Move the distinct owners of every tuple to the front, in place.

    Returns: the least and the most owners of a tuple with any; (1, 1) without such tuples.
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
            codes[position, t] = NO_OWNER
        if size:
            fewest, most = min(fewest, size), max(most, size)
    return min(fewest, most), most


@kernel
def _count(codes: Int32s, group: Ints, row_start: Ints) -> bool:
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
def _move(codes: Int32s, group: Ints, weights: Ints, places: Ints, to_codes: Int32s, to_weights: Ints) -> None:
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
def _number_members(row_start: Ints, codes: Int32s, n_codes: int) -> tuple[Ints, Int32s]:
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


def compact(tuples: JoinTuples) -> CompactJoinTuples:
    """Code the privacy units and merge tuples that have the same group and the same set of owners.

    The owners of a tuple are the union over its positions. Tuples without an owner or outside the public groups are
    dropped. Equal tables give equal arrays, whatever the order of their rows: sorted by group, then by provenance
    set.

    Args:
      tuples: m join tuples, k releases.
    Returns: at most m tuples, weights summed and saturating at MAX_UNITS. Both keep fbar (docs/mathematics.md,
      section 3.3), as no tuple may count above tau <= MAX_UNITS.
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


def _merged(keys: Ints, rows: NDArray[np.integer], tuples: JoinTuples, form: KeyFormat) -> CompactJoinTuples:
    """The CSR form of sorted keys. Arrays have their largest possible length; the rest stays unused."""
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
    keys: Ints,
    rows: NDArray[np.integer],
    weights: Ints,
    ends: Ints,
    bits: int,
    group: Ints,
    indptr: Ints,
    units: Int32s,
    totals: Ints,
) -> tuple[int, int]:
    """Write group, owners and total weights of every run of equal keys. Returns the numbers of runs and of owners.

    Totals saturate: total + weight <= 2 MAX_UNITS would wrap, so the total is clipped to MAX_UNITS - weight before.
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
def _renumber(units: Int32s, code: Int32s) -> int:
    """Replace units by their ranks among those that occur, in place. Returns how many occur."""
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
