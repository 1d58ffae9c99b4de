"""The truncation program as on a blackboard, in cvxpy: `solver = "reference"`, `noisegate verify`, tests."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from privacy.errors import SolverFailed
from privacy.truncation.control import QUIET, Control
from privacy.truncation.programs.program import PreparedProgram
from privacy.truncation.programs.solver import Point


@dataclass(frozen=True)
class ReferenceSolver:
    """cvxpy with Clarabel, an interior-point method that shares no code with the others. Not for large programs.

    Attributes:
      iteration_limit: deterministic bound on the work.
    """

    iteration_limit: int = 200

    def points(self, program: PreparedProgram, control: Control = QUIET) -> Iterator[Point]:
        """See LinearProgramSolver: one point. Clarabel cannot be interrupted.

        Raises: SolverFailed when Clarabel gives up without a point.
        """
        import cvxpy  # a second of import that only this route pays

        control.check("reference")
        weights, caps = program.scaled()
        incidence = csr_array(
            (np.ones(len(program.incidence.units)), (program.incidence.units, program.incidence.rows)),
            shape=(len(caps), len(weights)),
        )
        with np.errstate(all="ignore"):  # the library learns shapes by adding up arrays that nobody has filled
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
