"""COUNT(DISTINCT x) as truncation programs: a value is one more party to its tuples, and may be counted once.

R2T's projection program is max sum_p v_p with v_p <= min(1, sum_{t -> p} x_t), 0 <= x_t <= 1 and
sum_{t: u in U(t)} x_t <= tau. Some optimum has sum_{t -> p} x_t <= 1 for every value p (lower the x of a value that
has more), and then v_p is that sum. So it is

    max sum_t x_t  s.t.  sum_{t: u in U(t)} x_t <= tau for every u, sum_{t -> p} x_t <= 1 for every p, 0 <= x_t <= 1:

the program of program.py, in which a value is owned like a unit and has the cap 1 at every threshold.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.join_tuples import CompactJoinTuples, DistinctTuples, JoinTuples, OwnerColumn
from privacy.truncation.compact import compact
from privacy.truncation.distinct.group_instance import GroupInstance, group_instance
from privacy.truncation.programs.incidence import Incidence
from privacy.truncation.programs.program import PreparedProgram
from privacy.units import ONE

_VALUES = ""  # no privacy-unit relation has an empty name


@dataclass(frozen=True, eq=False, repr=False)
class DistinctInstance:
    """One count of distinct values as a block of independent programs, one per group.

    Attributes:
      graph: distinct (owners, value) pairs, each of weight 1; the last member of a tuple is its value, the
        others are its owners, at least one.
    """

    graph: GroupInstance

    @property
    def n_groups(self) -> int:
        """Number of public groups G."""
        return self.graph.n_groups

    @cached_property
    def is_value(self) -> NDArray[np.bool_]:
        """(n,) which members are values."""
        return _is_value(self.graph.incidence)

    @property
    def single_owner(self) -> bool:
        """Whether every tuple has one owner, so that every program is a transportation problem."""
        return bool(np.all(self.graph.incidence.owners == 2))

    def program(self, group: int, tau: int) -> PreparedProgram:
        """The program of one group at threshold tau, before presolve."""
        program = self.graph.program(group, tau)
        caps = np.where(_is_value(program.incidence), ONE, program.caps)
        return PreparedProgram(np.minimum(program.weights, tau), program.incidence, caps)

    def __repr__(self) -> str:
        return "DistinctInstance(<private>)"


def distinct_instance(tuples: DistinctTuples) -> DistinctInstance:
    """Merge tuples that have the same group, owners and value; drop those without an owner, a value or a group.

    Merging keeps the optimum: a second tuple could only bring its value above 1.
    Raises: InvalidParameter as `compact`.
    Cost: as `compact`.
    """
    if tuples.value.shape != tuples.group.shape or tuples.value.dtype != np.int64:
        raise InvalidParameter("values must be int64, one per tuple")
    counts = (tuples.value >= 0) & _owned(tuples)
    weights = np.where(counts, ONE, 0).astype(np.int64)[None, :]
    values = OwnerColumn(_VALUES, tuples.value, ~counts)  # the last relation, so the last member of each tuple
    merged = compact(JoinTuples((*tuples.owners, values), tuples.group, tuples.n_groups, weights))
    once = CompactJoinTuples(
        merged.indptr, merged.units, merged.n_units, merged.group, merged.n_groups, np.minimum(merged.weights, ONE)
    )
    return DistinctInstance(group_instance(once, 0))


def _owned(tuples: DistinctTuples) -> NDArray[np.bool_]:
    """Tuples that somebody owns."""
    owned = np.zeros(len(tuples.group), bool)
    for owner in tuples.owners:
        if owner.missing.shape != owned.shape:
            raise InvalidParameter("an owner column has another length than the tuples")
        owned |= ~owner.missing.astype(bool)
    return owned


def _is_value(incidence: Incidence) -> NDArray[np.bool_]:
    """(n,) the members that come last in a tuple: codes ascend, and those of values are the highest."""
    mask = np.zeros(incidence.n_units, bool)
    mask[incidence.units[incidence.indptr[1:] - 1]] = True
    return mask
