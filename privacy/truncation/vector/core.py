"""The program that is left at one threshold: units that may be removed, and the merged patterns of their tuples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.join_tuples import CompactJoinTuples
from privacy.kernel import kernel
from privacy.truncation.control import QUIET, Control
from privacy.truncation.vector.patterns import Patterns, merge_patterns

NO_RUN = -1


@dataclass(frozen=True, eq=False, repr=False)
class Core:
    """Minimise sum s over columns, such that no constrained column's vector over groups is longer than 1.

    A run is one (constrained column, group) that occurs; the load of a run is one entry of a vector.

    Attributes:
      columns: (C,) int64 units that may be removed, ascending; every other unit has share 0.
      patterns: the tuples that own a column, projected and merged.
      weight: (P,) float64 pattern weights divided by tau.
      run: (nnz,) int32 run of each entry of patterns.columns, or NO_RUN for a column without a constraint.
      run_column: (R,) int64 column of each run.
      run_group: (R,) int64 group of each run, ascending.
    """

    columns: NDArray[np.int64]
    patterns: Patterns
    weight: NDArray[np.float64]
    run: NDArray[np.int32]
    run_column: NDArray[np.int64]
    run_group: NDArray[np.int64]

    def lengths_of(self, loads: NDArray[np.float64]) -> NDArray[np.float64]:
        """(C,) L2 norms over groups of values (R,) per run."""
        return np.sqrt(np.bincount(self.run_column, loads * loads, len(self.columns)))

    def __repr__(self) -> str:
        return "Core(<private>)"


def build_core(
    tuples: CompactJoinTuples,
    release: int,
    over: NDArray[np.bool_],
    columns: NDArray[np.int64],
    guess: NDArray[np.float64],
    tau: int,
    control: Control = QUIET,
) -> Core:
    """Restrict the program to some columns, their constraints, and the tuples that `guess` does not empty.

    Args:
      over: (n_units,) who exceeds tau at s = 0; nobody else ever has a constraint that binds.
      columns: units that may have a share, ascending.
      guess: (n_units,) shares, 0 outside the columns; see merge_patterns.
    Raises: Cancelled.
    """
    column_of = np.full(tuples.n_units, -1, np.int32)
    column_of[columns] = np.arange(len(columns))
    patterns = merge_patterns(tuples, release, column_of, guess[columns], control)
    run, run_column, run_group = _runs(patterns.indptr, patterns.columns, patterns.group, over[columns])
    return Core(columns, patterns, patterns.weight / float(tau), run, run_column, run_group)


@kernel
def _runs(
    indptr: NDArray[np.int64], columns: NDArray[np.int32], group: NDArray[np.int64], constrained: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
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


def loads_at(core: Core, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """(R,) what shares (C,) leave of each run's weight, in multiples of tau."""
    return _by_run(core, shares, False)


def weights_left_at(core: Core, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """(R,) the whole weight in each run of the patterns of which shares (C,) leave something."""
    return _by_run(core, shares, True)


def _by_run(core: Core, shares: NDArray[np.float64], whole: bool) -> NDArray[np.float64]:
    patterns = core.patterns
    return _added(patterns.indptr, patterns.columns, core.weight, core.run, shares, len(core.run_column), whole)


@kernel
def _added(
    indptr: NDArray[np.int64],
    columns: NDArray[np.int32],
    weight: NDArray[np.float64],
    run: NDArray[np.int32],
    shares: NDArray[np.float64],
    n_runs: int,
    whole: bool,
) -> NDArray[np.float64]:
    """(R,) of each run the weight that is left, or the `whole` weight wherever something is."""
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
