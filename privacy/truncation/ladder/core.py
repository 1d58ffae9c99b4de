"""The tuples that one threshold cuts twice, with what the others leave of their owners' caps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.kernel import kernel
from privacy.truncation.codes.provenance_keys import KeyFormat, sort_keys
from privacy.truncation.ladder.level_index_kernels import LOW_BITS, LOW_MASK
from privacy.truncation.programs.incidence import Incidence
from privacy.truncation.programs.program import PreparedProgram
from privacy.units import MAX_UNITS


def canonical_core(
    owners: NDArray[np.int32], weights: NDArray[np.int64], caps: NDArray[np.int64]
) -> PreparedProgram | None:
    """The tuples that can still count, with their binding owners only; those of the same owners as one.

    Args:
      owners: (m, width) places of the owners, ascending; those below len(caps) bind.
      weights: (m,).
      caps: (binding,) what is left of each cap; overwritten.
    Returns: tuples sorted by their owners, so that the program is a function of the set of tuples; None when no
      tuple can count.
    Cost: one pass per byte of the binding owners of a tuple.
    """
    form = KeyFormat(1, len(caps), owners.shape[1])
    keys, worth = np.empty((len(form.ends) - 1, len(weights)), np.int64), np.empty(len(weights), np.int64)
    size = _pack(owners, weights, caps, form.ends, form.code_bits, keys, worth)
    if not size:
        return None
    keys, rows = sort_keys(keys[:, :size], np.arange(size, dtype=np.int32), form)
    merged, indptr = np.empty(size, np.int64), np.zeros(size + 1, np.int64)
    units = np.empty(size * owners.shape[1], np.int64)
    runs, end = _merge(keys, rows, worth, caps, form.ends, form.code_bits, merged, indptr, units)
    n_units = _renumber(units[:end], caps)
    return PreparedProgram(merged[:runs], Incidence(indptr[: runs + 1], units[:end], n_units), caps[:n_units])


@kernel
def fill_alone(
    owners: NDArray[np.int32],
    weights: NDArray[np.int64],
    high: NDArray[np.int64],
    low: NDArray[np.int64],
    limits: NDArray[np.int64],
) -> tuple[NDArray[np.int64], int]:
    """Let every binding member be filled by the tuples that only it cuts.

    Args:
      owners: (m, width) places of the owners of the tuples with two binding owners or more, ascending; those below
        len(high) bind.
      weights: (m,) of these tuples.
      high, low: (binding,) the weight of all tuples whose top owner this is, in two parts; overwritten.
      limits: (binding,) what each may contribute.
    Returns: (binding,) what is left of each cap, and what was filled, saturating.
    """
    binding = len(high)
    for t in range(len(weights)):
        top = owners[t, 0]
        high[top] -= weights[t] >> LOW_BITS
        low[top] -= weights[t] & LOW_MASK
    caps = np.empty(binding, np.int64)
    filled = 0
    for u in range(binding):
        # The low part may be negative by itself, never together with the high one.
        upper = high[u] + (low[u] >> LOW_BITS)
        wanted = MAX_UNITS if upper >= (MAX_UNITS >> LOW_BITS) else (upper << LOW_BITS) + (low[u] & LOW_MASK)
        used = min(wanted, limits[u])
        caps[u] = limits[u] - used
        filled = min(filled, MAX_UNITS - used) + used
    return caps, filled


@kernel
def _pack(
    owners: NDArray[np.int32],
    weights: NDArray[np.int64],
    caps: NDArray[np.int64],
    ends: NDArray[np.int64],
    bits: int,
    keys: NDArray[np.int64],
    worth: NDArray[np.int64],
) -> int:
    """Write the keys of the tuples that can still count, of their binding owners only, and what they count at most.

    That is the smallest cap that its binding owners have left.
    Returns: how many those are.
    """
    size = 0
    for t in range(len(weights)):
        weight = weights[t]
        for word in range(len(ends) - 1):
            key = np.int64(0)
            for position in range(ends[word], ends[word + 1]):
                own, field = np.int64(owners[t, position]), np.int64(0)
                if own < len(caps):
                    weight, field = min(weight, caps[own]), own + 1
                key = (key << bits) | field
            keys[word, size] = key
        worth[size] = weight
        size += weight > 0
    return size


@kernel
def _merge(
    keys: NDArray[np.int64],
    rows: NDArray[np.integer],
    worth: NDArray[np.int64],
    caps: NDArray[np.int64],
    ends: NDArray[np.int64],
    bits: int,
    weights: NDArray[np.int64],
    indptr: NDArray[np.int64],
    units: NDArray[np.int64],
) -> tuple[int, int]:
    """Write owners and weights of every run of equal keys; returns the numbers of runs and of owners.

    A run counts at most the smallest cap of its owners, as each of its tuples does, so no sum wraps.
    """
    run, end, limit = -1, 0, np.int64(0)
    words, mask = len(keys), (1 << bits) - 1
    for i in range(keys.shape[1]):
        fresh = i == 0
        for word in range(words):
            fresh |= keys[word, i] != keys[word, i - 1]
        if not fresh:
            weights[run] = min(weights[run] + worth[rows[i]], limit)
            continue
        run += 1
        limit = np.int64(MAX_UNITS)
        for word in range(words):
            shift = bits * (ends[word + 1] - ends[word])
            for _ in range(ends[word], ends[word + 1]):
                shift -= bits
                field = (keys[word, i] >> shift) & mask
                if field:
                    units[end] = field - 1
                    limit = min(limit, caps[field - 1])
                    end += 1
        indptr[run + 1] = end
        weights[run] = worth[rows[i]]
    return run + 1, end


@kernel
def _renumber(units: NDArray[np.int64], caps: NDArray[np.int64]) -> int:
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
