"""The truncation program as one would write it on a blackboard: the last route, and the oracle of the tests."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from privacy.errors import SolverFailed
from privacy.truncation.program import PreparedProgram
from privacy.truncation.solver import Point


@dataclass(frozen=True)
class ReferenceSolver:
    """cvxpy with Clarabel, an interior-point method that shares no code with HiGHS.

    Attributes:
      iteration_limit: deterministic bound on the work.
      time_limit_s: emergency brake.
    """

    iteration_limit: int = 200
    time_limit_s: float = 300.0

    def solve(self, program: PreparedProgram) -> Point:
        """See LinearProgramSolver.

        Raises: SolverFailed when Clarabel gives up without a point.
        """
        import cvxpy  # a second of import that only this route pays

        weights, caps = program.scaled()
        incidence = csr_array(
            (np.ones(len(program.incidence.units)), (program.incidence.units, program.incidence.rows)),
            shape=(len(caps), len(weights)),
        )
        x = cvxpy.Variable(len(weights), nonneg=True)
        contribution = incidence @ x <= caps
        problem = cvxpy.Problem(cvxpy.Maximize(cvxpy.sum(x)), [contribution, x <= weights])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # "solution may be inaccurate": the certificate decides
                problem.solve(
                    solver=cvxpy.CLARABEL, max_iter=self.iteration_limit, time_limit=self.time_limit_s, max_threads=1
                )
        except cvxpy.SolverError:
            raise SolverFailed("Clarabel failed") from None
        if x.value is None or contribution.dual_value is None:
            raise SolverFailed("Clarabel returned no point")
        return np.asarray(x.value, np.float64), np.asarray(contribution.dual_value, np.float64)
