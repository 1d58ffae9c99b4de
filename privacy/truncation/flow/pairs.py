"""A program of at most two members per tuple, as a weighted graph: members are its nodes, tuples its edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.errors import SolverFailed
from privacy.truncation.exact_sums import exact_sum, saturating_add
from privacy.truncation.programs.program import PreparedProgram
from privacy.units import saturating_sums


@dataclass(frozen=True, eq=False, repr=False)
class Pairs:
    """Maximise sum_e x_e with 0 <= x_e <= w_e and, for every member u, sum over its pairs x_e <= c_u.

    Attributes:
      first, second: (m,) int32 the members of each pair, different from each other; pairs may repeat.
      weights: (m,) int64 in [0, 2^62), at most the caps of both members.
      caps: (n,) int64 in [0, 2^62).
    """

    first: NDArray[np.int32]
    second: NDArray[np.int32]
    weights: NDArray[np.int64]
    caps: NDArray[np.int64]

    def loads(self) -> NDArray[np.int64]:
        """(n,) total weight of each member's pairs, saturating at 2^62."""
        return self.totals(self.weights, self.weights)

    def totals(self, of_first: NDArray[np.int64], of_second: NDArray[np.int64]) -> NDArray[np.int64]:
        """(n,) per member, what its pairs hold for it, each in [0, 2^62]: exact, saturating at 2^62."""
        n = len(self.caps)
        return saturating_add(saturating_sums(self.first, of_first, n), saturating_sums(self.second, of_second, n))

    def __repr__(self) -> str:
        return "Pairs(<private>)"


def pairs_of(program: PreparedProgram) -> tuple[int, Pairs]:
    """Settle the tuples of one member, and take the others as pairs.

    A tuple of one member can only help by filling it, so these tuples fill it first (privacy.md section 2,
    the presolve). A tuple never counts above its smallest cap, so larger weights are cut to it.

    Returns: the exact value of the tuples of one member, and the program of the others beside them.
    Raises: SolverFailed when a tuple has more than two members.
    """
    owners, units, caps = program.incidence.owners, program.incidence.units, program.caps
    if len(owners) and int(owners.max()) > 2:
        raise SolverFailed("a flow needs at most two members per tuple")
    weights, settled = program.weights, 0
    if np.any(owners == 1):
        alone = owners == 1
        wanted = saturating_sums(units[np.repeat(alone, owners)], weights[alone], len(caps))
        filled = np.minimum(wanted, caps)
        settled, caps = exact_sum(filled), caps - filled
        units, weights = units[np.repeat(~alone, owners)], weights[~alone]
    first, second = (np.ascontiguousarray(side, np.int32) for side in units.reshape(-1, 2).T)
    weights = np.minimum(weights, np.minimum(caps[first], caps[second]))
    return settled, Pairs(first, second, weights, np.ascontiguousarray(caps))
