"""What the sparse vector technique leaves of join tuples: one threshold, who is removed there, and exact sums."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.join_tuples import CodedJoinTuples, CompactJoinTuples, JoinTuples, OwnerColumn
from privacy.ladder import Ladder
from privacy.truncation.compact import compact
from privacy.truncation.control import QUIET, Control
from privacy.truncation.vector.instance import DEFAULT_GAP, VectorInstance


@dataclass(frozen=True, eq=False, repr=False)
class TruncatedVector:
    """The truncated answer at the threshold that was taken.

    Attributes:
      rung: of the ladder; as private as the noise that chose it.
      removed: in steps of 2^-31 persons, at most `DEFAULT_GAP` above E; a whole number, since noise is added to it
        and a float would round it differently on the two sides of a pair of neighbours.
      sums: (d,) exact integers in units of 2^-SHARE_BITS of 2^-30.
    """

    rung: int
    removed: int
    sums: tuple[int, ...]

    def __repr__(self) -> str:
        return "TruncatedVector(<private>)"


def truncated_vector(instance: VectorInstance, ladder: Ladder, stops: NDArray[np.int64]) -> TruncatedVector | None:
    """Scan the ladder for the first rung that removes at most `stops` steps; None where no rung does.

    Raises: SolverFailed; Cancelled.
    Cost: two or three vector programs, as a rule.
    """
    rung = instance.select(ladder, stops)
    if rung is None:
        return None
    tau = int(ladder.units[rung])
    return TruncatedVector(rung, instance.removal(tau).removed, instance.sums(tau))


def vector_instance(tuples: CodedJoinTuples, row: int, n_groups: int, control: Control = QUIET) -> VectorInstance:
    """The vector program of one release.

    Args:
      row: of tuples.weights.
      n_groups: for how many groups the mechanism was made.
    Raises: InvalidParameter for another number of groups, or a row out of range.
    Cost: one pass to merge tuples of the same people.
    """
    if tuples.n_groups != n_groups:
        raise InvalidParameter("the mechanism was made for another number of groups")
    if not 0 <= row < len(tuples.weights):
        raise InvalidParameter("no such release")
    return VectorInstance(merged(tuples, row), 0, DEFAULT_GAP, control)


def merged(tuples: CodedJoinTuples, row: int) -> CompactJoinTuples:
    """One release of coded tuples as the vector programs take them: a unit is one unit in all groups."""
    columns = tuple(
        OwnerColumn("unit", tuples.units[np.maximum(members, 0)] if len(tuples.units) else members, members < 0)
        for members in tuples.members
    )
    group = np.repeat(np.arange(tuples.n_groups), np.diff(tuples.row_start))
    return compact(JoinTuples(columns, group, tuples.n_groups, tuples.weights[row : row + 1]))
