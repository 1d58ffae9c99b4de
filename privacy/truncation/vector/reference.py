"""The vector program as one would write it on a blackboard, for Clarabel: the oracle of tests and benchmarks."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from privacy.errors import SolverFailed
from privacy.join_tuples import CompactJoinTuples


@dataclass(frozen=True)
class ReferenceVectorSolver:
    """cvxpy with Clarabel: readable, and slow.

    Attributes:
      iteration_limit: deterministic bound on the work.
      time_limit_s: after it Clarabel is said to have failed.
    """

    iteration_limit: int = 200
    time_limit_s: float = 300.0

    def published(self, tuples: CompactJoinTuples, release: int, tau: int) -> float:
        """E of program (2) of DP-S4S as printed: a kept share y_u per unit and z per tuple, in persons.

        Raises: SolverFailed when Clarabel does not say that it is optimal.
        """
        import cvxpy

        weights, owned, loads = _matrices(tuples, release, tau)
        kept = cvxpy.Variable(tuples.n_units)
        left = cvxpy.Variable(len(weights))
        sizes = np.diff(tuples.indptr)
        constraints = [owned @ kept - sizes <= left - 1, kept >= 0, kept <= 1, left >= 0, left <= 1]
        constraints += [cvxpy.norm(load @ left) <= 1 for load in loads]
        return tuples.n_units - self._solve(cvxpy.Maximize(cvxpy.sum(kept)), constraints)

    def in_shares(self, tuples: CompactJoinTuples, release: int, tau: int) -> float:
        """E in the shares s = 1 - y alone, z being as small as they allow.

        Raises: SolverFailed when Clarabel does not say that it is optimal.
        """
        import cvxpy

        _, owned, loads = _matrices(tuples, release, tau)
        shares = cvxpy.Variable(tuples.n_units)
        left = cvxpy.pos(1 - owned @ shares)
        constraints = [shares >= 0, shares <= 1, *(cvxpy.norm(load @ left) <= 1 for load in loads)]
        return self._solve(cvxpy.Minimize(cvxpy.sum(shares)), constraints)

    def _solve(self, objective: object, constraints: list[object]) -> float:
        import cvxpy  # a second of import that nobody else pays

        problem = cvxpy.Problem(objective, constraints)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                problem.solve(
                    solver=cvxpy.CLARABEL, max_iter=self.iteration_limit, time_limit=self.time_limit_s, max_threads=1
                )
        except cvxpy.SolverError:
            raise SolverFailed("Clarabel failed") from None
        if problem.status != cvxpy.OPTIMAL:
            raise SolverFailed("Clarabel did not finish")
        return float(problem.value)


def _matrices(
    tuples: CompactJoinTuples, release: int, tau: int
) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], csr_array, list[csr_array]]:
    """Weights in multiples of tau, (m, n) who owns what, and per unit the (d, m) matrix of its vector of loads."""
    m, weights = len(tuples.group), tuples.weights[release] / tau
    owned = csr_array((np.ones(len(tuples.units)), tuples.units, tuples.indptr), (m, tuples.n_units))
    by_unit = owned.T.tocsr()
    loads = []
    for u in range(tuples.n_units):
        mine = by_unit.indices[by_unit.indptr[u] : by_unit.indptr[u + 1]]
        groups, row = np.unique(tuples.group[mine], return_inverse=True)
        loads.append(csr_array((weights[mine], (row, mine)), (len(groups), m)))
    return weights, owned, loads
