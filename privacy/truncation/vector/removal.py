"""Who is removed at one threshold, and what is left: the answer of the vector program."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.join_tuples import CompactJoinTuples
from privacy.kernel import kernel
from privacy.truncation.vector.shares import SHARE_BITS, WHOLE

_HALF = SHARE_BITS
_MASK = WHOLE - 1


@dataclass(frozen=True, eq=False, repr=False)
class Removal:
    """A feasible point of the vector program with a certificate: E in [lower, removed], removed - lower <= the gap.

    Attributes:
      removed: sum of the shares, in steps of 2^-31 persons; what a mechanism uses as E.
      lower: a proved lower bound on E, in the same steps.
      shares: (n_units,) float64 s on the grid of 2^-31.
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
    Returns: (d,) exact integers, in units of 2^-31 of a weight unit.
    Sensitivity: at most tau (E(I) + E(I') + 1) in L2 for any feasible shares with sums E (privacy.md section 5).
    Cost: one pass over the owners.
    """
    limbs = np.zeros((tuples.n_groups, 3), np.int64)
    steps = (shares * WHOLE).astype(np.int64)
    _add_up(tuples.indptr, tuples.units, tuples.group, tuples.weights[release], steps, limbs)
    return tuple(low + (middle << _HALF) + (high << 2 * _HALF) for low, middle, high in limbs.tolist())


@kernel
def _add_up(
    indptr: NDArray[np.int64],
    units: NDArray[np.int32],
    group: NDArray[np.int64],
    weights: NDArray[np.int64],
    steps: NDArray[np.int64],
    limbs: NDArray[np.int64],
) -> None:
    """Limbs of 31 bits: a tuple adds less than 2^32 to each, so 2^31 tuples fit; products are at most 2^62."""
    for t in range(len(group)):
        left = WHOLE
        for entry in range(indptr[t], indptr[t + 1]):
            left -= steps[units[entry]]
        if left > 0:
            low = (weights[t] & _MASK) * left
            high = (weights[t] >> _HALF) * left
            limbs[group[t], 0] += low & _MASK
            limbs[group[t], 1] += (low >> _HALF) + (high & _MASK)
            limbs[group[t], 2] += high >> _HALF
