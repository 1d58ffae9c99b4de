"""Small grouped instances and an independent reading of the vector program."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil

import numpy as np

from privacy.join_tuples import CompactJoinTuples
from privacy.papers.vector_program.certificate import GRID, SHARE_BITS, WHOLE
from privacy.papers.vector_program.norms import Removal
from privacy.truncation.encode import compact
from tests.unit.privacy.truncation.instances import from_sets

Grouped = tuple[frozenset[int], int, int]
"""The owners of a join tuple, its weight in units and its group."""


def compacted(tuples: Sequence[Grouped], n_groups: int = 3) -> CompactJoinTuples:
    """The instance in the form of the solvers."""
    return compact(from_sets([(owners, w) for owners, w, _ in tuples], [g for *_, g in tuples], n_groups))


def persons(steps: int) -> float:
    """Steps of 2^-31 persons as persons."""
    return steps / WHOLE


def left_of(tuples: CompactJoinTuples, removal: Removal, t: int) -> Fraction:
    """z of one tuple, exactly."""
    owners = tuples.units[tuples.indptr[t] : tuples.indptr[t + 1]]
    return max(Fraction(0), 1 - sum((Fraction(float(s)) for s in removal.shares[owners]), Fraction(0)))


def feasible(tuples: CompactJoinTuples, removal: Removal, tau: int) -> bool:
    """Whether every unit's vector is at most tau long, and the shares are what they claim: exact fractions."""
    shares = [Fraction(float(s)) for s in removal.shares]
    honest = ceil(sum(shares, Fraction(0)) * WHOLE) == removal.removed
    honest = honest and all(0 <= s <= 1 and (s * GRID).denominator == 1 for s in shares)
    contributions = [[Fraction(0)] * tuples.n_groups for _ in shares]
    for t, weight in enumerate(tuples.weights[0].tolist()):
        for u in tuples.units[tuples.indptr[t] : tuples.indptr[t + 1]]:
            contributions[u][tuples.group[t]] += weight * left_of(tuples, removal, t)
    return honest and all(
        sum((x * x for x in contribution), Fraction(0)) <= tau * tau for contribution in contributions
    )


def sums_of(tuples: CompactJoinTuples, removal: Removal) -> tuple[int, ...]:
    """What is left of each group, in 2^-SHARE_BITS units, exactly."""
    sums = [Fraction(0)] * tuples.n_groups
    for t, weight in enumerate(tuples.weights[0].tolist()):
        sums[tuples.group[t]] += weight * left_of(tuples, removal, t)
    return tuple(int(total * (1 << SHARE_BITS)) for total in sums)


def distance(left: Sequence[int], right: Sequence[int]) -> float:
    """L2 distance of two vectors of sums, in units."""
    return float(np.linalg.norm(np.subtract(left, right, dtype=object).astype(float))) / (1 << SHARE_BITS)
