"""Runs of equal groups in a sorted array, and what they add up to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privacy.units import MAX_UNITS, saturating_sums


@dataclass(frozen=True, eq=False, repr=False)
class Segments:
    """Values of many groups side by side.

    Attributes:
      groups: (m,) int64 ascending, in [0, n_groups).
      n_groups: G; groups may be empty.
    """

    groups: NDArray[np.int64]
    n_groups: int

    def sums(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """(G,) totals of values in [0, MAX_UNITS], exact, saturating at MAX_UNITS."""
        if int(values.max(initial=0)) * len(values) >= MAX_UNITS:
            return saturating_sums(self.groups, values, self.n_groups)
        return self.reduced(np.add, values, 0)

    def reduced(self, ufunc: np.ufunc, values: NDArray[np.int64], empty: int) -> NDArray[np.int64]:
        """(G,) the values of each group reduced by a ufunc; `empty` where there are none."""
        result = np.full(self.n_groups, empty, np.int64)
        present, first = self._starts
        if len(present):
            result[present] = ufunc.reduceat(values, first)
        return result

    @cached_property
    def _starts(self) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """The groups that occur and where each begins."""
        begins = np.ones(len(self.groups), bool)
        begins[1:] = self.groups[1:] != self.groups[:-1]
        first = np.flatnonzero(begins)
        return self.groups[first], first

    def __repr__(self) -> str:
        return "Segments(<private>)"
