"""What a database makes of vectors (`planner.rules.scale_loads`), from the vectors themselves, one by one."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from privacy.truncation.loads.length_histogram import LengthHistogram
from privacy.truncation.loads.load_histogram import LoadHistogram
from privacy.units import MAX_UNITS

Vectors = Sequence[Sequence[int]]
"""What each unit has in every group, in units of weight."""


def length_of(vector: Sequence[int], euclidean: bool) -> int:
    """As the statement computes it: the sum, or no less than the Euclidean length."""
    total = sum(vector)
    if not euclidean:
        return total
    squares = sum(math.ceil(part / total * 2.0**30) ** 2 for part in vector)
    length = float(total) * math.sqrt(float(squares)) / 2.0**30
    return math.ceil(length + length / 2.0**40)


def lengths_of(
    sums: Sequence[Vectors], n_groups: int, thresholds: Sequence[int], *, euclidean: bool
) -> LengthHistogram:
    """Of each sum, what its units have."""
    cells: dict[tuple[int, int, int], list[int]] = {}
    units: dict[tuple[int, int], list[int]] = {}
    for number, vectors in enumerate(sums):
        for vector in vectors:
            if not 0 < sum(vector) < MAX_UNITS:
                continue
            length = length_of(vector, euclidean)
            interval = int(np.searchsorted(thresholds, length))
            counted = units.setdefault((number, interval), [0, 0])
            counted[0] += 1
            counted[1] = min(MAX_UNITS, counted[1] + length)
            for own, load in enumerate(vector):
                if load:
                    cell = cells.setdefault((number, own, interval), [0, 0])
                    cell[0] = min(MAX_UNITS, cell[0] + load)
                    cell[1] += math.floor(load / length * 2.0**30)
    row, group, place, total, share = columns([(*key, *cells[key]) for key in sorted(cells)])
    which, alone, at, many, together = columns([(key[0], 0, key[1], *units[key]) for key in sorted(units)])
    lengths = LoadHistogram(which, alone, at, many, together, 1, len(sums), np.array(thresholds, np.int64))
    return LengthHistogram(lengths, row, group, place, total, share, n_groups)


def columns(rows: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """(5, m) the columns of m rows."""
    return np.array(rows, np.int64).reshape(-1, 5).T
