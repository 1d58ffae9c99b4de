"""The trie of patterns: groups one after another, a few columns per node, one small hash table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.kernel import kernel

CHUNK_BITS = 32
"""Bits of a key that hold the codes of columns; the 31 above hold the node that they continue."""

CHUNK_MASK = (1 << CHUNK_BITS) - 1
GOLDEN = -7046029254386353131
"""The golden ratio in 64 bits."""

ROOT = 0
_BLOCK = 1 << 10

Trie = tuple[
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.float64],
    NDArray[np.int32],
    NDArray[np.int64],
    NDArray[np.int32],
    NDArray[np.int64],
]
"""Of each node its key, group, weight and slot; of each slot its key (0: free) and node; and three counters: how many
nodes there are, which was the first of the group that is being read, and that group."""


def empty_trie(size: int = 1 << 12) -> Trie:
    """The root alone, with room for `size` nodes, a power of two."""
    return (
        np.zeros(size, np.int64),
        np.zeros(size, np.int64),
        np.zeros(size),
        np.zeros(size, np.int32),
        np.zeros(2 * size, np.int64),
        np.zeros(2 * size, np.int32),
        np.array([ROOT + 1, ROOT + 1, -1]),
    )


@kernel
def insert_tuples(
    first: int,
    last: int,
    indptr: NDArray[np.int64],
    units: NDArray[np.int32],
    tuple_group: NDArray[np.int64],
    weights: NDArray[np.int64],
    code_of: NDArray[np.int32],
    guess: NDArray[np.float64],
    bits: int,
    width: int,
    trie: Trie,
) -> Trie:
    """Add the weights of tuples [first, last) to the nodes of their patterns.

    Most of a tuple's time goes into waiting for memory and for mispredicted branches. So a block of tuples is turned
    into keys without branches first, and only then looked up.

    Args:
      code_of: (n_units,) 1 + column, or 0.
      guess: (C + 1,) by code; 0 at 0.
      bits: that hold a code; at most CHUNK_BITS.
      width: the largest number of owners of these tuples.
    Returns: the trie, in larger arrays where it had to grow. A node needs less than 2^31 nodes before it.
    """
    key, group, weight, slot, slot_key, slot_node, counters = trie
    chunk = CHUNK_BITS // bits
    shift = np.full(len(guess), bits)
    shift[0] = 0
    room = _BLOCK * (width // chunk + 1)
    wanted, amount = np.empty(_BLOCK, np.int64), np.empty(_BLOCK)
    t = first
    while t < last:
        if tuple_group[t] != counters[2]:
            for node in range(counters[1], counters[0]):
                slot_key[slot[node]] = 0
            counters[1], counters[2] = counters[0], tuple_group[t]
        if counters[0] + room > len(key):
            more = len(key) + room
            key = np.concatenate((key, np.zeros(more, np.int64)))
            group = np.concatenate((group, np.zeros(more, np.int64)))
            weight = np.concatenate((weight, np.zeros(more)))
            slot = np.concatenate((slot, np.zeros(more, np.int32)))
        if 2 * (counters[0] - counters[1] + room) > len(slot_key):
            size = len(slot_key)
            while size < 4 * (counters[0] - counters[1] + room):
                size *= 2
            slot_key, slot_node = np.zeros(size, np.int64), np.zeros(size, np.int32)
            for node in range(counters[1], counters[0]):
                place = _place(slot_key, key[node])
                slot_key[place], slot_node[place], slot[node] = key[node], node, place
        end, count = min(last, t + _BLOCK), 0
        while t < end and tuple_group[t] == counters[2]:
            codes, used, left = np.int64(0), 0, 1.0
            for entry in range(indptr[t], indptr[t + 1]):
                code = code_of[units[entry]]
                left -= guess[code]
                codes = (codes << shift[code]) | code
                used += shift[code]
            alive = (used > 0) & (left > 0.0) & (weights[t] > 0)  # no branches, unlike "and"
            if alive & (used > chunk * bits):
                codes, size = np.int64(0), 0
                for entry in range(indptr[t], indptr[t + 1]):
                    code = np.int64(code_of[units[entry]])
                    if code > 0:
                        if size == chunk:
                            node = _node(int(codes), key, group, slot, slot_key, slot_node, counters)
                            codes, size = np.int64(node) << CHUNK_BITS, 0
                        codes = (codes & ~CHUNK_MASK) | ((codes & CHUNK_MASK) << bits) | code
                        size += 1
            wanted[count], amount[count] = codes, weights[t]
            count += 1 if alive else 0
            t += 1
        for i in range(count):
            # The lookup is written out: a call that passes seven arrays takes longer than the rest.
            mixed = wanted[i] * GOLDEN
            place = (mixed ^ ((mixed >> 32) & CHUNK_MASK)) & (len(slot_key) - 1)
            while slot_key[place] != wanted[i] and slot_key[place] != 0:
                place = (place + 1) & (len(slot_key) - 1)
            if slot_key[place] != 0:
                weight[slot_node[place]] += amount[i]
            else:
                weight[_node(wanted[i], key, group, slot, slot_key, slot_node, counters)] += amount[i]
    return key, group, weight, slot, slot_key, slot_node, counters


@kernel
def _place(slot_key: NDArray[np.int64], wanted: int) -> int:
    """The slot that holds this key, or the free one where it belongs."""
    mixed = wanted * GOLDEN  # wraps around, as meant
    place = (mixed ^ ((mixed >> 32) & CHUNK_MASK)) & (len(slot_key) - 1)
    while slot_key[place] != wanted and slot_key[place] != 0:
        place = (place + 1) & (len(slot_key) - 1)
    return place


@kernel
def _node(
    wanted: int,
    key: NDArray[np.int64],
    group: NDArray[np.int64],
    slot: NDArray[np.int32],
    slot_key: NDArray[np.int64],
    slot_node: NDArray[np.int32],
    counters: NDArray[np.int64],
) -> int:
    """The node with this key in the current group, made where there is none."""
    place = _place(slot_key, wanted)
    if slot_key[place] == 0:
        node = counters[0]
        slot_key[place], slot_node[place] = wanted, node
        key[node], group[node], slot[node] = wanted, counters[2], place
        counters[0] += 1
    return int(slot_node[place])


@kernel
def read_columns(
    nodes: NDArray[np.int64], key: NDArray[np.int64], bits: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The CSR form of the columns on the way from the root to each of these nodes."""
    mask = (1 << bits) - 1
    indptr = np.zeros(len(nodes) + 1, np.int64)
    for i in range(len(nodes)):
        node, size = nodes[i], 0
        while node != ROOT:
            codes = key[node] & CHUNK_MASK
            while codes > 0:
                size += 1
                codes >>= bits
            node = key[node] >> CHUNK_BITS
        indptr[i + 1] = indptr[i] + size
    columns = np.empty(indptr[-1], np.int32)
    for i in range(len(nodes)):
        node, entry = nodes[i], indptr[i + 1]
        while node != ROOT:
            codes = key[node] & CHUNK_MASK
            while codes > 0:
                entry -= 1
                columns[entry] = (codes & mask) - 1
                codes >>= bits
            node = key[node] >> CHUNK_BITS
    return indptr, columns
