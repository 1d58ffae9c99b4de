"""Which privacy unit is at which key: the sparse 0/1 table whose column sums are COUNT(DISTINCT unit) per key."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.sampling.draws import MAX_COUNT, Draws


@dataclass(frozen=True, eq=False, repr=False)
class Incidence:
    """Pairs of a unit and a key, none twice, no unit at more than `most` keys. Private, and shown by no repr.

    Sensitivity: when a unit comes or goes, so do its keys, `most` of them at most. Given the order that was drawn
    (`enforced`), nobody else's change: the counts move by 1 at no more than `moved` keys.

    Attributes:
      units: (m,) int64, rising; within a unit the pairs stand in the order that was drawn.
      keys: (m,) int64 in [0, n_keys).
      n_keys: d, public.
      most: L0, public and enforced.
    """

    units: NDArray[np.int64]
    keys: NDArray[np.int64]
    n_keys: int
    most: int

    def __repr__(self) -> str:
        return "Incidence(<private>)"

    @property
    def moved(self) -> int:
        """The L1 sensitivity of the counts. Public."""
        return min(self.most, self.n_keys)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """(n_keys,) how many units each key has."""
        return np.bincount(self.keys, minlength=self.n_keys)

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """(n_units,) the first key of each unit in the order drawn: uniform over all keys that the unit had."""
        begins = np.ones(len(self.units), bool)
        begins[1:] = self.units[1:] != self.units[:-1]
        return self.keys[begins]


def enforced(
    units: NDArray[np.int64],
    keys: NDArray[np.int64],
    n_keys: int,
    most: int,
    draws: Draws,
) -> Incidence:
    """Keep at most `most` keys of each unit, chosen uniformly, and each pair once.

    The bound is enforced and no promise: the papers take the largest number that occurs, which is private. Each
    pair has a place in the order by a draw of its own, so that in neighbouring data the same draws decide.

    Args:
      units: (m,) which privacy unit, in [0, 2^31).
      keys: (m,) which public key, in [0, n_keys); pairs with others are dropped: an error would tell.
      n_keys: d >= 1, public, at most 2^31.
      most: L0 >= 1, public.
      draws: of the order.
    Raises: InvalidParameter.
    Cost: two sorts of m pairs.
    """
    if not 1 <= n_keys <= 1 << 31 or most < 1:
        raise InvalidParameter("there is at least one key, and a unit is at one key at least")
    if units.shape != keys.shape or units.ndim != 1:
        raise InvalidParameter("a unit and a key are needed for each pair")
    if len(units) and (units.min() < 0 or units.max() >= 1 << 31):
        raise InvalidParameter("units are numbered from 0, below 2^31")
    known = (keys >= 0) & (keys < n_keys)
    units, keys = units[known], keys[known]
    unit, key = np.divmod(np.unique(units.astype(np.int64) * n_keys + keys), n_keys)
    order = np.lexsort((draws.uniform(MAX_COUNT, len(unit)), unit))
    unit, key = unit[order], key[order]
    place = np.arange(len(unit)) - np.searchsorted(unit, unit)
    kept = place < most
    return Incidence(unit[kept], key[kept], n_keys, min(most, n_keys))
