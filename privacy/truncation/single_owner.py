"""One owner per tuple: everybody is truncated alone, so the program has a closed form."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.join_tuples import CompactJoinTuples
from privacy.kernel import kernel
from privacy.ladder import Ladder
from privacy.truncation.filing import capped_totals
from privacy.truncation.tabulated_answer import TabulatedAnswer


def single_owner(tuples: CompactJoinTuples, release: int, ladder: Ladder) -> TabulatedAnswer:
    """fbar(tau) = sum_u min(tau, load_u) for every group and threshold, exact.

    Compact tuples of one owner each are the loads themselves: one tuple per group and unit.

    Args:
      tuples: m tuples with one owner each, as `compact` returns them.
      release: row of tuples.weights.
      ladder: L thresholds.
    Returns: (G, L) int64 units, saturating at MAX_UNITS. Sensitivity tau per cell.
    Raises: InvalidParameter when some tuple has another number of owners, or tuples are not in canonical order.
    Cost: one pass and O(G L); never a table of groups by units.
    Source: privacy.md section 2, fact 4.
    """
    if len(tuples.units) != len(tuples.group) or not _one_each(tuples.indptr):
        raise InvalidParameter("the closed form needs exactly one owner per tuple")
    if not _rising(tuples.group, tuples.units):
        raise InvalidParameter("the closed form needs tuples in canonical order")
    start = np.searchsorted(tuples.group, np.arange(tuples.n_groups + 1))
    loads = np.ascontiguousarray(tuples.weights[release])
    return TabulatedAnswer(capped_totals(start, loads, ladder.units), ladder)


@kernel
def _one_each(indptr: NDArray[np.int64]) -> bool:
    """Whether every tuple has one owner."""
    for t in range(len(indptr)):  # noqa: SIM110 - a loop that numba compiles
        if indptr[t] != t:
            return False
    return True


@kernel
def _rising(group: NDArray[np.int64], units: NDArray[np.int32]) -> bool:
    """Whether (group, unit) rises strictly."""
    for t in range(1, len(group)):
        if group[t] < group[t - 1] or (group[t] == group[t - 1] and units[t] <= units[t - 1]):
            return False
    return True
