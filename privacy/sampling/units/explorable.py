"""Join tuples filed under the first of their owners, so that a drawn privacy unit brings its own at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.join_tuples import JoinTuples, OwnerColumn
from privacy.kernel import kernel
from privacy.truncation.codes.owner_codes import NOBODY, owner_codes
from privacy.units import MAX_UNITS, saturating_sums


@dataclass(frozen=True, eq=False, repr=False)
class Explorable:
    """Join tuples by first owner. Private. Made once, drawn from many times.

    Attributes:
      owners: (positions, m) int32 codes of the owners, NOBODY where there is none, sorted by first owner.
      weights: (m,) int64 units, in the same order.
      starts: (a + 1,) int64; the tuples of first owner i are starts[i] to starts[i + 1].
      loads: (a,) int64 units, the total weight of each, saturating at MAX_UNITS.
      n_units: how many units there are, with those that bring no tuple, >= a; 1 where there is none, so that a draw
        never fails.
    """

    owners: NDArray[np.int32]
    weights: NDArray[np.int64]
    starts: NDArray[np.int64]
    loads: NDArray[np.int64]
    n_units: int

    def __repr__(self) -> str:
        return "Explorable(<private>)"

    def loads_of(self, drawn: NDArray[np.int64]) -> NDArray[np.int64]:
        """(k,) the total weight that each drawn unit brings; 0 for units that are nobody's first owner.

        Args:
          drawn: (k,) in [0, n_units), repetitions allowed.
        """
        brings = drawn < len(self.loads)
        if not len(self.loads):
            return np.zeros(len(drawn), np.int64)
        return np.where(brings, self.loads[np.where(brings, drawn, 0)], 0)

    def brought_by(self, drawn: NDArray[np.int64]) -> JoinTuples:
        """The tuples whose first owner is among the drawn units.

        Args:
          drawn: (k,) distinct, in [0, n_units).
        Cost: linear in the tuples that are brought.
        """
        drawn = drawn[drawn < len(self.loads)]
        sizes = self.starts[drawn + 1] - self.starts[drawn]
        rows = np.empty(int(sizes.sum()), np.int64)
        _rows(self.starts, drawn, rows)
        codes = self.owners[:, rows]
        columns = tuple(OwnerColumn("unit", column, column == NOBODY) for column in codes)
        return JoinTuples(columns, np.zeros(len(rows), np.int64), 1, self.weights[None, rows])


def explorable(tuples: JoinTuples, n_units: int = 0) -> Explorable:
    """File join tuples under their first owner: the unit at the first position that is not empty.

    Which position comes first is a choice of whoever writes the query; every tuple has one first owner, so each
    is brought by exactly one unit. Tuples without any owner, or outside the public group, are dropped.

    Args:
      tuples: m join tuples, one group, one release.
      n_units: how many privacy units there are, from their own tables; tuples do not show those without any.
    Raises: InvalidParameter for several groups or releases, or arrays that do not fit each other.
    Cost: one stable sort of m small integers and a copy.
    Source: Fang and Yi (SIGMOD 2024), section 5.1.
    """
    check_single(tuples)
    codes, _ = owner_codes(tuples.owners, len(tuples.group))
    first = np.full(len(tuples.group), NOBODY, np.int32)
    for column in codes[::-1]:
        first = np.where(column == NOBODY, first, column)
    owned = np.flatnonzero((first != NOBODY) & (tuples.group == 0))
    rows = owned[np.argsort(first[owned], kind="stable")]
    first = first[rows]
    starts = np.flatnonzero(np.diff(first, prepend=NOBODY, append=np.iinfo(np.int32).max)).astype(np.int64)
    weights = tuples.weights[0, rows]
    rank = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    loads = saturating_sums(rank, weights, len(starts) - 1)
    return Explorable(np.ascontiguousarray(codes[:, rows]), weights, starts, loads, max(n_units, len(loads), 1))


def check_single(tuples: JoinTuples) -> None:
    """Refuse tuples of several groups or releases, or malformed ones. Raises: InvalidParameter."""
    group, weights = tuples.group, tuples.weights
    if tuples.n_groups != 1 or weights.ndim != 2 or len(weights) != 1 or weights.shape[1:] != group.shape:
        raise InvalidParameter("one group and one release at a time")
    if weights.dtype != np.int64 or weights.min(initial=0) < 0 or weights.max(initial=0) > MAX_UNITS:
        raise InvalidParameter("a weight is outside [0, MAX_UNITS]")
    if group.dtype != np.int64 or group.min(initial=0) < -1 or group.max(initial=0) > 0:
        raise InvalidParameter("a group is outside the public list")
    if not tuples.owners:
        raise InvalidParameter("tuples need owner positions")


@kernel
def _rows(starts: NDArray[np.int64], drawn: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
    """Write the row numbers of every drawn unit's tuples."""
    end = 0
    for i in range(len(drawn)):
        for row in range(starts[drawn[i]], starts[drawn[i] + 1]):
            rows[end] = row
            end += 1
