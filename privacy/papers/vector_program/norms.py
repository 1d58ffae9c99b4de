"""Exact norms of units, removed units, and the sums that are left.

The norm of what each unit contributes without removal, for every threshold at once; and the answer of the vector
program at one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from privacy.join_tuples import CompactJoinTuples, Private
from privacy.kernel import kernel
from privacy.papers.vector_program.certificate import GRID, SHARE_BITS, all_but
from privacy.units import MAX_UNITS, Bools, Floats, Int32s, Ints

_HALF = 31
_MASK = (1 << _HALF) - 1
_LOW = 1 << 62
_LOW_MASK = _LOW - 1
_ROUNDING = 1.0 - 2.0**-48
"""Covers the four roundings between an exact squared norm and a ratio to it."""


@dataclass(frozen=True, eq=False, repr=False)
class SquaredNorms(Private):
    """Squared L2 norms over groups, as high * 2^62 + low in squared units.

    Attributes:
      high: (n,) int64 in [0, 2^62 + 1]; 2^62 + 1 means more than any threshold squared.
      low: (n,) int64 in [0, 2^62).
      degree: (n,) int64 how many tuples of positive weight each unit owns.
    """

    high: Ints
    low: Ints
    degree: Ints

    def exceed(self, tau: int) -> Bools:
        """(n,) which norms are greater than tau <= MAX_UNITS."""
        high, low = divmod(tau * tau, _LOW)
        over: Bools = (self.high > high) | ((self.high == high) & (self.low > low))
        return over

    def shares(self, tau: int) -> Floats:
        """(n,) removal shares that bound every unit by tau through its own share: 1 - tau / norm, rounded up.

        Feasible because every tuple of u keeps at most 1 - s_u of itself; so their sum bounds E from above.
        """
        with np.errstate(divide="ignore"):
            kept = tau / self._norms * _ROUNDING
        return all_but(np.where(self.exceed(tau), kept, 1.0))

    @cached_property
    def _norms(self) -> Floats:
        """(n,) the norms; infinite where unknown."""
        norm = np.sqrt(self.high * float(_LOW) + self.low)
        return np.where(self.high > MAX_UNITS, np.inf, norm)


def squared_norms(tuples: CompactJoinTuples, release: int) -> SquaredNorms:
    """Sum each unit's weights per group exactly, and the squares over groups.

    Cost: one pass over the owners; memory O(n), whatever the number of groups, because groups come one after another.
    """
    high = np.zeros(tuples.n_units, np.int64)
    low = np.zeros(tuples.n_units, np.int64)
    degree = np.zeros(tuples.n_units, np.int64)
    _accumulate(tuples.indptr, tuples.units, tuples.group, tuples.weights[release], high, low, degree)
    return SquaredNorms(high, low, degree)


@kernel
def _accumulate(indptr: Ints, units: Int32s, group: Ints, weights: Ints, high: Ints, low: Ints, degree: Ints) -> None:
    """Contributions saturate at 2^62 + 1 before they can wrap; each finished group is squared into (high, low)."""
    contribution = np.zeros(len(high), np.int64)
    touched = np.empty(len(high), np.int32)
    start = 0
    while start < len(group):
        count, t = 0, start
        while t < len(group) and group[t] == group[start]:
            weight = weights[t]
            if weight > 0:
                for entry in range(indptr[t], indptr[t + 1]):
                    u = units[entry]
                    degree[u] += 1
                    if contribution[u] == 0:
                        touched[count] = u
                        count += 1
                    contribution[u] = (
                        contribution[u] + weight if contribution[u] <= MAX_UNITS - weight else MAX_UNITS + 1
                    )
            t += 1
        for i in range(count):
            u = touched[i]
            _add_square(high, low, u, contribution[u])
            contribution[u] = 0
        start = t


@kernel
def _add_square(high: Ints, low: Ints, u: int, contribution: int) -> None:
    """(high, low)[u] += contribution^2, saturating: every product below is at most 2^63 - 2^32."""
    if contribution > MAX_UNITS or high[u] > MAX_UNITS:
        high[u] = MAX_UNITS + 1
        return
    a, b = contribution >> _HALF, contribution & _MASK
    cross = 2 * a * b
    rest = low[u] + b * b
    carry = rest >> 62
    rest = (rest & _LOW_MASK) + ((cross & _MASK) << _HALF)
    carry += (rest >> 62) + (cross >> _HALF)
    low[u] = rest & _LOW_MASK
    square = a * a
    room = MAX_UNITS + 1 - high[u]
    high[u] = high[u] + square + carry if square <= room - carry else MAX_UNITS + 1


_LIMB = 31
_LIMB_MASK = (1 << _LIMB) - 1
_HALF_OF_REMOVED = SHARE_BITS // 2
_HALF_MASK = (1 << _HALF_OF_REMOVED) - 1
_PLACES = (0, _LIMB, 2 * _LIMB, _HALF_OF_REMOVED, _HALF_OF_REMOVED + _LIMB, _HALF_OF_REMOVED + 2 * _LIMB)
"""What each limb of a sum is worth: two runs of three, for the lower and the upper half of what is left."""


@dataclass(frozen=True, eq=False, repr=False)
class Removal(Private):
    """A feasible point of the vector program with a certificate: E in [lower, removed], removed - lower <= the gap.

    Attributes:
      removed: sum of the shares, in steps of 2^-31 persons, rounded up; mechanisms use it as E.
      lower: a proved lower bound on E, in the same steps.
      shares: (n_units,) float64 s on the grid of 2^-SHARE_BITS.
    """

    removed: int
    lower: int
    shares: Floats


def truncated_sums(tuples: CompactJoinTuples, release: int, shares: Floats) -> tuple[int, ...]:
    """What is left of every group: sum_t w_t max(0, 1 - sum of the shares of its owners).

    Args:
      shares: (n_units,) on the grid.
    Returns: (d,) exact integers, in units of 2^-SHARE_BITS of a weight unit.
    Sensitivity: at most tau (E(I) + E(I') + 1) in L2 for any feasible shares with sums E (docs/mathematics.md,
    section 11.1).
    Cost: one pass over the owners.
    """
    limbs = np.zeros((tuples.n_groups, len(_PLACES)), np.int64)
    steps = (shares * GRID).astype(np.int64)
    _add_up(tuples.indptr, tuples.units, tuples.group, tuples.weights[release], steps, limbs)
    return tuple(sum(limb << place for limb, place in zip(row, _PLACES, strict=True)) for row in limbs.tolist())


@kernel
def _add_up(indptr: Ints, units: Int32s, group: Ints, weights: Ints, steps: Ints, limbs: Ints) -> None:
    """A tuple adds less than 2^32 to a limb, so 2^31 tuples fit; products are below 2^57, and a sum ends at 0."""
    for t in range(len(group)):
        left = GRID
        for entry in range(indptr[t], indptr[t + 1]):
            left = max(left - steps[units[entry]], 0)
        if left > 0:
            for half in range(2):
                part = left & _HALF_MASK if half == 0 else left >> _HALF_OF_REMOVED
                low = (weights[t] & _LIMB_MASK) * part
                high = (weights[t] >> _LIMB) * part
                limbs[group[t], 3 * half] += low & _LIMB_MASK
                limbs[group[t], 3 * half + 1] += (low >> _LIMB) + (high & _LIMB_MASK)
                limbs[group[t], 3 * half + 2] += high >> _LIMB
