"""The linear program of all cuts found so far, re-solved from where it stood."""

from __future__ import annotations

from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray

from privacy.errors import SolverFailed
from privacy.truncation.control import QUIET, Control
from privacy.truncation.vector.cuts import Cuts


class Master:
    """Minimise sum s subject to the cuts and 0 <= s <= 1, by dual simplex.

    Single-threaded and without a clock, so the points are a function of the cuts and their order.
    """

    def __init__(self, n_columns: int, control: Control = QUIET) -> None:
        self._highs, self._control = highspy.Highs(), control
        for option, value in _OPTIONS.items():
            if self._highs.setOptionValue(option, value) != highspy.HighsStatus.kOk:
                raise SolverFailed(f"HiGHS does not know the option {option}")
        places = np.arange(n_columns, dtype=np.int32)
        self._highs.addVars(n_columns, np.zeros(n_columns), np.ones(n_columns))
        self._highs.changeColsCost(n_columns, places, np.ones(n_columns))
        self._highs.cbSimplexInterrupt.subscribe(self._ask)

    def _ask(self, event: Any) -> None:
        """What HiGHS asks every few iterations: whether to go on."""
        if self._control.cancelled:
            event.interrupt()

    def add(self, cuts: Cuts) -> None:
        """Append the rows of `cuts`."""
        k = len(cuts.bound)
        no_limit = np.full(k, highspy.kHighsInf)
        self._highs.addRows(k, cuts.bound, no_limit, len(cuts.columns), cuts.indptr[:-1], cuts.columns, cuts.values)

    def solve(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Shares (C,) and a dual per row; neither is believed by anybody.

        Raises: Cancelled; SolverFailed when HiGHS returns no point at all.
        """
        self._highs.run()
        self._control.check("cutting")
        solution = self._highs.getSolution()
        shares = np.asarray(solution.col_value, np.float64)
        duals = np.asarray(solution.row_dual, np.float64)
        if len(shares) != self._highs.getNumCol() or len(duals) != self._highs.getNumRow():
            raise SolverFailed("HiGHS returned no point")
        return shares, np.maximum(np.nan_to_num(duals), 0.0)


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
