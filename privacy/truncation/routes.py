"""Which solver is tried first, and what happens when it does not prove enough."""

from __future__ import annotations

from collections.abc import Sequence

from privacy.errors import SolverFailed
from privacy.truncation.certificate import Certificate, certify
from privacy.truncation.highs_solver import HighsSolver
from privacy.truncation.presolve import presolve
from privacy.truncation.program import PreparedProgram
from privacy.truncation.reference_solver import ReferenceSolver
from privacy.truncation.solver import LinearProgramSolver

_SMALL = 4_000
"""Owners up to which the simplex method is the faster one."""

_FIRST_ORDER_ITERATIONS = 400
"""Thresholds that cut nearly everybody converge in 100 to 300 iterations; others are not worth more."""


def routes(program: PreparedProgram) -> Sequence[LinearProgramSolver]:
    """Solvers in the order in which they are tried; depends on the program only.

    Simplex is the fastest on small programs. On large ones a first-order method needs a second where the
    threshold is low, interior point a few wherever it is; Clarabel shares no code with either.
    """
    simplex, interior, reference = HighsSolver("simplex"), HighsSolver("ipm"), ReferenceSolver()
    if len(program.incidence.units) <= _SMALL:
        return simplex, interior, reference
    return HighsSolver("pdlp", iteration_limit=_FIRST_ORDER_ITERATIONS), interior, reference, simplex


def certified_optimum(
    program: PreparedProgram, slack: int, solvers: Sequence[LinearProgramSolver] | None = None
) -> Certificate:
    """Presolve, solve, and prove both bounds to be at most `slack` units apart.

    Args:
      program: before presolve; may be empty.
      slack: the public gap in units, >= 0.
      solvers: tried in turn; `routes` of the presolved core unless given. Bounds of several routes combine.
    Returns: equal bounds when the presolve finished the program.
    Raises: SolverFailed when no route proves it. The gap that was reached stays private.
    """
    if not len(program.weights):
        return Certificate(0, 0, 0)
    presolved = presolve(program)
    if presolved.core is None:
        return Certificate(presolved.settled, presolved.settled, 0)
    best: Certificate | None = None
    for solver in routes(presolved.core) if solvers is None else solvers:
        try:
            x, y = solver.solve(presolved.core)
        except SolverFailed:
            continue
        found = certify(presolved.core, x, y)
        best = found if best is None else best.joined(found)
        if best.within(slack):
            return best.plus(presolved.settled)
    raise SolverFailed("no route certified the gap")
