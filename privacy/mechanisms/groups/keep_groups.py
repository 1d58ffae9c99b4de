"""The custodian's rule: no privacy unit counts in more than so many groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.join_tuples import CodedJoinTuples
from privacy.kernel import kernel
from privacy.truncation.exact_sums import saturating_add
from privacy.truncation.ladder.level_index_kernels import add_loads, by_unit


def keep_groups(tuples: CodedJoinTuples, most: int) -> CodedJoinTuples:
    """Leave out the tuples of every unit but those in the `most` groups where it weighs most.

    The rule looks at a unit's own tuples alone, so nobody's tuples decide about anybody else's. A unit weighs in a
    group what its tuples weigh in all releases together, so that all of them keep the same groups; of equals those
    that come first.

    Sensitivity: a unit that comes or goes does so in `most` groups at most: that is L0 for `group_lp`. From a sample,
    with K of its tuples there, it adds at most min(tau, K) in each of them: the loss is that of privacy.md section 3.

    Args:
      tuples: m join tuples with one owner position.
      most: >= 1, a public number.
    Returns: at most m tuples; groups and members are numbered as before, some own nothing now.
    Raises: InvalidParameter for several owner positions: what one of them keeps another might not.
    Cost: linear, and a sort of the groups of each unit that has too many.
    Source: privacy.md section 5.
    """
    if most < 1:
        raise InvalidParameter("a unit counts in at least one group")
    if len(tuples.members) != 1:
        raise InvalidParameter("a rule for groups needs one owner per tuple")
    weights = np.zeros(len(tuples.units), np.int64)
    for row in tuples.weights:
        weights = saturating_add(weights, add_loads(tuples.members, np.ascontiguousarray(row), len(weights)))
    kept = np.ones(len(weights), bool)
    _leave_out(tuples.member_start, tuples.units, weights, most, kept)
    stays = kept[tuples.members[0]]
    before = np.concatenate([[0], np.cumsum(stays)])
    return CodedJoinTuples(
        members=np.ascontiguousarray(tuples.members[:, stays]),
        row_start=before[tuples.row_start].astype(np.int64),
        member_start=tuples.member_start,
        weights=np.ascontiguousarray(tuples.weights[:, stays]),
        owners=tuples.owners,
        units=tuples.units,
        relations=tuples.relations,
    )


@kernel
def _leave_out(
    member_start: NDArray[np.int64],
    units: NDArray[np.int32],
    weights: NDArray[np.int64],
    most: int,
    kept: NDArray[np.bool_],
) -> None:
    """Set `kept` to false for the members that a unit with more than `most` of them does not keep."""
    start, _, member = by_unit(member_start, units, np.arange(len(units)))
    for unit in range(len(start) - 1):
        own = member[start[unit] : start[unit + 1]]
        if len(own) <= most:
            continue
        order = np.argsort(-weights[own], kind="mergesort")  # stable: of equals the first group
        for place in range(most, len(own)):
            kept[own[order[place]]] = False
