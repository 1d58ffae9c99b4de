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
def keep_contested(
    indptr: Ints, units: Ints, weights: Ints, binding: NDArray[np.bool_], caps: Ints, wanted: Ints, free: Ints
) -> tuple[int, int]:
    """In place: keep the binding units of the tuples that have two or more, sorted; count the others.

    Args:
      wanted: (n,) gets what tuples with one binding unit weigh, saturating.
      free: (2,) gets the low and the high part of what tuples without one weigh.
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
def merge_equal(indptr: Ints, units: Ints, weights: Ints) -> tuple[int, int]:
    """In place: equal unit sets (sorted) become one tuple with the summed weight, saturating, at the first place.

    Returns: how many tuples and entries are kept.
    Cost: one lookup per tuple in a table at most half full.
    """
    size = 16
    while size < 2 * len(weights):
        size *= 2
    table = np.full(size, -1, np.int32)
    rows = entries = 0
    for t in range(len(weights)):
        begin, end = indptr[t], indptr[t + 1]
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
