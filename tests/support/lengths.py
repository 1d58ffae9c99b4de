"""What a database makes of vectors (`planner.rewriting.contributions`), from the vectors themselves, one by one."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from privacy.truncation.histograms import ContributionHistogram, NormHistogram
from privacy.units import MAX_UNITS

LIMB = (1 << 20) - 1

Vectors = Sequence[Sequence[int]]
"""What each unit has in every group, in units of weight."""


def length_of(vector: Sequence[int], euclidean: bool) -> int:
    """As the statement computes it: the sum, or no less than the Euclidean length."""
    total = sum(vector)
    if not euclidean:
        return total
    pairs = [(part >> 40, (part >> 20) & LIMB, part & LIMB) for part in vector]
    products = (
        sum(a * a for a, _, _ in pairs),
        sum(2 * a * b for a, b, _ in pairs),
        sum(2 * a * c + b * b for a, b, c in pairs),
        sum(2 * b * c for _, b, c in pairs),
        sum(c * c for _, _, c in pairs),
    )
    squares = 0.0
    for product in products:
        squares = squares * 2.0**20 + product
    return min(MAX_UNITS, total, math.ceil(math.sqrt(squares) * (1.0 + 2.0**-40)))


def lengths_of(
    sums: Sequence[Vectors], n_groups: int, thresholds: Sequence[int], *, euclidean: bool
) -> NormHistogram:
    """Of each sum, what its units have."""
    cells: dict[tuple[int, int, int], list[int]] = {}
    units: dict[tuple[int, int], list[int]] = {}
    for number, vectors in enumerate(sums):
        for vector in vectors:
            length = length_of(vector, euclidean)
            if not 0 < length < MAX_UNITS:
                continue
            interval = int(np.searchsorted(thresholds, length))
            counted = units.setdefault((number, interval), [0, 0])
            counted[0] += 1
            counted[1] = min(MAX_UNITS, counted[1] + length)
            for own, contribution in enumerate(vector):
                if contribution:
                    cell = cells.setdefault((number, own, interval), [0, 0])
                    cell[0] = min(MAX_UNITS, cell[0] + contribution)
                    cell[1] += math.floor(contribution / length * 2.0**30)
    row, group, place, total, share = columns([(*key, *cells[key]) for key in sorted(cells)])
    which, alone, at, many, together = columns([(key[0], 0, key[1], *units[key]) for key in sorted(units)])
    lengths = ContributionHistogram(which, alone, at, many, together, 1, len(sums), np.array(thresholds, np.int64))
    return NormHistogram(lengths, row, group, place, total, share, n_groups)


def columns(rows: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """(5, m) the columns of m rows."""
    return np.array(rows, np.int64).reshape(-1, 5).T
