"""The join tuples that a set of privacy units induces: those of which every owner is in the set."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.join_tuples import CodedJoinTuples
from privacy.kernel import kernel


def induced(tuples: CodedJoinTuples, kept: NDArray[np.bool_]) -> CodedJoinTuples:
    """Keep a tuple where all its owners are kept.

    Args:
      tuples: m join tuples of n members, one group.
      kept: (n,) bool.
    Returns: the tuples that stay, in their order; members keep their numbers, and some own none.
    Raises: InvalidParameter for several groups or another number of members.
    Cost: a pass over the owners, where one that is not kept ends the look at its tuple, and a copy of what stays.
    Source: Fang and Yi (SIGMOD 2024), section 4.
    """
    if len(tuples.row_start) != 2 or kept.shape != (int(tuples.member_start[-1]),) or kept.dtype != np.bool_:
        raise InvalidParameter("a unit of the one group is kept or not")
    stays = np.empty(tuples.weights.shape[1], np.int64)
    size, fewest, most = _stays(tuples.members, kept, stays)
    rows = stays[:size]
    return replace(
        tuples,
        members=tuples.members[:, rows],
        row_start=np.array([0, size]),
        weights=tuples.weights[:, rows],
        owners=(fewest, most) if size else (1, 1),
    )


@kernel
def _stays(members: NDArray[np.int32], kept: NDArray[np.bool_], stays: NDArray[np.int64]) -> tuple[int, int, int]:
    """Write the rows that stay; returns how many they are, and the fewest and most owners of one."""
    positions, m = members.shape
    size, fewest, most = 0, positions, 1
    for t in range(m):
        owners = 0
        while owners < positions and members[owners, t] >= 0 and kept[members[owners, t]]:
            owners += 1
        if owners < positions and members[owners, t] >= 0:
            continue
        stays[size] = t
        size += 1
        fewest, most = min(fewest, owners), max(most, owners)
    return size, fewest, most
