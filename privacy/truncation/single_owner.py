"""One owner per tuple: everybody is truncated alone, so the program has a closed form."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.join_tuples import CompactJoinTuples
from privacy.ladder import Ladder
from privacy.truncation.saturating import saturating_add, saturating_multiples
from privacy.truncation.tabulated_answer import TabulatedAnswer
from privacy.units import saturating_sums


def single_owner(tuples: CompactJoinTuples, release: int, ladder: Ladder) -> TabulatedAnswer:
    """fbar(tau) = sum_u min(tau, load_u) for every group and threshold, exact.

    Args:
      tuples: m tuples with one owner each.
      release: row of tuples.weights.
      ladder: L thresholds.
    Returns: (G, L) int64 units, saturating at MAX_UNITS. Sensitivity tau per cell.
    Raises: InvalidParameter when some tuple has another number of owners.
    Cost: one sort of m loads and O(G L); never a table of groups by units.
    Source: privacy.md section 2, fact 4.
    """
    if len(tuples.units) != len(tuples.group) or np.any(np.diff(tuples.indptr) != 1):
        raise InvalidParameter("the closed form needs exactly one owner per tuple")
    group, load = _loads(tuples, tuples.weights[release])
    rung = np.searchsorted(ladder.units, load)  # the first threshold that does not cut this load
    order = np.argsort(rung, kind="stable")
    group, load = group[order], load[order]
    ends = np.searchsorted(rung[order], np.arange(len(ladder)), side="right")
    return TabulatedAnswer(_climb(group, load, ends, tuples.n_groups, ladder), ladder)


def _loads(tuples: CompactJoinTuples, weights: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Group and total weight of every (group, unit) pair that occurs."""
    pair = tuples.group * max(tuples.n_units, 1) + tuples.units
    distinct, code = np.unique(pair, return_inverse=True)
    return distinct // max(tuples.n_units, 1), saturating_sums(code, weights, len(distinct))


def _climb(
    group: NDArray[np.int64], load: NDArray[np.int64], ends: NDArray[np.intp], n_groups: int, ladder: Ladder
) -> NDArray[np.int64]:
    """Walk up the ladder: loads[:ends[j]] count in full at threshold j, the others count as tau."""
    values = np.zeros((n_groups, len(ladder)), np.int64)
    whole = np.zeros(n_groups, np.int64)
    above = np.bincount(group, minlength=n_groups)
    start = 0
    for j, (tau, end) in enumerate(zip(ladder.units.tolist(), ends.tolist(), strict=True)):
        fresh = group[start:end]
        whole = saturating_add(whole, saturating_sums(fresh, load[start:end], n_groups))
        above = above - np.bincount(fresh, minlength=n_groups)
        values[:, j] = saturating_add(whole, saturating_multiples(above, tau))
        start = end
    return values
