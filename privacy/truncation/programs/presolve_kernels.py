"""The loops of the presolve: one pass over the owners each, exact integers that stop at MAX_UNITS."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.kernel import kernel
from privacy.units import MAX_UNITS

Ints = NDArray[np.int64]

_LOW_BITS = 31
_LOW = (1 << _LOW_BITS) - 1


@kernel
def clip_and_load(indptr: Ints, units: Ints, weights: Ints, caps: Ints, load: Ints) -> None:
    """In place: no tuple weighs more than its smallest cap; load = what each unit's tuples weigh, saturating."""
    load[:] = 0
    for t in range(len(weights)):
        weight = weights[t]
        for e in range(indptr[t], indptr[t + 1]):
            weight = min(weight, caps[units[e]])
        weights[t] = weight
        for e in range(indptr[t], indptr[t + 1]):
            u = units[e]
            load[u] = min(load[u], MAX_UNITS - weight) + weight


@kernel
def drop_dominated(indptr: Ints, units: Ints, caps: Ints, degree: Ints, binding: NDArray[np.bool_]) -> None:
    """In place: a unit never binds when all its tuples share another binding unit whose cap is no larger.

    Of two units with the same tuples and caps the first stays. Domination is transitive, so that all the
    dominated may leave at once. At most two candidates per unit are followed: linear.
    """
    first = np.full(len(caps), -1, np.int64)
    second = np.full(len(caps), -1, np.int64)
    fresh = np.ones(len(caps), np.bool_)
    for t in range(len(indptr) - 1):
        begin, end = indptr[t], indptr[t + 1]
        for e in range(begin, end):
            u = units[e]
            if fresh[u]:
                fresh[u] = False
                for f in range(begin, end):
                    v = units[f]
                    if f != e and binding[v] and _beats(caps, degree, v, u):
                        if first[u] < 0:
                            first[u] = v
                        elif second[u] < 0:
                            second[u] = v
            elif first[u] >= 0 or second[u] >= 0:
                has_first = has_second = False
                for f in range(begin, end):
                    has_first = has_first or units[f] == first[u]
                    has_second = has_second or units[f] == second[u]
                if not has_first:
                    first[u] = -1
                if not has_second:
                    second[u] = -1
    for u in range(len(caps)):
        if first[u] >= 0 or second[u] >= 0:
            binding[u] = False


@kernel
def _beats(caps: Ints, degree: Ints, v: int, u: int) -> bool:
    """Whether v may be the reason to drop u: an order, so that no two units drop each other."""
    if caps[v] != caps[u]:
        return bool(caps[v] < caps[u])
    if degree[v] != degree[u]:
        return bool(degree[v] > degree[u])
    return bool(v < u)


@kernel
def ascends(indptr: Ints, units: Ints) -> bool:
    """Whether each tuple's units ascend, and the tuples by their units, no two of them equal."""
    for t in range(len(indptr) - 1):
        begin, end = indptr[t], indptr[t + 1]
        for e in range(begin + 1, end):
            if units[e - 1] >= units[e]:
                return False
        if t == 0:
            continue
        before = indptr[t - 1]
        shared = min(begin - before, end - begin)
        i = 0
        while i < shared and units[before + i] == units[begin + i]:
            i += 1
        if i == shared:
            if end - begin <= begin - before:
                return False
        elif units[before + i] > units[begin + i]:
            return False
    return True


@kernel
def keep_contested(
    indptr: Ints,
    units: Ints,
    weights: Ints,
    binding: NDArray[np.bool_],
    caps: Ints,
    wanted: Ints,
    free: Ints,
    shortened: NDArray[np.bool_],
) -> tuple[int, int]:
    """In place: keep the binding units of the tuples that have two or more, sorted; count the others.

    Args:
      wanted: (n,) gets what tuples with one binding unit weigh, saturating.
      free: (2,) gets the low and the high part of what tuples without one weigh.
      shortened: (width + 1,) is set at the numbers of units that a kept tuple has now and had not before.
    Returns: how many tuples and entries are kept, at the front of the arrays.
    """
    wanted[:] = 0
    rows = entries = 0
    for t in range(len(weights)):
        begin, end = indptr[t], indptr[t + 1]
        alive = weights[t] > 0
        count = 0
        alone = np.int64(0)
        for e in range(begin, end):
            if binding[units[e]]:
                count += 1
                alone = units[e]
        if count == 0:
            free[0] += weights[t] & _LOW
            free[1] += weights[t] >> _LOW_BITS
        elif count == 1:
            wanted[alone] = min(wanted[alone], MAX_UNITS - weights[t]) + weights[t]
        elif alive:
            indptr[rows] = entries
            weights[rows] = weights[t]
            rows += 1
            start = entries
            if count < end - begin:
                shortened[count] = True
            for e in range(begin, end):
                u = units[e]
                if binding[u]:
                    place = entries
                    while place > start and units[place - 1] > u:
                        units[place] = units[place - 1]
                        place -= 1
                    units[place] = u
                    entries += 1
    indptr[rows] = entries
    return rows, entries


@kernel
def merge_equal(indptr: Ints, units: Ints, weights: Ints, may_equal: NDArray[np.bool_]) -> tuple[int, int]:
    """In place: equal unit sets (sorted) become one tuple with the summed weight, saturating, at the first place.

    Args:
      may_equal: (width + 1,) whether two tuples of so many units may be equal; the others are known to differ.
    Returns: how many tuples and entries are kept.
    Cost: one lookup per tuple that may equal another, in a table at most half full.
    """
    compared = 0
    for t in range(len(weights)):
        compared += may_equal[indptr[t + 1] - indptr[t]]
    if compared == 0:
        return len(weights), len(units)
    size = 16
    while size < 2 * compared:
        size *= 2
    table = np.full(size, -1, np.int32)
    rows = entries = 0
    for t in range(len(weights)):
        begin, end = indptr[t], indptr[t + 1]
        if may_equal[end - begin]:
            code = np.uint64(end - begin)
            for e in range(begin, end):
                code = (code ^ np.uint64(units[e])) * np.uint64(0x9E3779B97F4A7C15)
                code ^= code >> np.uint64(29)
            slot = np.int64(code & np.uint64(size - 1))
            while table[slot] >= 0 and not _equal(indptr, units, table[slot], begin, end):
                slot = (slot + 1) & (size - 1)
            found = table[slot]
            if found >= 0:
                weights[found] = min(weights[found], MAX_UNITS - weights[t]) + weights[t]
                continue
            table[slot] = rows
        indptr[rows] = entries
        weights[rows] = weights[t]
        for e in range(begin, end):
            units[entries] = units[e]
            entries += 1
        rows += 1
        indptr[rows] = entries  # where it is not behind the reading place, it is what stands there already
    return rows, entries


@kernel
def _equal(indptr: Ints, units: Ints, row: int, begin: int, end: int) -> bool:
    """Whether a kept tuple has the units of the entries [begin, end)."""
    start = indptr[row]
    if indptr[row + 1] - start != end - begin:
        return False
    for i in range(end - begin):  # noqa: SIM110 (numba compiles no generators)
        if units[start + i] != units[begin + i]:
            return False
    return True


@kernel
def pack_keys(indptr: Ints, units: Ints, base: int, in_one_key: int, keys: Ints) -> None:
    """keys[k, t] = the k-th run of so many units of tuple t, digits of this base, highest first; 0 is nobody."""
    width = max(1, len(keys)) * in_one_key
    for t in range(len(indptr) - 1):
        begin, length = indptr[t], indptr[t + 1] - indptr[t]
        key = np.int64(0)
        for place in range(width):
            digit = units[begin + place] + 1 if place < length else np.int64(0)
            key = key * base + digit
            if (place + 1) % in_one_key == 0:
                keys[place // in_one_key, t] = key
                key = np.int64(0)


@kernel
def take_rows(indptr: Ints, units: Ints, order: NDArray[np.integer], indptr_out: Ints, units_out: Ints) -> None:
    """Write the tuples in this order."""
    end = 0
    indptr_out[0] = 0
    for i in range(len(order)):
        for e in range(indptr[order[i]], indptr[order[i] + 1]):
            units_out[end] = units[e]
            end += 1
        indptr_out[i + 1] = end
