"""Exact reductions that finish most programs, and the parts that share no unit.

They shrink a program without changing its optimum, in integers that saturate at MAX_UNITS. Each part of the rest goes
to the method that suits it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.join_tuples import Private
from privacy.kernel import kernel
from privacy.truncation.codes import radix_sort, row_type
from privacy.truncation.programs.program import Incidence, PreparedProgram
from privacy.units import MAX_UNITS, Bools, Ints, exact_sum

_LOW_BITS = 31
_LOW = (1 << _LOW_BITS) - 1


@kernel
def clip_and_add(indptr: Ints, units: Ints, weights: Ints, caps: Ints, contribution: Ints) -> None:
    """In place: no tuple weighs more than its smallest cap; contribution = the weight of each unit, saturating."""
    contribution[:] = 0
    for t in range(len(weights)):
        weight = weights[t]
        for e in range(indptr[t], indptr[t + 1]):
            weight = min(weight, caps[units[e]])
        weights[t] = weight
        for e in range(indptr[t], indptr[t + 1]):
            u = units[e]
            contribution[u] = min(contribution[u], MAX_UNITS - weight) + weight


@kernel
def drop_dominated(indptr: Ints, units: Ints, caps: Ints, degree: Ints, binding: Bools) -> None:
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
    indptr: Ints, units: Ints, weights: Ints, binding: Bools, caps: Ints, wanted: Ints, free: Ints, shortened: Bools
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
def merge_equal(indptr: Ints, units: Ints, weights: Ints, may_equal: Bools) -> tuple[int, int]:
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
    """keys[k, t] = the k-th run of so many units of tuple t, digits of this base, highest first; 0 is "no unit"."""
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


def pairs_and_rest(program: PreparedProgram) -> tuple[PreparedProgram | None, PreparedProgram | None]:
    """The connected components in which every tuple has at most two owners, together, and all the others, together.

    The first part is a flow, exact in integers, so the whole gap is left for the other.
    Cost: linear. The order of tuples and units stays.
    """
    incidence = program.incidence
    crowded = _crowded(incidence.indptr, incidence.units, incidence.n_units)
    if np.all(crowded):
        return None, program
    if not np.any(crowded):
        return program, None
    of_rest = crowded[incidence.units[incidence.indptr[:-1]]]
    return _part(program, ~of_rest), _part(program, of_rest)


def _part(program: PreparedProgram, rows: Bools) -> PreparedProgram:
    """The tuples of some components, their units numbered afresh."""
    incidence = program.incidence
    units = incidence.units[np.repeat(rows, incidence.owners)]
    occurs = np.zeros(incidence.n_units, bool)
    occurs[units] = True
    indptr = np.zeros(int(rows.sum()) + 1, np.int64)
    np.cumsum(incidence.owners[rows], out=indptr[1:])
    part = Incidence(indptr, (np.cumsum(occurs) - 1)[units], int(occurs.sum()))
    return PreparedProgram(program.weights[rows], part, program.caps[occurs])


@kernel
def _crowded(indptr: Ints, units: Ints, n_units: int) -> Bools:
    """(n,) whether the component of each unit has a tuple with three owners or more. Union-find with halving."""
    parent = np.arange(n_units)
    for t in range(len(indptr) - 1):
        root = _root(parent, units[indptr[t]])
        for e in range(indptr[t] + 1, indptr[t + 1]):
            other = _root(parent, units[e])
            low, high = min(root, other), max(root, other)
            parent[high] = low
            root = low
    large = np.zeros(n_units, np.bool_)
    for t in range(len(indptr) - 1):
        if indptr[t + 1] - indptr[t] > 2:
            large[_root(parent, units[indptr[t]])] = True
    crowded = np.empty(n_units, np.bool_)
    for u in range(n_units):
        crowded[u] = large[_root(parent, u)]
    return crowded


@kernel
def _root(parent: Ints, u: int) -> int:
    while parent[u] != u:
        parent[u] = parent[parent[u]]
        u = parent[u]
    return u


_MAX_ROUNDS = 64
"""Each round is linear; what a chain of units leaves after this many goes to the solver."""


_KEY_BITS = 62
"""How many bits of a key are filled with owners."""


@dataclass(frozen=True, eq=False, repr=False)
class Presolved(Private):
    """The optimum of the given program is `settled` plus the optimum of `core`.

    Attributes:
      settled: exact value of the tuples that need no solver (a Python integer, unsaturated).
      core: what is left, no tuple above its smallest cap; None if the presolve finished the program.
    """

    settled: int
    core: PreparedProgram | None


def presolve(program: PreparedProgram) -> Presolved:
    """Apply exact reductions until nothing changes.

    1. A tuple weighs at most its smallest cap.
    2. A unit whose tuples weigh at most its cap never binds: drop it.
    3. A unit whose tuples all share another unit with no larger a cap never binds: drop it.
    4. A tuple whose units are all dropped counts in full.
    5. A tuple with one binding unit left can only help by filling that unit, so it fills it first. A full unit ends
      its other tuples.
    6. Tuples with equal units are one tuple, so that rule 1 clips their sum.

    Returns: the settled value and the core, in which every tuple has two or more binding units. Its order depends on
      the set of tuples alone.
    Cost: linear per round; a few rounds collapse most instances. Sorted tuples without equals are compared only if
      their number of owners is one that some tuple was reduced to.
    Source: docs/mathematics.md, section 3.3; rule 3 is row domination of packing programs.
    """
    work = _Work(program)
    for _ in range(_MAX_ROUNDS):
        if not work.round():
            break
    return Presolved(work.settled, work.core())


class _Work:
    """Arrays that shrink in place."""

    def __init__(self, program: PreparedProgram) -> None:
        self._indptr = program.incidence.indptr.astype(np.int64)
        self._units = program.incidence.units.astype(np.int64)
        self._weights = program.weights.copy()
        self._caps = program.caps.copy()
        self._contribution = np.empty(len(program.caps), np.int64)
        width = int(program.incidence.owners.max(initial=0))
        self._may_equal = np.full(width + 1, not ascends(self._indptr, self._units))
        self.settled = 0

    def round(self) -> bool:
        """Apply every rule once. Returns whether another round can find more."""
        n_rows, n_entries = len(self._weights), len(self._units)
        clip_and_add(self._indptr, self._units, self._weights, self._caps, self._contribution)
        binding = self._contribution > self._caps
        degree = np.bincount(self._units, minlength=len(self._caps))
        drop_dominated(self._indptr, self._units, self._caps, degree, binding)
        free = np.zeros(2, np.int64)
        wanted = self._contribution
        tables = self._indptr, self._units, self._weights
        self._shrink(*keep_contested(*tables, binding, self._caps, wanted, free, self._may_equal))
        filled = np.minimum(wanted, self._caps)
        self._caps -= filled
        self.settled += int(free[0]) + (int(free[1]) << _LOW_BITS) + exact_sum(filled)
        self._shrink(*merge_equal(self._indptr, self._units, self._weights, self._may_equal))
        self._may_equal[:] = False
        return bool(len(self._weights)) and (n_rows, n_entries) != (len(self._weights), len(self._units))

    def core(self) -> PreparedProgram | None:
        """What is left: units renumbered, tuples sorted, none above its smallest cap.

        The last round merged after it had clipped, and if rounds ran out no round came after it.
        """
        if not len(self._weights):
            return None
        clip_and_add(self._indptr, self._units, self._weights, self._caps, self._contribution)
        occurs = np.zeros(len(self._caps), bool)
        occurs[self._units] = True
        number = np.cumsum(occurs) - 1
        units, indptr, weights = number[self._units], self._indptr, self._weights
        if not ascends(indptr, units):
            order = _order(indptr, units, int(occurs.sum()))
            indptr, taken = np.empty(len(order) + 1, np.int64), np.empty_like(units)
            take_rows(self._indptr, units, order, indptr, taken)
            units, weights = taken, weights[order]
        return PreparedProgram(weights, Incidence(indptr, units, int(occurs.sum())), self._caps[occurs])

    def _shrink(self, rows: int, entries: int) -> None:
        self._indptr, self._units, self._weights = (
            self._indptr[: rows + 1],
            self._units[:entries],
            self._weights[:rows],
        )


def _order(indptr: Ints, units: Ints, n_units: int) -> NDArray[np.integer]:
    """The permutation that sorts tuples by their units, shorter sets first where one begins the other."""
    count, width = len(indptr) - 1, int(np.diff(indptr).max())
    in_one_key = min(width, max(1, int(_KEY_BITS // np.log2(n_units + 1))))  # "no unit" is a number too
    keys = np.empty((-(-width // in_one_key), count), np.int64)
    pack_keys(indptr, units, n_units + 1, in_one_key, keys)
    order: NDArray[np.integer] = np.arange(count, dtype=row_type(count))
    for place, key in enumerate(keys[::-1]):
        _, order = radix_sort(key[order] if place else key, order, _KEY_BITS + 1)
    return order
