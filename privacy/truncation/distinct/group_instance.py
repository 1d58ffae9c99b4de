"""One release of the join tuples as a block of independent programs, one per group."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privacy.join_tuples import CompactJoinTuples
from privacy.truncation.distinct.segments import Segments
from privacy.truncation.programs.incidence import Incidence
from privacy.truncation.programs.program import PreparedProgram
from privacy.units import MAX_UNITS


@dataclass(frozen=True, eq=False, repr=False)
class GroupInstance:
    """The tuples of positive weight; a unit that occurs in two groups is two members.

    So the groups share nothing, and one pass over arrays serves them all.

    Attributes:
      weights: (m,) int64 > 0, sorted by group.
      incidence: m tuples by n members; the members of a group are consecutive.
      row_group: (m,) and
      member_group: (n,) int64, ascending.
      n_groups: G.
    """

    weights: NDArray[np.int64]
    incidence: Incidence
    row_group: NDArray[np.int64]
    member_group: NDArray[np.int64]
    n_groups: int

    @cached_property
    def totals(self) -> NDArray[np.int64]:
        """(G,) total weight, saturating."""
        return self.row_totals(self.weights)

    @cached_property
    def loads(self) -> NDArray[np.int64]:
        """(n,) total weight of each member's tuples, saturating."""
        return self.incidence.unit_sums(self.weights)

    @cached_property
    def heaviest(self) -> NDArray[np.int64]:
        """(G,) the largest load, 0 in an empty group."""
        return self.member_max(self.loads)

    @cached_property
    def lightest(self) -> NDArray[np.int64]:
        """(G,) the smallest weight, MAX_UNITS in an empty group."""
        return self._rows.reduced(np.minimum, self.weights, MAX_UNITS)

    def row_totals(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """(G,) saturating totals of a value per tuple, in [0, MAX_UNITS]."""
        return self._rows.sums(values)

    def member_totals(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """(G,) saturating totals of a value per member, in [0, MAX_UNITS]."""
        return self._members.sums(values)

    def member_max(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """(G,) the largest of a value per member >= 0, 0 in an empty group."""
        return self._members.reduced(np.maximum, values, 0)

    def program(self, group: int, tau: int) -> PreparedProgram:
        """The truncation program of one group at threshold tau, before presolve."""
        first, last = np.searchsorted(self.row_group, [group, group + 1])
        low, high = np.searchsorted(self.member_group, [group, group + 1])
        indptr = self.incidence.indptr[first : last + 1]
        units = self.incidence.units[indptr[0] : indptr[-1]] - low
        incidence = Incidence(indptr - indptr[0], units, int(high - low))
        return PreparedProgram(self.weights[first:last], incidence, np.full(high - low, tau, np.int64))

    @cached_property
    def _rows(self) -> Segments:
        return Segments(self.row_group, self.n_groups)

    @cached_property
    def _members(self) -> Segments:
        return Segments(self.member_group, self.n_groups)

    def __repr__(self) -> str:
        return "GroupInstance(<private>)"


def group_instance(tuples: CompactJoinTuples, release: int) -> GroupInstance:
    """Take one release apart into its groups. Cost: linear for one group, a sort of the owners otherwise."""
    weights = tuples.weights[release]
    alive = weights > 0
    owners = np.diff(tuples.indptr)
    group = tuples.group[alive]
    indptr = np.zeros(len(group) + 1, np.int64)
    np.cumsum(owners[alive], out=indptr[1:])
    units = tuples.units[np.repeat(alive, owners)].astype(np.int64)
    pair = np.repeat(group, owners[alive]) * tuples.n_units + units
    distinct, members = _ranked(pair, tuples.n_units * tuples.n_groups)
    member_group = distinct // max(tuples.n_units, 1)
    incidence = Incidence(indptr, members, len(distinct))
    return GroupInstance(weights[alive], incidence, group, member_group, tuples.n_groups)


def _ranked(values: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Distinct values in [0, size) and the rank of each; by a table when that is not much longer than the values."""
    if size > 4 * len(values) + 1024:
        distinct, rank = np.unique(values, return_inverse=True)
        return distinct, rank.astype(np.int64)
    occurs = np.zeros(size, bool)
    occurs[values] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[values]
