"""One owner per tuple: everybody is truncated alone, so the program has a closed form."""

from __future__ import annotations

import numpy as np

from privacy.errors import InvalidParameter
from privacy.join_tuples import CodedJoinTuples
from privacy.ladder import Ladder
from privacy.truncation.ladder.capacities import ALIKE, Capacities, member_capacities
from privacy.truncation.ladder.cheap_bounds import capped_by_kind
from privacy.truncation.ladder.level_index_kernels import add_loads
from privacy.truncation.tabulated_answer import TabulatedAnswer, answer_of_loads


def single_owner(
    tuples: CodedJoinTuples, release: int, ladder: Ladder, capacities: Capacities = ALIKE
) -> TabulatedAnswer:
    """fbar(tau) = sum_u min(c_u, load_u) for every group and threshold, exact; c_u is tau unless kinds differ.

    Args:
      tuples: m tuples with one owner each.
      release: row of tuples.weights.
      ladder: L thresholds.
      capacities: what the units of each relation may contribute.
    Returns: (G, L) int64 units, saturating at MAX_UNITS. Sensitivity c_u per cell.
    Raises: InvalidParameter when some tuple has another number of owners.
    Cost: one pass over the tuples, log L for each member, and O(G L); never a table of groups by units.
    Source: privacy.md section 2, fact 4.
    """
    if tuples.owners != (1, 1):
        raise InvalidParameter("the closed form needs exactly one owner per tuple")
    weights = np.ascontiguousarray(tuples.weights[release])
    loads = add_loads(tuples.members[:1], weights, int(tuples.member_start[-1]))
    if capacities == ALIKE:
        group = np.repeat(np.arange(tuples.n_groups), np.diff(tuples.member_start))
        return answer_of_loads(group, loads, tuples.n_groups, ladder)
    of_members = member_capacities(tuples, ladder, capacities)
    return TabulatedAnswer(capped_by_kind(tuples.member_start, loads, of_members), ladder)
