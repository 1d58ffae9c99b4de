"""The vector program in cvxpy, as printed in the paper; only for comparison."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from privacy.errors import SolverFailed
from privacy.join_tuples import CompactJoinTuples
from privacy.units import Floats


def _shapes_only() -> np.errstate:
    """No warning of arithmetic: the library learns shapes by adding up uninitialised arrays."""
    return np.errstate(all="ignore")


@dataclass(frozen=True)
class ReferenceVectorSolver:
    """cvxpy with Clarabel: readable, and slow.

    Source: DP-S4S (SIGMOD 2026), program (2); docs/mathematics.md, section 11.1.

    Attributes:
      iteration_limit: deterministic bound on the work.
      time_limit_s: after it Clarabel counts as failed.
    """

    iteration_limit: int = 200
    time_limit_s: float = 300.0

    @_shapes_only()
    def published(self, tuples: CompactJoinTuples, release: int, tau: int) -> float:
        """E of program (2) of DP-S4S as printed: a kept share y_u per unit and z per tuple, in persons.

        Raises: SolverFailed unless Clarabel reports an optimum.
        """
        import cvxpy

        weights, owned, contributions = _matrices(tuples, release, tau)
        kept = cvxpy.Variable(tuples.n_units)
        left = cvxpy.Variable(len(weights))
        sizes = np.diff(tuples.indptr)
        constraints = [owned @ kept - sizes <= left - 1, kept >= 0, kept <= 1, left >= 0, left <= 1]
        constraints += [cvxpy.norm(_vectors(contribution, left), 2, axis=0) <= 1 for contribution in contributions]
        return tuples.n_units - self._solve(cvxpy.Maximize(cvxpy.sum(kept)), constraints)

    @_shapes_only()
    def in_shares(self, tuples: CompactJoinTuples, release: int, tau: int) -> float:
        """E in the shares s = 1 - y alone, z being as small as they allow.

        Raises: SolverFailed unless Clarabel reports an optimum.
        """
        import cvxpy

        _, owned, contributions = _matrices(tuples, release, tau)
        shares = cvxpy.Variable(tuples.n_units)
        left = cvxpy.pos(1 - owned @ shares)
        constraints = [
            shares >= 0,
            shares <= 1,
            *(cvxpy.norm(_vectors(contribution, left), 2, axis=0) <= 1 for contribution in contributions),
        ]
        return self._solve(cvxpy.Minimize(cvxpy.sum(shares)), constraints)

    def _solve(self, objective: object, constraints: list[object]) -> float:
        import cvxpy  # takes a second to import

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


def _vectors(contribution: tuple[int, csr_array], left: Any) -> Any:
    """The vectors of all units that reach k groups as columns, given what is left of every tuple."""
    import cvxpy

    k, matrix = contribution
    return cvxpy.reshape(matrix @ left, (k, matrix.shape[0] // k), order="F")


def _matrices(
    tuples: CompactJoinTuples, release: int, tau: int
) -> tuple[Floats, csr_array, list[tuple[int, csr_array]]]:
    """Weights in multiples of tau, (m, n) ownership, and per number of groups k the (k n_k, m) contributions."""
    m, weights = len(tuples.group), tuples.weights[release] / tau
    owned = csr_array((np.ones(len(tuples.units)), tuples.units, tuples.indptr), (m, tuples.n_units))
    rows = np.repeat(np.arange(m), np.diff(tuples.indptr))
    pairs, pair = np.unique(tuples.units * np.int64(tuples.n_groups) + tuples.group[rows], return_inverse=True)
    reach = np.bincount(pairs // tuples.n_groups, minlength=tuples.n_units)[pairs // tuples.n_groups]
    by_pair = csr_array((weights[rows], (pair, rows)), (len(pairs), m))
    return weights, owned, [(int(k), by_pair[np.flatnonzero(reach == k)]) for k in np.unique(reach)]
