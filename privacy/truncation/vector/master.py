"""The linear program of all cuts found so far, re-solved from where it stood."""

from __future__ import annotations

from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from privacy.errors import SolverFailed
from privacy.truncation.control import QUIET, Control
from privacy.truncation.vector.cuts import Cuts
from privacy.truncation.vector.interior_point import interior_point


class Master:
    """Minimise sum s subject to the cuts and 0 <= s <= 1: by dual simplex, which now and then loses its way.

    Where weights differ by more than a float64 has digits, a warm start may end in a basis that cannot be factorised.
    It then starts again cold, and at last an interior-point method answers, which needs no basis.

    Single-threaded and without a clock, so the points are a function of the cuts and their order.
    """

    def __init__(self, n_columns: int, control: Control = QUIET, inside: bool = False) -> None:
        """No cuts yet.

        Args:
          inside: always ask the interior-point method.
        """
        self._n_columns, self._control, self._inside = n_columns, control, inside
        self._batches: list[Cuts] = []
        if not inside:
            self._highs = _simplex(n_columns)
            self._highs.cbSimplexInterrupt.subscribe(self._ask)

    def _ask(self, event: Any) -> None:
        """What HiGHS asks every few iterations: whether to go on."""
        if self._control.cancelled:
            event.interrupt()

    def add(self, cuts: Cuts) -> None:
        """Append the rows of `cuts`."""
        self._batches.append(cuts)
        if not self._inside:
            k = len(cuts.bound)
            no_limit = np.full(k, highspy.kHighsInf)
            self._highs.addRows(
                k, cuts.bound, no_limit, len(cuts.columns), cuts.indptr[:-1], cuts.columns, cuts.values
            )

    def solve(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Shares (C,) and a dual >= 0 per row, all finite; neither is believed by anybody.

        Raises: Cancelled.
        """
        found = None if self._inside else self._warm() or self._cold()
        return found if found is not None else self._interior()

    def _warm(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """What HiGHS finds from where it stands, or None."""
        self._highs.run()
        self._control.check("cutting")
        if self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        solution = self._highs.getSolution()
        shares = np.asarray(solution.col_value, np.float64)
        duals = np.asarray(solution.row_dual, np.float64)
        if not (np.isfinite(shares).all() and np.isfinite(duals).all()):
            return None
        return shares, np.maximum(duals, 0.0)

    def _cold(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """What HiGHS finds from nothing, or None."""
        self._highs.clearSolver()
        return self._warm()

    def _interior(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What is found without HiGHS."""
        batches = self._batches
        sizes = np.concatenate([np.diff(cuts.indptr) for cuts in batches])
        indptr = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
        values = np.concatenate([cuts.values for cuts in batches])
        columns = np.concatenate([cuts.columns for cuts in batches])
        rows = csr_array((values, columns, indptr), (len(sizes), self._n_columns))
        return interior_point(rows, np.concatenate([cuts.bound for cuts in batches]), self._control)


def _simplex(n_columns: int) -> highspy.Highs:
    """A HiGHS of so many shares and no rows."""
    highs = highspy.Highs()
    for option, value in _OPTIONS.items():
        if highs.setOptionValue(option, value) != highspy.HighsStatus.kOk:
            raise SolverFailed(f"HiGHS does not know the option {option}")
    places = np.arange(n_columns, dtype=np.int32)
    highs.addVars(n_columns, np.zeros(n_columns), np.ones(n_columns))
    highs.changeColsCost(n_columns, places, np.ones(n_columns))
    return highs


_OPTIONS: dict[str, bool | int | float | str] = {
    "output_flag": False,
    "threads": 1,
    "parallel": "off",
    "random_seed": 0,
    "solver": "simplex",
    "presolve": "off",
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
}
