"""The vectors of privacy units over the groups, clipped so that removing some of a unit's rows moves them by tau."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.join_tuples import CodedJoinTuples
from privacy.ladder import Ladder
from privacy.mechanisms.clipping.kernels import clipped_sums, total_lengths
from privacy.truncation.ladder.level_index_kernels import add_loads, by_unit
from privacy.truncation.tabulated_answer import TabulatedAnswer

STEPS = 1 << 24
"""A clipped entry is a whole number of tau / STEPS."""


def sum_sensitivity(n_groups: int) -> int:
    """By how many steps the vector `ClippedVectors.sums` moves between neighbours, in Euclidean length, rounded up.

    One unit's clipped vector moves by at most STEPS before rounding (ClippedVectors). A computed entry is off by a
    relative (G + 8) 2^-53: the squares are summed in order, and a handful of operations follow. Rounding down
    then takes away less than one step. So an entry's move is off by at most e = 1 + (G + 8) 2^-28 steps, and
    the vector's by sqrt(G) e: less than a millionth of tau for each thousand groups.
    """
    return math.ceil(STEPS + math.sqrt(max(1, n_groups)) * (1 + (n_groups + 8) * 2.0**-28) * (1 + 2.0**-40))


class ClippedVectors:
    """C(x) = xt min(1, tau / n, 2 tau^2 / n^2), xt = min(x, tau) in every group, n = |xt|, for every unit's vector x.

    Plain clipping to length tau moves by sqrt(2) tau when some of a unit's rows go: (big, 0) and (big, huge)
    are clipped to points that far apart. C moves by at most tau. Proof, with tau = 1 and c(n) = min(n, 1, 2 / n) the
    length of C: x >= x' >= 0, so xt >= xt' in every group, the cosine between them is at least n' / n, and

        |C - C'|^2 <= c^2 + c'^2 - 2 c c' n' / n.

    n <= 1: it is |xt - xt'| <= |xt| <= 1. 1 < n <= 2: c = 1, and c' <= 2 n' / n makes it at most 1. n > 2: c = 2 / n.
    For n' <= 1, c' = n': 4 / n^2 + n'^2 (1 - 4 / n^2) <= 1. For n' in (1, 2], c' = 1: 4 / n^2 + 1 - 4 n' / n^2 <= 1.
    For n' > 2, c' = 2 / n': 4 / n'^2 - 4 / n^2 < 1.
    Source: privacy.md section 5.

    Private: no repr. Memory: 24 bytes per member.
    """

    def __init__(self, tuples: CodedJoinTuples, row: int) -> None:
        """Add up every unit's weight in every group.

        Args:
          tuples: m join tuples with one owner position.
          row: which row of tuples.weights.
        Raises: InvalidParameter for another row, or several owner positions.
        Cost: one pass over the tuples, a counting sort of the members; no table of groups by units.
        """
        if not 0 <= row < len(tuples.weights):
            raise InvalidParameter("there is no such release")
        if len(tuples.members) != 1:
            raise InvalidParameter("clipping every unit's own vector needs one owner per tuple")
        loads = add_loads(tuples.members, np.ascontiguousarray(tuples.weights[row]), len(tuples.units))
        self._n_groups = tuples.n_groups
        self._start, self._group, self._loads = by_unit(tuples.member_start, tuples.units, loads)

    @property
    def n_groups(self) -> int:
        """Number of public groups G."""
        return self._n_groups

    def lengths(self, ladder: Ladder) -> TabulatedAnswer:
        """(1, L) sum_u |C(x_u)|, int64 units: sensitivity at most tau at each threshold, rounding included.

        Cost: L passes over the members.
        """
        return TabulatedAnswer(total_lengths(self._start, self._loads, ladder.units)[None], ladder)

    def sums(self, tau: int) -> NDArray[np.int64]:
        """(G,) sum_u C(x_u) in steps of tau / STEPS, each unit's entries rounded down: see `sum_sensitivity`.

        Args:
          tau: in units of 2^-30.
        """
        return clipped_sums(self._start, self._group, self._loads, tau, STEPS, self._n_groups)

    def __repr__(self) -> str:
        return "ClippedVectors(<private>)"
