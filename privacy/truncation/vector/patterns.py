"""Project every provenance set on the few units that matter, and merge what has become equal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.join_tuples import CompactJoinTuples
from privacy.truncation.control import QUIET, Control
from privacy.truncation.vector.pattern_kernels import empty_trie, insert_tuples, read_columns
from privacy.truncation.vector.slices import slices


@dataclass(frozen=True, eq=False, repr=False)
class Patterns:
    """Distinct (group, set of columns) among the tuples that own a column and weigh something.

    Attributes:
      indptr: (P + 1,) int64 and
      columns: (nnz,) int32: CSR; ascending within a pattern.
      group: (P,) int64, ascending.
      weight: (P,) float64 summed units.
    """

    indptr: NDArray[np.int64]
    columns: NDArray[np.int32]
    group: NDArray[np.int64]
    weight: NDArray[np.float64]

    def __repr__(self) -> str:
        return "Patterns(<private>)"


def merge_patterns(
    tuples: CompactJoinTuples,
    release: int,
    column_of: NDArray[np.int32],
    guess: NDArray[np.float64],
    control: Control = QUIET,
) -> Patterns:
    """Find the patterns, in the order in which they first occur.

    Args:
      column_of: (n_units,) column of each unit that matters, ascending in the unit; negative for the others.
      guess: (C,) shares; a tuple of which they leave nothing has no pattern.
    Raises: Cancelled.
    Cost: one pass over the owners, and one look into a hash table for every few columns of a tuple that is left;
      the table holds one group at a time, so that it stays in the cache.
    """
    bits = max(1, len(guess).bit_length())
    code_of = column_of + np.int32(1)
    by_code = np.concatenate((np.zeros(1), guess))
    trie = empty_trie()
    for first, last in slices(tuples.indptr, control, "merging"):
        trie = insert_tuples(
            first,
            last,
            tuples.indptr,
            tuples.units,
            tuples.group,
            tuples.weights[release],
            code_of,
            by_code,
            bits,
            int(np.diff(tuples.indptr[first : last + 1]).max(initial=1)),
            trie,
        )
    key, group, weight, *_ = trie
    nodes = np.flatnonzero(weight)  # the others only lead to patterns
    indptr, columns = read_columns(nodes, key, bits)
    return Patterns(indptr, columns, group[nodes], weight[nodes])
