"""A sum that can be truncated at any ladder a mechanism asks for, whatever it is kept as."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from privacy.join_tuples import CodedJoinTuples
from privacy.ladder import Ladder
from privacy.truncation.control import QUIET, Control, SolverName
from privacy.truncation.ladder.capacities import ALIKE, Capacities
from privacy.truncation.ladder.level_index_kernels import add_loads
from privacy.truncation.truncate import truncate
from privacy.truncation.truncated_answer import TruncatedAnswer


class TruncatedSum(Protocol):
    """One sum of a question. Private, but for the number of groups."""

    @property
    def n_groups(self) -> int:
        """Number of public groups G."""
        ...

    def at(self, ladder: Ladder) -> TruncatedAnswer:
        """The sum of every group at every threshold. Raises: InvalidParameter; SolverFailed; Cancelled."""
        ...

    def units(self) -> NDArray[np.int64] | None:
        """(G,) how many units add to each group's sum, where tuples have one owner; None for several owners."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class TuplesOfSum:
    """A TruncatedSum of join tuples.

    Attributes:
      tuples: of G groups.
      row: which row of tuples.weights.
      gap: eta; the solver's constant relative gap.
      control: watches and stops the solves.
      solver: which truncates.
      capacities: what the units of each relation may contribute in multiples of a threshold.
    """

    tuples: CodedJoinTuples
    row: int
    gap: float
    control: Control = QUIET
    solver: SolverName = "certified"
    capacities: Capacities = ALIKE

    @property
    def n_groups(self) -> int:
        """Number of public groups G."""
        return self.tuples.n_groups

    def at(self, ladder: Ladder) -> TruncatedAnswer:
        """Truncate the tuples, with the gap and the solver that the mechanism has. Raises: as `truncate`."""
        prepared = self.tuples, self.row, ladder, self.gap, self.control
        return truncate(*prepared, solver=self.solver, capacities=self.capacities)

    def units(self) -> NDArray[np.int64] | None:
        """How many loads of a group are above 0. Cost: linear in the tuples."""
        if len(self.tuples.members) != 1:
            return None
        weights = np.ascontiguousarray(self.tuples.weights[self.row])
        loads = add_loads(self.tuples.members, weights, len(self.tuples.units))
        return positive_in_groups(loads, self.tuples.member_start)

    def __repr__(self) -> str:
        return "TuplesOfSum(<private>)"


def positive_in_groups(loads: NDArray[np.int64], member_start: NDArray[np.int64]) -> NDArray[np.int64]:
    """(G,) how many of each group's loads are above 0."""
    before = np.concatenate([[0], np.cumsum(loads > 0)]).astype(np.int64)
    counted: NDArray[np.int64] = np.diff(before[member_start])
    return counted
