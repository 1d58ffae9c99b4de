"""Both bounds of a program, recomputed in integers whatever a solver returns.

A solver's status proves nothing. From a solver's x this module builds a point that is feasible in exact integers.
From any y >= 0 it builds a bound above the optimum by weak duality:

    fbar <= sum_u c_u y_u + sum_t w_t max(0, 1 - sum_{u in U(t)} y_u).

Both use a fixed point that is finer than the units, so small thresholds lose nothing to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.join_tuples import Private
from privacy.kernel import kernel
from privacy.truncation.programs.program import PreparedProgram
from privacy.units import MAX_UNITS, Floats, Ints, exact_sum, from_halves

_SAFE = 1.0 - 2.0**-48
"""Shrinks a ratio by more than the rounding of the few float operations around it."""

_LOW_BITS = 32
_LOW = (1 << _LOW_BITS) - 1


@kernel
def unit_contributions(indptr: Ints, units: Ints, x: Ints, contribution: Ints) -> None:
    """Write each unit's total over its tuples' x into `contribution`, saturating at MAX_UNITS."""
    contribution[:] = 0
    for t in range(len(x)):
        for e in range(indptr[t], indptr[t + 1]):
            u = units[e]
            contribution[u] = min(contribution[u], MAX_UNITS - x[t]) + x[t]


@kernel
def make_feasible(indptr: Ints, units: Ints, caps: Ints, x: Ints, room: Ints) -> None:
    """Scale tuples down in place until no unit exceeds its cap; write what each cap leaves, >= 0, into `room`.

    Each tuple is scaled by the smallest ratio cap / total of its units.

    Rounding down after a ratio shrunk by 2^-48 keeps every sum below its cap. If a unit still exceeded its cap, it
    would lose its tuples. A saturated contribution is unknown, so its tuples count nothing.
    """
    unit_contributions(indptr, units, x, room)
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
        unit_contributions(indptr, units, x, room)
    for u in range(len(caps)):
        room[u] = caps[u] - room[u]


@kernel
def fill(indptr: Ints, units: Ints, weights: Ints, dual: Ints, one: int, slack: int, x: Ints, room: Ints) -> None:
    """Raise each tuple in place as far as its units have room, if its units' duals sum to at most one + slack."""
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
    """Add sum_t w_t max(0, one - sum of the duals of t's units) to a 128-bit total: its halves (low, high)."""
    for t in range(len(weights)):
        unpaid = np.int64(one)
        for e in range(indptr[t], indptr[t + 1]):
            unpaid -= dual[units[e]]
        if unpaid > 0:
            add_product(weights[t], np.uint64(unpaid), total)


@kernel
def add_products(left: Ints, right: Ints, total: NDArray[np.uint64]) -> None:
    """Add the inner product of two vectors >= 0 to a 128-bit total, given as its halves (low, high)."""
    for i in range(len(left)):
        add_product(left[i], right[i], total)


@kernel
def add_product(left: np.integer, right: np.integer, total: NDArray[np.uint64]) -> None:
    """Add left * right, both in [0, 2^63), to a 128-bit total, given as its halves (low, high).

    Both factors are split into 32-bit digits, whose products fit 64 bits.
    """
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


_CAP_BITS = 44
"""Caps are refined to about this many bits: 2^18 tuples at the cap of one unit still sum below saturation."""

_DUAL_BITS = 44
_DUAL_ONE = 1 << _DUAL_BITS
"""Duals are rounded to multiples of this part of one: 2^24 tuples that are priced at exactly one lose 2^-18."""

_DEGENERATE = _DUAL_ONE >> 20
"""Tuples priced at one, but for this much, are filled before the others."""


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(Private):
    """A proof that value <= fbar <= upper, where fbar is the program's optimum.

    Both bounds are whole multiples of 2^-bits of a weight unit, as Python integers without a limit.
    """

    value: int
    upper: int
    bits: int

    def within(self, slack: int) -> bool:
        """Are the bounds at most `slack` units apart?"""
        return self.upper - self.value <= slack << self.bits

    def plus(self, settled: int) -> Certificate:
        """The proof for a program that also has a separate part of exactly `settled` units."""
        return Certificate(self.value + (settled << self.bits), self.upper + (settled << self.bits), self.bits)

    def beside(self, other: Certificate) -> Certificate:
        """The proof about two programs that share nothing, from the proofs about each."""
        bits = max(self.bits, other.bits)
        mine, theirs = bits - self.bits, bits - other.bits
        return Certificate(
            (self.value << mine) + (other.value << theirs), (self.upper << mine) + (other.upper << theirs), bits
        )

    def joined(self, other: Certificate) -> Certificate:
        """The better of each bound of two proofs about the same program."""
        assert self.bits == other.bits
        return Certificate(max(self.value, other.value), min(self.upper, other.upper), self.bits)

    def floor(self, halvings: int = 0) -> int:
        """The value divided by 2^halvings, in whole units, rounded down.

        Sensitivity: for an exact value tau, as before rounding, because tau is a whole number of units.
        """
        return self.value >> (self.bits + halvings)

    def ceiling(self, halvings: int = 0) -> int:
        """The upper bound divided by 2^halvings, in whole units, rounded up."""
        return -(-self.upper >> (self.bits + halvings))


def certify(program: PreparedProgram, x: Floats, y: Floats) -> Certificate:
    """Recompute both bounds from a solver's point.

    Args:
      x: (m,) in multiples of program.scale; infeasible, not finite or nonsense only loosens the bounds.
      y: (n,) duals; negative or not finite entries count as zero.
    Cost: about ten passes over the owners.
    Source: weak duality of linear programs.
    """
    bits = max(0, _CAP_BITS - int(program.caps.max(initial=1)).bit_length())
    dual = np.rint(_within(y, 1.0) * _DUAL_ONE).astype(np.int64)
    # No tuple counts for more than a cap, and `bits` is what caps have room for: a weight above them would wrap.
    weights = np.minimum(program.weights, program.incidence.row_min(program.caps))
    fine = PreparedProgram(weights << bits, program.incidence, program.caps << bits)
    given = float(program.scale << bits)  # the scale that the solver was given, before the cut
    return Certificate(_primal_value(fine, x, given, dual), _dual_bound(fine, dual), bits)


def _within(values: Floats, most: float) -> Floats:
    """Clip values to [0, most]; NaN becomes 0."""
    return np.clip(np.nan_to_num(values, nan=0.0, posinf=most, neginf=0.0), 0.0, most)


@kernel
def whole_units(given: Floats, scale: float, weights: Ints) -> Ints:
    """(m,) a point in multiples of a scale, clipped to [0, 1] and to the weights, in whole units; NaN becomes 0."""
    x = np.zeros(len(weights), np.int64)
    for t in range(len(weights)):
        if given[t] > 0.0:
            x[t] = min(np.int64(np.floor(min(given[t], 1.0) * scale)), weights[t])
    return x


def _primal_value(program: PreparedProgram, given: Floats, scale: float, dual: Ints) -> int:
    """The value of a feasible point near the given one, in units: clipped, then filled, first where the dual pays."""
    incidence = program.incidence
    x = whole_units(given, scale, program.weights)
    room = np.empty_like(program.caps)
    make_feasible(incidence.indptr, incidence.units, program.caps, x, room)
    for slack in (_DEGENERATE, _DUAL_ONE << 8):
        fill(incidence.indptr, incidence.units, program.weights, dual, _DUAL_ONE, slack, x, room)
    return exact_sum(x)


def _dual_bound(program: PreparedProgram, dual: Ints) -> int:
    """The bound of this module's docstring at dual / 2^_DUAL_BITS, rounded up."""
    incidence = program.incidence
    total = np.zeros(2, np.uint64)
    add_products(program.caps, dual, total)
    add_unpaid(incidence.indptr, incidence.units, program.weights, dual, _DUAL_ONE, total)
    return -(-from_halves(total) >> _DUAL_BITS)
