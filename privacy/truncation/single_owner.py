"""One owner per tuple: everybody is truncated alone, so the program has a closed form."""

from __future__ import annotations

import numpy as np

from privacy.errors import InvalidParameter
from privacy.join_tuples import CodedJoinTuples
from privacy.ladder import Ladder
from privacy.truncation.ladder.level_index_kernels import add_loads, capped_totals
from privacy.truncation.tabulated_answer import TabulatedAnswer


def single_owner(tuples: CodedJoinTuples, release: int, ladder: Ladder) -> TabulatedAnswer:
    """fbar(tau) = sum_u min(tau, load_u) for every group and threshold, exact.

    Args:
      tuples: m tuples with one owner each.
      release: row of tuples.weights.
      ladder: L thresholds.
    Returns: (G, L) int64 units, saturating at MAX_UNITS. Sensitivity tau per cell.
    Raises: InvalidParameter when some tuple has another number of owners.
    Cost: one pass over the tuples, one over the members, and O(G L); never a table of groups by units.
    Source: privacy.md section 2, fact 4.
    """
    if tuples.owners != (1, 1):
        raise InvalidParameter("the closed form needs exactly one owner per tuple")
    weights = np.ascontiguousarray(tuples.weights[release])
    loads = add_loads(tuples.members[:1], weights, int(tuples.member_start[-1]))
    return TabulatedAnswer(capped_totals(tuples.member_start, loads, ladder.units), ladder)
