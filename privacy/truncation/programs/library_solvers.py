"""Solvers from libraries: HiGHS, and cvxpy with the program as the papers print it.

HiGHS uses simplex, or interior points without crossover. cvxpy is for `solver = "reference"`, `noisegate verify` and
tests.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import highspy
import numpy as np

from privacy.errors import SolverFailed
from privacy.truncation.programs.program import Point, PreparedProgram


@dataclass(frozen=True)
class HighsSolver:
    """A silent, single-threaded, cold start without presolve: the same program gives the same point.

    Attributes:
      method: "simplex"; or "ipm" without crossover, which degenerate duals make slow.
      iteration_limit: deterministic bound on the work; the point reached by then is returned.
    """

    method: Literal["simplex", "ipm"]
    iteration_limit: int = 2_000_000_000

    def points(self, program: PreparedProgram) -> Iterator[Point]:
        """See LinearProgramSolver: one point. Any returned vectors are used, whatever the status of HiGHS.

        Raises: SolverFailed if HiGHS refuses the model or returns no point.
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
        yield x, y

    def _options(self) -> dict[str, bool | int | float | str]:
        return {
            "output_flag": False,
            "threads": 1,
            "parallel": "off",
            "random_seed": 0,
            "presolve": "off",  # ours ran before
            "solver": self.method,
            "run_crossover": "off",
            "primal_feasibility_tolerance": 1e-9,
            "dual_feasibility_tolerance": 1e-9,
            f"{self.method}_iteration_limit": self.iteration_limit,
        }


def _model(program: PreparedProgram) -> highspy.HighsLp:
    """Minimise minus the total; the CSR of the tuples is the column-wise matrix."""
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


@dataclass(frozen=True)
class ReferenceSolver:
    """cvxpy with Clarabel, an interior-point method that shares no code with the others. Not for large programs.

    Attributes:
      iteration_limit: deterministic bound on the work.
    """

    iteration_limit: int = 200

    def points(self, program: PreparedProgram) -> Iterator[Point]:
        """See LinearProgramSolver: one point.

        Raises: SolverFailed if Clarabel gives up without a point.
        """
        import cvxpy  # a second of import that only this route pays
        from scipy.sparse import csr_array

        weights, caps = program.scaled()
        incidence = csr_array(
            (np.ones(len(program.incidence.units)), (program.incidence.units, program.incidence.rows)),
            shape=(len(caps), len(weights)),
        )
        with np.errstate(all="ignore"):  # the library learns shapes by adding up uninitialised arrays
            x = cvxpy.Variable(len(weights), nonneg=True)
            contribution = incidence @ x <= caps
            problem = cvxpy.Problem(cvxpy.Maximize(cvxpy.sum(x)), [contribution, x <= weights])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # "solution may be inaccurate": the certificate decides
                problem.solve(solver=cvxpy.CLARABEL, max_iter=self.iteration_limit, max_threads=1)
        except cvxpy.SolverError:
            raise SolverFailed("Clarabel failed") from None
        if x.value is None or contribution.dual_value is None:
            raise SolverFailed("Clarabel returned no point")
        yield np.asarray(x.value, np.float64), np.asarray(contribution.dual_value, np.float64)
