"""What the backend must never return."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.join_tuples import JoinTuples
from privacy.kernel import kernel
from privacy.units import MAX_UNITS


def check_join(tuples: JoinTuples) -> None:
    """Refuse groups and weights of other types or lengths, or out of range. Cost: one pass.

    Raises: InvalidParameter.
    """
    group, weights = tuples.group, tuples.weights
    if group.ndim != 1 or weights.ndim != 2 or weights.shape[1] != len(group):
        raise InvalidParameter("weights must be (k, m) and groups (m,)")
    if weights.dtype != np.int64 or group.dtype != np.int64:
        raise InvalidParameter("weights and groups must be int64")
    if tuples.n_groups < 1 or not _within(group, -1, tuples.n_groups - 1):
        raise InvalidParameter("a group is outside the public list")
    if not all(_within(row, 0, MAX_UNITS) for row in weights):
        raise InvalidParameter("a weight is outside [0, MAX_UNITS]")


@kernel
def _within(values: NDArray[np.int64], low: int, high: int) -> bool:
    """Whether every value lies in [low, high]; without a way out of the loop, which is faster."""
    outside = False
    for i in range(len(values)):
        outside |= (values[i] < low) | (values[i] > high)
    return not outside
