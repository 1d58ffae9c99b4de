"""One truncation program as arrays, and the Protocol of its solvers.

One group, one threshold, in integers: who owns which tuple, with sums and extremes along both directions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from privacy.join_tuples import Private
from privacy.kernel import kernel
from privacy.units import MAX_UNITS, Floats, Ints, saturating_sums

Number = TypeVar("Number", np.int64, np.float64)


@dataclass(frozen=True, eq=False, repr=False)
class Incidence(Private):
    """The bipartite graph of m tuples and n units.

    Attributes:
      indptr, units: (m + 1,) and (nnz,) int64, compressed sparse rows. The units that own tuple t are
        units[indptr[t]:indptr[t + 1]]: distinct, and at least one.
      n_units: n, the number of units.
    """

    indptr: Ints
    units: Ints
    n_units: int

    @property
    def n_rows(self) -> int:
        """m, the number of tuples, one per row of the incidence matrix."""
        return len(self.indptr) - 1

    @cached_property
    def owners(self) -> Ints:
        """(m,) the number of units that own each tuple."""
        return np.diff(self.indptr)

    @cached_property
    def rows(self) -> Ints:
        """(nnz,) the tuple of each entry of `units`."""
        return np.repeat(np.arange(self.n_rows), self.owners)

    @cached_property
    def degrees(self) -> Ints:
        """(n,) the number of tuples of each unit."""
        return np.bincount(self.units, minlength=self.n_units)

    def unit_sums(self, row_values: Ints) -> Ints:
        """(n,) the total of each unit's tuples; exact, saturating at MAX_UNITS.

        Args:
          row_values: (m,) one value per tuple, in [0, MAX_UNITS].

        Cost: one pass over the owners when no total can overflow, saturating_sums otherwise.
        """
        if int(row_values.max(initial=0)) * int(self.degrees.max(initial=0)) < MAX_UNITS:
            return _unit_sums(self.indptr, self.units, row_values, self.n_units)
        return saturating_sums(self.units, row_values[self.rows], self.n_units)

    def row_min(self, unit_values: NDArray[Number]) -> NDArray[Number]:
        """(m,) the smallest value among each tuple's units."""
        return _row_min(self.indptr, self.units, unit_values)

    def row_sums(self, unit_values: Ints) -> Ints:
        """(m,) the total over each tuple's units. The caller rules out overflow."""
        return _row_sums(self.indptr, self.units, unit_values)


@kernel
def _unit_sums(indptr: Ints, units: Ints, row_values: Ints, n_units: int) -> Ints:
    sums = np.zeros(n_units, np.int64)
    for row in range(len(indptr) - 1):
        for entry in range(indptr[row], indptr[row + 1]):
            sums[units[entry]] += row_values[row]
    return sums


@kernel
def _row_min(indptr: Ints, units: Ints, unit_values: NDArray[Number]) -> NDArray[Number]:
    least = np.empty(len(indptr) - 1, unit_values.dtype)
    for row in range(len(least)):
        least[row] = unit_values[units[indptr[row]]]
        for entry in range(indptr[row] + 1, indptr[row + 1]):
            least[row] = min(least[row], unit_values[units[entry]])
    return least


@kernel
def _row_sums(indptr: Ints, units: Ints, unit_values: Ints) -> Ints:
    sums = np.zeros(len(indptr) - 1, np.int64)
    for row in range(len(sums)):
        for entry in range(indptr[row], indptr[row + 1]):
            sums[row] += unit_values[units[entry]]
    return sums


def fair_share(incidence: Incidence, wanted: Ints, spare: Ints) -> Ints:
    """Scale each tuple's wanted weight down, so that no unit gets more than its spare capacity.

    Let asked_u be the total that the tuples of unit u want. A tuple gets its wanted weight times the smallest ratio
    spare_u / asked_u of its units, at most 1, rounded down.

    Args:
      wanted: (m,) the weight that each tuple wants, in [0, MAX_UNITS].
      spare: (n,) the capacity that each unit has left, in [0, MAX_UNITS).
    Returns: (m,) the weights. Each unit's total is at most its spare capacity, exactly: ratios are shrunk by more
      than their rounding.
    """
    asked = incidence.unit_sums(wanted)
    worst = incidence.row_min(shrink_ratio(asked, spare))
    return np.where(worst < 1.0, np.floor(wanted * worst).astype(np.int64), wanted)


_SAFE = 1.0 - 2.0**-48
"""Shrinks a ratio by more than the rounding of the few float operations around it."""


def shrink_ratio(asked: Ints, spare: Ints) -> Floats:
    """(n,) spare / asked of each unit, at most 1, shrunk a little; 0 if `asked` is saturated and so unknown."""
    ratio = np.minimum(spare / np.maximum(asked, 1) * _SAFE, 1.0)
    ratio[asked <= spare] = 1.0
    ratio[asked == MAX_UNITS] = 0.0
    return ratio


@dataclass(frozen=True, eq=False, repr=False)
class PreparedProgram(Private):
    """A truncation program: maximise sum_t x_t over x with 0 <= x_t <= w_t, and no unit u above its cap c_u.

    A tuple t is a row of the question's join, and x_t the part of its weight w_t that counts. A unit's total is the
    sum of x_t over the tuples that it owns. `presolve.py` reduces a program before a solver gets it.

    Attributes:
      weights: (m,) int64, w in [0, MAX_UNITS]. After the presolve no weight exceeds a cap of the tuple's units.
      incidence: which units own which tuples.
      caps: (n,) int64, c in [0, MAX_UNITS).
    """

    weights: Ints
    incidence: Incidence
    caps: Ints

    @property
    def scale(self) -> int:
        """A bound on every x_t. Solvers get the program divided by it, so that their variables are at most 1."""
        return min(int(self.weights.max(initial=1)), int(self.caps.max(initial=1)))

    def scaled(self) -> tuple[Floats, Floats]:
        """Weights and caps divided by `scale`, as floats for a solver."""
        return self.weights / self.scale, self.caps / self.scale


Point = tuple[Floats, Floats]
"""x: (m,) in multiples of the program's scale; y: (n,) duals of the unit constraints, dimensionless."""


class LinearProgramSolver(Protocol):
    """A solver of programs. Its points need not be right, because certificate.py recomputes both bounds."""

    def points(self, program: PreparedProgram) -> Iterator[Point]:
        """Points nearer and nearer the optimum of `program.scaled()`; the caller stops when one is near enough.

        The same program gives the same points: no clock, random number or earlier question enters. A point is valid
        until the next one is asked for.

        Raises: SolverFailed if there is no point.
        """
