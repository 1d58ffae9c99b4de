"""The truncation program through HiGHS: simplex, interior point without crossover, or a first-order method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import highspy
import numpy as np

from privacy.errors import SolverFailed
from privacy.truncation.program import PreparedProgram
from privacy.truncation.solver import Point


@dataclass(frozen=True)
class HighsSolver:
    """A silent, single-threaded, cold start: the same program gives the same point.

    Attributes:
      method: "simplex"; "ipm" without crossover (degenerate duals make the crossover the slow part); or
        "pdlp", first-order: a pass over the owners per iteration.
      iteration_limit: deterministic bound on the work; the point reached by then is returned.
      time_limit_s: emergency brake, far above what the iterations take, so that the point does not depend
        on how busy the machine is.
    """

    method: Literal["simplex", "ipm", "pdlp"]
    iteration_limit: int = 1_000_000
    time_limit_s: float = 60.0

    def solve(self, program: PreparedProgram) -> Point:
        """See LinearProgramSolver. The status of HiGHS is not looked at, only whether vectors exist.

        Raises: SolverFailed when HiGHS refuses the model or returns no point.
        """
        highs = highspy.Highs()
        for option, value in self._options().items():
            if highs.setOptionValue(option, value) != highspy.HighsStatus.kOk:
                raise SolverFailed(f"HiGHS does not know the option {option}")
        if highs.passModel(_model(program)) == highspy.HighsStatus.kError:
            raise SolverFailed("HiGHS refused the model")
        highs.run()
        solution = highs.getSolution()
        x = np.asarray(solution.col_value, np.float64)
        y = -np.asarray(solution.row_dual, np.float64)
        if len(x) != len(program.weights) or len(y) != len(program.caps):
            raise SolverFailed("HiGHS returned no point")
        return x, y

    def _options(self) -> dict[str, bool | int | float | str]:
        return {
            "output_flag": False,
            "threads": 1,
            "parallel": "off",
            "random_seed": 0,
            "time_limit": self.time_limit_s,
            "solver": self.method,
            "run_crossover": "off",
            f"{self.method}_iteration_limit": self.iteration_limit,
        }


def _model(program: PreparedProgram) -> highspy.HighsLp:
    """Minimise minus the total; the CSR of the tuples is the column-wise matrix as it stands."""
    weights, caps = program.scaled()
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = len(weights), len(caps)
    model.col_cost_ = np.full(len(weights), -1.0)
    model.col_lower_ = np.zeros(len(weights))
    model.col_upper_ = weights
    model.row_lower_ = np.full(len(caps), -highspy.kHighsInf)
    model.row_upper_ = caps
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.num_col_, model.a_matrix_.num_row_ = len(weights), len(caps)
    model.a_matrix_.start_ = program.incidence.indptr.astype(np.int32)
    model.a_matrix_.index_ = program.incidence.units.astype(np.int32)
    model.a_matrix_.value_ = np.ones(len(program.incidence.units))
    return model
