"""The tuples that a threshold cuts twice, copied out in the order in which thresholds stop doing so."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.truncation.ladder.level_index_kernels import write_file

Slice = tuple[NDArray[np.int32], NDArray[np.int64]]


@dataclass(eq=False, repr=False)
class LevelIndex:
    """Tuples by group and falling second-highest level: those of one group at one threshold are a prefix.

    Mechanisms ask about high thresholds, which cut few tuples twice. So only the levels above the lowest threshold
    asked for so far are copied, and all of them again when a lower one is asked for.

    Attributes:
      row_start: (G + 1,) where each group's tuples begin.
      members, weights: the m tuples, as CodedJoinTuples.
      second: (m,) int8 second-highest levels.
      place: (n,) int32 of each member among its group's, by falling level.
      filed: (G, L + 1) how many tuples have each second level.
    """

    row_start: NDArray[np.int64]
    members: NDArray[np.int32]
    weights: NDArray[np.int64]
    second: NDArray[np.int8]
    place: NDArray[np.int32]
    filed: NDArray[np.int64]

    def __post_init__(self) -> None:
        self._floor = self.filed.shape[1]
        self._starts = np.zeros(len(self.filed) + 1, np.int64)
        self._owners, self._weights = np.empty((0, len(self.members)), np.int32), np.empty(0, np.int64)

    def above(self, group: int, index: int) -> Slice:
        """The tuples of one group whose second-highest level exceeds `index`.

        Returns: (size, positions) int32 places of their owners, ascending, NO_PLACE where there is none; and weights.
        Cost: nothing, or a byte of every tuple and a copy of those above, of all groups.
        """
        if index < self._floor:
            self._copy(index)
        start = int(self._starts[group])
        stop = start + int(self.filed[group, index + 1 :].sum())
        return self._owners[start:stop], self._weights[start:stop]

    def _copy(self, floor: int) -> None:
        """Copy the tuples above a new floor."""
        counts = self.filed[:, floor + 1 :].sum(axis=1)
        self._starts = np.concatenate([[0], np.cumsum(counts)])
        size = int(self._starts[-1])
        self._owners, self._weights = np.empty((size, len(self.members)), np.int32), np.empty(size, np.int64)
        write_file(
            self.row_start,
            self.members,
            self.weights,
            self.second,
            self.filed,
            floor,
            self.place,
            self._owners,
            self._weights,
        )
        self._floor = floor

    def __repr__(self) -> str:
        return "TupleFile(<private>)"
