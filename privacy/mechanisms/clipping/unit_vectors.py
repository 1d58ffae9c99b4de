"""The vectors of privacy units over the groups, scaled so that no unit's is longer than tau."""

from __future__ import annotations

from copy import copy

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.join_tuples import CodedJoinTuples
from privacy.ladder import Ladder
from privacy.mechanisms.clipping.kernels import lengths, scaled_sums
from privacy.truncation.ladder.level_index_kernels import add_loads, by_unit
from privacy.truncation.tabulated_answer import TabulatedAnswer, answer_of_loads

STEP_BITS = 24
"""A scaled entry is a whole number of steps, a step at most 2^-23 of tau, or one unit."""


def step_of(tau_units: int) -> int:
    """Units per step at a threshold, a power of two: entries of scaled vectors are whole steps."""
    return 1 << max(0, tau_units.bit_length() - 1 - STEP_BITS)


def loads_of(tuples: CodedJoinTuples, row: int, less: int | None = None) -> NDArray[np.int64]:
    """(n,) the weight of every member, added up, in units.

    Args:
      tuples: m join tuples with one owner position.
      row: which row of tuples.weights.
      less: which row is taken off; None: none.
    Raises: InvalidParameter for another row, or several owner positions.
    """
    rows = [row] if less is None else [row, less]
    if not all(0 <= one < len(tuples.weights) for one in rows):
        raise InvalidParameter("there is no such release")
    if len(tuples.members) != 1:
        raise InvalidParameter("scaling every unit's own vector needs one owner per tuple")
    found = [add_loads(tuples.members, np.ascontiguousarray(tuples.weights[one]), len(tuples.units)) for one in rows]
    added: NDArray[np.int64] = found[0] if less is None else found[0] - found[1]
    return added


class UnitVectors:
    """C(x) = x min(1, tau / |x|) of what every unit has in all groups, |x| the sum of sizes, or the Euclidean length.

    Sensitivity: tau in that norm, rounding included. When a unit comes or goes, all that it has does (privacy.md
    section 1), so the sums of all units move by its C(x), and |C(x)| <= tau. Nothing else is asked of C; scaling
    keeps the most of a unit that tau allows, and its proportions. It keeps more than a bound in every group does at
    the same
    noise: of L0 groups with tau / L0 in each, sum_f min(x_f, tau / L0) <= min(|x|_1, tau), and what is lost of a
    unit is lost in one direction.

    Lengths: the number of units that are longer than tau moves by 1.
    Source: privacy.md section 5.

    Private: no repr. Memory: 24 bytes per member.
    """

    def __init__(self, tuples: CodedJoinTuples, loads: NDArray[np.int64], *, euclidean: bool = False) -> None:
        """Lay the members of every unit side by side.

        Args:
          tuples: whose members they are, of one owner position.
          loads: (n,) what each member adds, in units, of either sign.
          euclidean: which norm |x| is.
        Cost: a counting sort of the members; no table of groups by units.
        """
        self._n_groups, self._euclidean = tuples.n_groups, euclidean
        self._start, self._group, self._loads = by_unit(tuples.member_start, tuples.units, loads)

    @classmethod
    def of_sum(cls, tuples: CodedJoinTuples, row: int, less: int | None = None, *, euclidean: bool) -> UnitVectors:
        """Of every unit's weight in every group, added up.

        Args:
          tuples: m join tuples with one owner position.
          row: which row of tuples.weights.
          less: which row is taken off; None: none.
          euclidean: which norm |x| is.
        Raises: InvalidParameter for another row, or several owner positions.
        Cost: one pass over the tuples besides.
        """
        return cls(tuples, loads_of(tuples, row, less), euclidean=euclidean)

    @property
    def n_groups(self) -> int:
        """Number of public groups G."""
        return self._n_groups

    def in_one_group(self) -> UnitVectors:
        """The same members, all in one group."""
        other = copy(self)
        other._n_groups, other._group = 1, np.zeros_like(self._group)
        return other

    def kept(self, ladder: Ladder) -> TabulatedAnswer:
        """(1, L) sum_u min(tau, |x_u|), and how many units are longer than each threshold.

        Cost: one pass over the members, log L for each unit.
        """
        found = lengths(self._start, self._loads, self._euclidean)
        return answer_of_loads(np.zeros(len(found), np.int64), found, 1, ladder)

    def sums(self, tau_units: int) -> NDArray[np.int64]:
        """(G,) sum_u C(x_u) in steps of `step_of(tau_units)`; sensitivity tau_units // step, rounding included.

        Cost: two passes over the members.
        """
        step = step_of(tau_units)
        return scaled_sums(
            self._start, self._group, self._loads, step, tau_units // step, self._n_groups, self._euclidean
        )

    def __repr__(self) -> str:
        return "UnitVectors(<private>)"
