"""The tuples that one threshold cuts twice, with what the others leave of their owners' caps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.kernel import kernel
from privacy.truncation.filing import LOW_BITS, LOW_MASK
from privacy.units import MAX_UNITS


@kernel
def fill_alone(
    owners: NDArray[np.int32],
    weights: NDArray[np.int64],
    high: NDArray[np.int64],
    low: NDArray[np.int64],
    tau: int,
) -> tuple[NDArray[np.int64], int, int]:
    """Let every binding member be filled by the tuples that only it cuts.

    Args:
      owners: (m, width) places of the owners of the tuples with two binding owners or more, ascending; those below
        len(high) bind.
      weights: (m,) of these tuples.
      high, low: (binding,) the weight of all tuples whose top owner this is, in two parts; overwritten.
    Returns: (binding,) what is left of each cap; what was filled, saturating; and how many binding owners the
      tuples have together.
    """
    binding = len(high)
    entries = 0
    for t in range(len(weights)):
        for i in range(owners.shape[1]):
            entries += owners[t, i] < binding
        top = owners[t, 0]
        high[top] -= weights[t] >> LOW_BITS
        low[top] -= weights[t] & LOW_MASK
    caps = np.empty(binding, np.int64)
    filled = 0
    for u in range(binding):
        # The low part may be negative by itself, never together with the high one.
        upper = high[u] + (low[u] >> LOW_BITS)
        wanted = MAX_UNITS if upper >= (MAX_UNITS >> LOW_BITS) else (upper << LOW_BITS) + (low[u] & LOW_MASK)
        used = min(wanted, tau)
        caps[u] = tau - used
        filled = min(filled, MAX_UNITS - used) + used
    return caps, filled, entries


@kernel
def gather(
    owners: NDArray[np.int32],
    weights: NDArray[np.int64],
    caps: NDArray[np.int64],
    core_weights: NDArray[np.int64],
    core_indptr: NDArray[np.int64],
    core_units: NDArray[np.int64],
) -> tuple[int, int]:
    """Copy the tuples that can still count, with their binding owners only; returns how many, and their owners.

    A tuple counts at most the smallest cap that its binding owners have left.
    """
    binding = len(caps)
    size, end = 0, 0
    for t in range(len(weights)):
        weight, first = weights[t], end
        for i in range(owners.shape[1]):
            own = owners[t, i]
            if own >= binding:
                break
            weight = min(weight, caps[own])
            core_units[end] = own
            end += 1
        if weight == 0:
            end = first
            continue
        core_weights[size] = weight
        size += 1
        core_indptr[size] = end
    return size, end


@kernel
def renumber(units: NDArray[np.int64], caps: NDArray[np.int64]) -> int:
    """Number the units that occur, in their order, in place, and move their caps along; returns how many."""
    code = np.full(len(caps), -1, np.int64)
    for u in units:
        code[u] = 0
    size = 0
    for u in range(len(caps)):
        if code[u] == 0:
            code[u] = size
            caps[size] = caps[u]
            size += 1
    for i in range(len(units)):
        units[i] = code[units[i]]
    return size
