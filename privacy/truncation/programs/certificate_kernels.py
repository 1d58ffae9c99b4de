"""The loops of the certificate: a feasible point and a dual bound in integers, a pass over the owners each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.kernel import kernel
from privacy.units import MAX_UNITS

Ints = NDArray[np.int64]

_SAFE = 1.0 - 2.0**-48
"""Shrinks a ratio by more than the rounding of the few float operations around it."""

_LOW_BITS = 32
_LOW = (1 << _LOW_BITS) - 1


@kernel
def unit_loads(indptr: Ints, units: Ints, x: Ints, load: Ints) -> None:
    """load = total of each unit's tuples, saturating at MAX_UNITS."""
    load[:] = 0
    for t in range(len(x)):
        for e in range(indptr[t], indptr[t + 1]):
            u = units[e]
            load[u] = min(load[u], MAX_UNITS - x[t]) + x[t]


@kernel
def make_feasible(indptr: Ints, units: Ints, caps: Ints, x: Ints, room: Ints) -> None:
    """In place: cut every tuple by its most overloaded unit, exactly; room = what each cap leaves, >= 0.

    Rounding down after a ratio shrunk by 2^-48 keeps every sum below its cap. That is not taken on trust
    either: a unit that still exceeded its cap would lose its tuples. A saturated load is unknown, so its
    tuples count nothing.
    """
    unit_loads(indptr, units, x, room)
    ratio = np.ones(len(caps))
    for u in range(len(caps)):
        if room[u] >= MAX_UNITS:
            ratio[u] = 0.0
        elif room[u] > caps[u]:
            ratio[u] = caps[u] / room[u] * _SAFE
    room[:] = 0
    for t in range(len(x)):
        worst = 1.0
        for e in range(indptr[t], indptr[t + 1]):
            worst = min(worst, ratio[units[e]])
        if worst < 1.0:
            x[t] = np.int64(x[t] * worst)
        for e in range(indptr[t], indptr[t + 1]):
            u = units[e]
            room[u] = min(room[u], MAX_UNITS - x[t]) + x[t]
    if np.any(room > caps):
        for t in range(len(x)):
            for e in range(indptr[t], indptr[t + 1]):
                if room[units[e]] > caps[units[e]]:
                    x[t] = 0
        unit_loads(indptr, units, x, room)
    for u in range(len(caps)):
        room[u] = caps[u] - room[u]


@kernel
def fill(indptr: Ints, units: Ints, weights: Ints, dual: Ints, one: int, slack: int, x: Ints, room: Ints) -> None:
    """In place: give each tuple in turn what its units have left, if its units' duals are at most one + slack."""
    for t in range(len(x)):
        grant = weights[t] - x[t]
        price = np.int64(0)
        for e in range(indptr[t], indptr[t + 1]):
            grant = min(grant, room[units[e]])
            price += dual[units[e]]
        if grant > 0 and price <= one + slack:
            x[t] += grant
            for e in range(indptr[t], indptr[t + 1]):
                room[units[e]] -= grant


@kernel
def add_unpaid(indptr: Ints, units: Ints, weights: Ints, dual: Ints, one: int, total: NDArray[np.uint64]) -> None:
    """total += sum_t w_t max(0, one - sum of the duals of its units), as two 64-bit halves (low, high)."""
    for t in range(len(weights)):
        unpaid = np.int64(one)
        for e in range(indptr[t], indptr[t + 1]):
            unpaid -= dual[units[e]]
        if unpaid > 0:
            add_product(weights[t], np.uint64(unpaid), total)


@kernel
def add_products(left: Ints, right: Ints, total: NDArray[np.uint64]) -> None:
    """total += the inner product of vectors >= 0, as two 64-bit halves (low, high)."""
    for i in range(len(left)):
        add_product(left[i], right[i], total)


@kernel
def add_product(left: np.integer, right: np.integer, total: NDArray[np.uint64]) -> None:
    """total += left * right for numbers in [0, 2^63): schoolbook, 32 bits at a time."""
    shift, mask = np.uint64(_LOW_BITS), np.uint64(_LOW)
    a, b = np.uint64(left), np.uint64(right)
    low = (a & mask) * (b & mask)
    cross = (a >> shift) * (b & mask) + (low >> shift)  # below 2^63 + 2^32
    middle = (a & mask) * (b >> shift) + (cross & mask)
    high = (a >> shift) * (b >> shift) + (cross >> shift) + (middle >> shift)
    part = (middle << shift) | (low & mask)
    total[0] += part
    if total[0] < part:
        total[1] += np.uint64(1)
    total[1] += high
