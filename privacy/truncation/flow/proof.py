"""Whether a flow and a cut prove each other: recomputed in exact integers, whatever the kernels say.

For flows f, g along each pair {u, v}, one per arc of the double cover, that respect all weights and the caps of all
copies, (f + g) / 2 is feasible in the program. For any duals y, z in {0, 1} of the left and the right copies,

    2 fbar <= sum_u c_u (y_u + z_u) + sum_{u, v} w (max(0, 1 - y_u - z_v) + max(0, 1 - y_v - z_u)).

Equal bounds are the optimum, in half units.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.errors import SolverFailed
from privacy.truncation.exact_sums import exact_sum
from privacy.truncation.flow.pairs import Pairs
from privacy.truncation.programs.certificate import Certificate


@dataclass(frozen=True, eq=False, repr=False)
class FlowAndCut:
    """What a solver claims.

    Attributes:
      forward: (m,) int64 flow from the left copy of each pair's first member to the right copy of its second.
      backward: (m,) int64 flow from the left copy of its second member to the right copy of its first.
      left_cut, right_cut: (n,) bool whether the cut pays for the left, the right copy of a member.
    """

    forward: NDArray[np.int64]
    backward: NDArray[np.int64]
    left_cut: NDArray[np.bool_]
    right_cut: NDArray[np.bool_]

    def __repr__(self) -> str:
        return "FlowAndCut(<private>)"


def proved(pairs: Pairs, claim: FlowAndCut) -> Certificate:
    """The optimum in half units.

    Raises: SolverFailed when the flow is not feasible or the cut is not as small as the flow.
    Cost: linear, without a kernel.
    """
    forward, backward = claim.forward, claim.backward
    for flow in (forward, backward):
        if not np.all((flow >= 0) & (flow <= pairs.weights)):
            raise SolverFailed("a flow exceeds a weight")
    left, right = pairs.totals(forward, backward), pairs.totals(backward, forward)
    if not np.all((left <= pairs.caps) & (right <= pairs.caps)):
        raise SolverFailed("a flow exceeds a cap")
    value, upper = exact_sum(forward) + exact_sum(backward), _cut(pairs, claim)
    if value != upper:
        raise SolverFailed("a flow is smaller than its cut")
    return Certificate(value, upper, 1)


def _cut(pairs: Pairs, claim: FlowAndCut) -> int:
    """What the cut pays."""
    y, z, u, v = claim.left_cut, claim.right_cut, pairs.first, pairs.second
    return (
        exact_sum(pairs.caps[y])
        + exact_sum(pairs.caps[z])
        + exact_sum(pairs.weights[~(y[u] | z[v])])
        + exact_sum(pairs.weights[~(y[v] | z[u])])
    )
