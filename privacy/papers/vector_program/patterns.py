"""Provenance sets restricted to the units that matter, merged, and the core that they form.

The core is the program that is left at one threshold: the units that may be removed, and the merged patterns of their
tuples. A trie with one small hash table finds the patterns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacy.join_tuples import CompactJoinTuples, Private
from privacy.kernel import kernel
from privacy.papers.vector_program.certificate import slices
from privacy.units import Bools, Floats, Int32s, Ints

CHUNK_BITS = 32
"""Bits of a key that hold the codes of columns; the 31 above hold the node that they continue."""

CHUNK_MASK = (1 << CHUNK_BITS) - 1
GOLDEN = -7046029254386353131
"""The golden ratio in 64 bits."""

ROOT = 0
_BLOCK = 1 << 10

Trie = tuple[Ints, Ints, Floats, Int32s, Ints, Int32s, Ints]
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
    indptr: Ints,
    units: Int32s,
    tuple_group: Ints,
    weights: Ints,
    code_of: Int32s,
    guess: Floats,
    bits: int,
    width: int,
    trie: Trie,
) -> Trie:
    """Add the weights of tuples [first, last) to the nodes of their patterns.

    Waiting for memory and mispredicted branches take most of the time. So a block of tuples is first turned into keys
    without branches, and then looked up.

    Args:
      code_of: (n_units,) 1 + column, or 0.
      guess: (C + 1,) by code; 0 at 0.
      bits: that hold a code; at most CHUNK_BITS.
      width: the largest number of owners of these tuples.
    Returns: the trie, in larger arrays if it had to grow. A node needs less than 2^31 nodes before it.
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
def _place(slot_key: Ints, wanted: int) -> int:
    """The slot that holds this key, or the free one for it."""
    mixed = wanted * GOLDEN  # wraps around, as meant
    place = (mixed ^ ((mixed >> 32) & CHUNK_MASK)) & (len(slot_key) - 1)
    while slot_key[place] != wanted and slot_key[place] != 0:
        place = (place + 1) & (len(slot_key) - 1)
    return place


@kernel
def _node(
    wanted: int, key: Ints, group: Ints, slot: Int32s, slot_key: Ints, slot_node: Int32s, counters: Ints
) -> int:
    """The node with this key in the current group, created if missing."""
    place = _place(slot_key, wanted)
    if slot_key[place] == 0:
        node = counters[0]
        slot_key[place], slot_node[place] = wanted, node
        key[node], group[node], slot[node] = wanted, counters[2], place
        counters[0] += 1
    return int(slot_node[place])


@kernel
def read_columns(nodes: Ints, key: Ints, bits: int) -> tuple[Ints, Int32s]:
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


@dataclass(frozen=True, eq=False, repr=False)
class Patterns(Private):
    """Distinct (group, set of columns) among the tuples of positive weight that own a column.

    Attributes:
      indptr: (P + 1,) int64 and
      columns: (nnz,) int32: CSR; ascending within a pattern.
      group: (P,) int64, ascending.
      weight: (P,) float64 summed units.
    """

    indptr: Ints
    columns: Int32s
    group: Ints
    weight: Floats


def merge_patterns(tuples: CompactJoinTuples, release: int, column_of: Int32s, guess: Floats) -> Patterns:
    """Find the patterns, in the order in which they first occur.

    Args:
      column_of: (n_units,) column of each unit that matters, ascending in the unit; negative for the others.
      guess: (C,) shares; a tuple that they empty has no pattern.
    Cost: one pass over the owners, and one look into a hash table for every few columns of a remaining tuple. The
      table holds one group at a time, so it stays in the cache.
    """
    bits = max(1, len(guess).bit_length())
    code_of = column_of + np.int32(1)
    by_code = np.concatenate((np.zeros(1), guess))
    trie = empty_trie()
    table = tuples.indptr, tuples.units, tuples.group, tuples.weights[release]
    for first, last in slices(tuples.indptr):
        width = int(np.diff(tuples.indptr[first : last + 1]).max(initial=1))
        trie = insert_tuples(first, last, *table, code_of, by_code, bits, width, trie)
    key, group, weight, *_ = trie
    nodes = np.flatnonzero(weight)  # the others only lead to patterns
    indptr, columns = read_columns(nodes, key, bits)
    return Patterns(indptr, columns, group[nodes], weight[nodes])


NO_RUN = -1


@dataclass(frozen=True, eq=False, repr=False)
class Core(Private):
    """Minimise sum s over columns, such that no constrained column's vector over groups has a norm above 1.

    A run is one (constrained column, group) that occurs; its contribution is one entry of a vector.

    Attributes:
      columns: (C,) int64 units that may be removed, ascending; every other unit has share 0.
      patterns: the tuples that own a column, restricted and merged.
      weight: (P,) float64 pattern weights divided by tau.
      run: (nnz,) int32 run of each entry of patterns.columns, or NO_RUN for a column without a constraint.
      run_column: (R,) int64 column of each run.
      run_group: (R,) int64 group of each run, ascending.
    """

    columns: Ints
    patterns: Patterns
    weight: Floats
    run: Int32s
    run_column: Ints
    run_group: Ints

    def norms_of(self, contributions: Floats) -> Floats:
        """(C,) L2 norms over groups of values (R,) per run."""
        return np.sqrt(np.bincount(self.run_column, contributions * contributions, len(self.columns)))


def build_core(
    tuples: CompactJoinTuples,
    release: int,
    over: Bools,
    columns: Ints,
    guess: Floats,
    tau: int,
) -> Core:
    """Restrict the program to some columns, their constraints, and the tuples that `guess` does not empty.

    Args:
      over: (n_units,) units above tau at s = 0; no other unit has a binding constraint.
      columns: units that may have a share, ascending.
      guess: (n_units,) shares, 0 outside the columns; see merge_patterns.
    """
    column_of = np.full(tuples.n_units, -1, np.int32)
    column_of[columns] = np.arange(len(columns))
    patterns = merge_patterns(tuples, release, column_of, guess[columns])
    run, run_column, run_group = _runs(patterns.indptr, patterns.columns, patterns.group, over[columns])
    return Core(columns, patterns, patterns.weight / float(tau), run, run_column, run_group)


@kernel
def _runs(indptr: Ints, columns: Int32s, group: Ints, constrained: Bools) -> tuple[Int32s, Ints, Ints]:
    """Number the runs in the order of the patterns, which come group by group."""
    run = np.full(len(columns), NO_RUN, np.int32)
    run_column = np.empty(len(columns), np.int64)
    run_group = np.empty(len(columns), np.int64)
    latest = np.full(len(constrained), NO_RUN, np.int32)
    count, first = 0, 0
    for p in range(len(group)):
        if p > 0 and group[p] != group[p - 1]:
            first = count
        for entry in range(indptr[p], indptr[p + 1]):
            column = columns[entry]
            if constrained[column]:
                if latest[column] < first:
                    latest[column] = count
                    run_column[count] = column
                    run_group[count] = group[p]
                    count += 1
                run[entry] = latest[column]
    return run, run_column[:count].copy(), run_group[:count].copy()


def contributions_at(core: Core, shares: Floats) -> Floats:
    """(R,) what shares (C,) leave of each run's weight, in multiples of tau."""
    return _by_run(core, shares, False)


def weights_left_at(core: Core, shares: Floats) -> Floats:
    """(R,) the whole weight in each run of the patterns of which shares (C,) leave something."""
    return _by_run(core, shares, True)


def _by_run(core: Core, shares: Floats, whole: bool) -> Floats:
    patterns = core.patterns
    return _added(patterns.indptr, patterns.columns, core.weight, core.run, shares, len(core.run_column), whole)


@kernel
def _added(
    indptr: Ints, columns: Int32s, weight: Floats, run: Int32s, shares: Floats, n_runs: int, whole: bool
) -> Floats:
    """(R,) the weight that is left of each run, or the `whole` weight if anything is."""
    added = np.zeros(n_runs)
    for p in range(len(weight)):
        left = 1.0
        for entry in range(indptr[p], indptr[p + 1]):
            left -= shares[columns[entry]]
        if left > 0.0:
            counted = weight[p] if whole else weight[p] * left
            for entry in range(indptr[p], indptr[p + 1]):
                if run[entry] >= 0:
                    added[run[entry]] += counted
    return added
