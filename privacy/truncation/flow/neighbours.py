"""The pairs of each member, side by side."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privacy.kernel import kernel


class Neighbours(NamedTuple):
    """A graph by its nodes. A slot is a pair seen from one of its members; every pair has two.

    Attributes:
      start: (n + 1,) int64; the slots of u are start[u]..start[u + 1] - 1.
      other: (2 m,) int32 the member at the other end.
      pair: (2 m,) int32 the number of the pair.
      twin: (2 m,) int32 the slot of the same pair at the other end.
    """

    start: NDArray[np.int64]
    other: NDArray[np.int32]
    pair: NDArray[np.int32]
    twin: NDArray[np.int32]


@kernel
def neighbours(
    first: NDArray[np.int32], second: NDArray[np.int32], left_out: NDArray[np.bool_], n: int
) -> Neighbours:
    """The graph of the pairs that are not left out, over n members.

    Needs fewer than 2^30 pairs, so that a slot fits an int32. Cost: linear.
    """
    start = np.zeros(n + 1, np.int64)
    for e in range(len(first)):
        if not left_out[e]:
            start[first[e] + 1] += 1
            start[second[e] + 1] += 1
    for u in range(n):
        start[u + 1] += start[u]
    free = start[:-1].copy()
    other = np.empty(start[n], np.int32)
    pair = np.empty(start[n], np.int32)
    twin = np.empty(start[n], np.int32)
    for e in range(len(first)):
        if not left_out[e]:
            u, v = first[e], second[e]
            p, q = free[u], free[v]
            free[u] += 1
            free[v] += 1
            other[p], other[q] = v, u
            pair[p], pair[q] = e, e
            twin[p], twin[q] = q, p
    return Neighbours(start, other, pair, twin)
