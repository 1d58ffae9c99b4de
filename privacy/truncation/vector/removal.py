"""Who is removed at one threshold, and what is left: the answer of the vector program."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.join_tuples import CompactJoinTuples
from privacy.kernel import kernel
from privacy.truncation.vector.certificate.shares import GRID, SHARE_BITS

_LIMB = 31
_LIMB_MASK = (1 << _LIMB) - 1
_HALF_OF_REMOVED = SHARE_BITS // 2
_HALF_MASK = (1 << _HALF_OF_REMOVED) - 1
_PLACES = (0, _LIMB, 2 * _LIMB, _HALF_OF_REMOVED, _HALF_OF_REMOVED + _LIMB, _HALF_OF_REMOVED + 2 * _LIMB)
"""What each limb of a sum is worth: two runs of three, for the lower and the upper half of what is left."""


@dataclass(frozen=True, eq=False, repr=False)
class Removal:
    """A feasible point of the vector program with a certificate: E in [lower, removed], removed - lower <= the gap.

    Attributes:
      removed: sum of the shares, in steps of 2^-31 persons, rounded up; what a mechanism uses as E.
      lower: a proved lower bound on E, in the same steps.
      shares: (n_units,) float64 s on the grid of 2^-SHARE_BITS.
    """

    removed: int
    lower: int
    shares: NDArray[np.float64]

    def __repr__(self) -> str:
        return "Removal(<private>)"


def truncated_sums(tuples: CompactJoinTuples, release: int, shares: NDArray[np.float64]) -> tuple[int, ...]:
    """What is left of every group: sum_t w_t max(0, 1 - sum of the shares of its owners).

    Args:
      shares: (n_units,) on the grid.
    Returns: (d,) exact integers, in units of 2^-SHARE_BITS of a weight unit.
    Sensitivity: at most tau (E(I) + E(I') + 1) in L2 for any feasible shares with sums E (privacy.md section 5).
    Cost: one pass over the owners.
    """
    limbs = np.zeros((tuples.n_groups, len(_PLACES)), np.int64)
    steps = (shares * GRID).astype(np.int64)
    _add_up(tuples.indptr, tuples.units, tuples.group, tuples.weights[release], steps, limbs)
    return tuple(sum(limb << place for limb, place in zip(row, _PLACES, strict=True)) for row in limbs.tolist())


@kernel
def _add_up(
    indptr: NDArray[np.int64],
    units: NDArray[np.int32],
    group: NDArray[np.int64],
    weights: NDArray[np.int64],
    steps: NDArray[np.int64],
    limbs: NDArray[np.int64],
) -> None:
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
