"""Which tuple is owned by whom, with the sums and extremes along both directions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from privacy.units import MAX_UNITS, saturating_sums

Number = TypeVar("Number", np.int64, np.float64)


@dataclass(frozen=True, eq=False, repr=False)
class Incidence:
    """The bipartite graph of m tuples and n units.

    Attributes:
      indptr: (m + 1,) int64 and
      units: (nnz,) int64: CSR; tuple t is owned by units[indptr[t]:indptr[t + 1]], distinct, at least one.
      n_units: n.
    """

    indptr: NDArray[np.int64]
    units: NDArray[np.int64]
    n_units: int

    @property
    def n_rows(self) -> int:
        """m."""
        return len(self.indptr) - 1

    @cached_property
    def owners(self) -> NDArray[np.int64]:
        """(m,) owners per tuple."""
        return np.diff(self.indptr)

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """(nnz,) the tuple of each CSR entry."""
        return np.repeat(np.arange(self.n_rows), self.owners)

    @cached_property
    def degrees(self) -> NDArray[np.int64]:
        """(n,) tuples per unit."""
        return np.bincount(self.units, minlength=self.n_units)

    def unit_sums(self, row_values: NDArray[np.int64]) -> NDArray[np.int64]:
        """(n,) total over each unit's tuples of values in [0, MAX_UNITS]; exact, saturating at MAX_UNITS.

        Cost: one product with an integer matrix when no total can overflow, saturating_sums otherwise.
        """
        if int(row_values.max(initial=0)) * int(self.degrees.max(initial=0)) < MAX_UNITS:
            return np.asarray(self._by_unit @ row_values)
        return saturating_sums(self.units, row_values[self.rows], self.n_units)

    def row_min(self, unit_values: NDArray[Number]) -> NDArray[Number]:
        """(m,) the smallest value among each tuple's units."""
        entries = unit_values[self.units]
        return np.minimum.reduceat(entries, self.indptr[:-1]) if self.n_rows else entries

    def row_sums(self, unit_values: NDArray[np.int64]) -> NDArray[np.int64]:
        """(m,) total over each tuple's units; the caller rules out overflow."""
        entries = unit_values[self.units]
        return np.add.reduceat(entries, self.indptr[:-1]) if self.n_rows else entries

    @cached_property
    def _by_unit(self) -> csr_array:
        """(n, m) int64 matrix of ones, stored by unit."""
        by_row = csr_array((np.ones(len(self.units), np.int64), self.units, self.indptr), (self.n_rows, self.n_units))
        return by_row.T.tocsr()

    def __repr__(self) -> str:
        return "Incidence(<private>)"


def fair_share(incidence: Incidence, wanted: NDArray[np.int64], spare: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give tuple t floor(wanted_t * min over its units of min(1, spare_u / asked_u)): feasible by construction.

    Args:
      wanted: (m,) in [0, MAX_UNITS].
      spare: (n,) in [0, MAX_UNITS).
    Returns: (m,) with unit sums at most spare, exactly: ratios are shrunk by more than their rounding.
    """
    asked = incidence.unit_sums(wanted)
    worst = incidence.row_min(shrink_ratio(asked, spare))
    return np.where(worst < 1.0, np.floor(wanted * worst).astype(np.int64), wanted)


_SAFE = 1.0 - 2.0**-48
"""Shrinks a ratio by more than the rounding of the few float operations around it."""


def shrink_ratio(asked: NDArray[np.int64], spare: NDArray[np.int64]) -> NDArray[np.float64]:
    """What fraction of its demand each unit can grant; nothing when the demand is saturated, so unknown."""
    ratio = np.minimum(spare / np.maximum(asked, 1) * _SAFE, 1.0)
    ratio[asked <= spare] = 1.0
    ratio[asked == MAX_UNITS] = 0.0
    return ratio
