"""Two bounds of a program from one pass each: nearly always enough to see that a threshold does not matter."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.kernel import kernel
from privacy.truncation.programs.certificate import Certificate
from privacy.truncation.programs.program import PreparedProgram
from privacy.units import MAX_UNITS


def core_bounds(program: PreparedProgram) -> Certificate:
    """A greedy point below, even shares above.

    Below: every tuple takes what its owners' caps still allow, the least contested first: tuples are filed from the
    most contested down, so the last comes first. Feasible, and maximal.
    Above: split x_t evenly among the owners of t. A unit gets at most its even shares of the weights, and at most its
    cap divided by the fewest owners of one of its tuples.
    Returns: whole units, saturating at MAX_UNITS.
    Cost: two passes over the owners, in integers.
    """
    tables = program.incidence.indptr, program.incidence.units, program.weights, program.caps
    return Certificate(int(_greedy(*tables)), int(_even_shares(*tables)), 0)


@kernel
def _greedy(
    indptr: NDArray[np.int64], units: NDArray[np.int64], weights: NDArray[np.int64], caps: NDArray[np.int64]
) -> int:
    """The worth of the greedy point."""
    left = caps.copy()
    total = 0
    for t in range(len(weights) - 1, -1, -1):
        x = weights[t]
        for i in range(indptr[t], indptr[t + 1]):
            x = min(x, left[units[i]])
        for i in range(indptr[t], indptr[t + 1]):
            left[units[i]] -= x
        total = min(total, MAX_UNITS - x) + x
    return total


@kernel
def _even_shares(
    indptr: NDArray[np.int64], units: NDArray[np.int64], weights: NDArray[np.int64], caps: NDArray[np.int64]
) -> int:
    """Every sum is cut before an addition could wrap."""
    shares = np.zeros(len(caps), np.int64)
    fewest = np.full(len(caps), 1 << 31, np.int64)
    for t in range(len(weights)):
        owners = indptr[t + 1] - indptr[t]
        share = (weights[t] + owners - 1) // owners
        for i in range(indptr[t], indptr[t + 1]):
            u = units[i]
            shares[u] = min(shares[u], MAX_UNITS - share) + share
            fewest[u] = min(fewest[u], owners)
    total = 0
    for u in range(len(caps)):
        share = min(shares[u], (caps[u] + fewest[u] - 1) // fewest[u])
        total = min(total, MAX_UNITS - share) + share
    return total
