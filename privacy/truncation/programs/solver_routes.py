"""Which solver is tried first, and what happens when it does not prove enough."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence

from privacy.errors import SolverFailed
from privacy.join_tuples import Private
from privacy.truncation.programs.certificate import Certificate, certify
from privacy.truncation.programs.coordinate_solver import CoordinateSolver
from privacy.truncation.programs.exact_flow import exact_flow
from privacy.truncation.programs.first_order_solver import FirstOrderSolver
from privacy.truncation.programs.library_solvers import HighsSolver, ReferenceSolver
from privacy.truncation.programs.presolve import pairs_and_rest, presolve
from privacy.truncation.programs.program import LinearProgramSolver, PreparedProgram
from privacy.truncation.solver_name import SolverName

REFERENCE_ENTRIES = 2_000
"""Owners in all tuples of a component up to which the reference is asked: it has to be
over within a second. The size is private, so a larger program is no error: the certified solvers take it."""

_SIMPLEX_ENTRIES = 2_000
"""Owners in all tuples up to which the simplex method takes some milliseconds; its bounds are equal."""

_SMALL_ENTRIES = 20_000
"""Up to here it may be tried where sweeps prove nothing: ten seconds, where many units have few tuples each."""

_INTERIOR_ENTRIES = 3_000_000
"""Up to here an interior point is worth a try when the first-order method crawls."""

_SWEEPS = 512
"""Most programs need 20 to 200. Those that 512 do not settle, of few tuples for each unit and small thresholds, the
first-order method takes thousands of passes for."""

_FIRST_ORDER_ITERATIONS = 20_000


def routes(program: PreparedProgram, solver: SolverName = "certified") -> Sequence[LinearProgramSolver]:
    """Solvers in the order in which they are tried; depends on the size of the program and a public choice only.

    The last one goes on until the gap is proved: the first-order method converges on every program, linearly, in
    memory that is known beforehand, and a program is never too large for it. Everything before it is there
    because it is faster where it works; the coordinate method by far, if each unit has many tuples.
    """
    entries = len(program.incidence.units)
    if solver == "reference" and entries <= REFERENCE_ENTRIES:
        return ReferenceSolver(), *routes(program)
    last = FirstOrderSolver()
    if entries <= _SIMPLEX_ENTRIES:
        return HighsSolver("simplex"), HighsSolver("ipm"), last
    first = CoordinateSolver(_SWEEPS)
    if entries <= _SMALL_ENTRIES:
        return first, HighsSolver("simplex"), HighsSolver("ipm"), last
    if entries <= _INTERIOR_ENTRIES:
        return first, FirstOrderSolver(_FIRST_ORDER_ITERATIONS), HighsSolver("ipm", 200), last
    return first, last


def load_solver(solver: SolverName) -> None:
    """Import what the solver needs, a second for the reference, at a time that depends on nothing private."""
    if solver == "reference":
        importlib.import_module("cvxpy")


def certified_optimum(
    program: PreparedProgram,
    slack: int,
    solvers: Sequence[LinearProgramSolver] | None = None,
    solver: SolverName = "certified",
) -> Certificate:
    """Presolve, solve, and prove both bounds to be at most `slack` units apart.

    Args:
      program: before presolve; may be empty.
      slack: the public gap in units; 0 asks for an exact value, which exists when the presolve leaves no
        component with three owners in a tuple.
      solvers: tried in turn; `routes` of what is left unless given. Bounds of several points combine.
      solver: which `routes` asks first. It changes the answer within the gap, and no proof: the same certificate.
    Returns: equal bounds when presolve and flow finished the program.
    Raises: SolverFailed when an exact value was asked for and a component has three owners
      in a tuple, or when all the given solvers ended without a proof. The gap that was reached stays private.
    """
    return _Run(program, solvers, solver).within(slack)


class CertifiedOptimum(Private):
    """`certified_optimum`, which goes on where it stopped when it is asked about the same program again.

    A choice wants to know a value roughly first, and nearly always that is enough. Where it is not, the same points
    come in the same order as they would have at once, so that the value does not depend on what was asked before.
    Memory: of the latest program, until another one is asked about.
    """

    def __init__(self, solver: SolverName = "certified") -> None:
        self._solver = solver
        self._latest: tuple[PreparedProgram, _Run] | None = None

    def __call__(self, program: PreparedProgram, slack: int) -> Certificate:
        """See certified_optimum."""
        latest, self._latest = self._latest, None
        if latest is None or latest[0] is not program:
            latest = program, _Run(program, None, self._solver)
        proof = latest[1].within(slack)
        self._latest = latest
        return proof


class _Run:
    """One program, presolved once: the exact part, and what the solvers' points for the rest prove, one by one."""

    def __init__(
        self,
        program: PreparedProgram,
        solvers: Sequence[LinearProgramSolver] | None,
        solver: SolverName,
    ) -> None:
        self._exact = Certificate(0, 0, 0)
        self._best: Certificate | None = None
        self._bounds: Iterator[Certificate] | None = None
        self._any_slack = solvers is not None
        if not len(program.weights):
            return
        presolved = presolve(program)
        self._exact = Certificate(presolved.settled, presolved.settled, 0)
        rest = presolved.core
        if rest is not None and solvers is None:
            pairs, rest = pairs_and_rest(rest)
            if pairs is not None:
                self._exact = self._exact.beside(exact_flow(pairs))
        if rest is not None:
            self._bounds = _bounds(rest, routes(rest, solver) if solvers is None else solvers)

    def within(self, slack: int) -> Certificate:
        """The bounds as soon as they are so close: those of the first point at which the best ones are."""
        if self._bounds is None:
            return self._exact
        if slack == 0 and not self._any_slack:
            raise SolverFailed("no exact method for three owners")
        if self._best is None or not self._best.within(slack):
            self._best = next((best for best in self._bounds if best.within(slack)), None)
        if self._best is None:
            raise SolverFailed("no route certified the gap")
        return self._exact.beside(self._best)


def _bounds(program: PreparedProgram, solvers: Sequence[LinearProgramSolver]) -> Iterator[Certificate]:
    """The best bounds of all points so far, of one solver after the other."""
    best: Certificate | None = None
    for solver in solvers:
        try:
            for x, y in solver.points(program):
                found = certify(program, x, y)
                best = found if best is None else best.joined(found)
                yield best
        except SolverFailed:
            continue
