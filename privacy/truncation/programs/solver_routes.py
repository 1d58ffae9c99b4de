"""The order in which solvers are tried, until one proves enough."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence

from privacy.errors import SolverFailed
from privacy.join_tuples import Private
from privacy.truncation.programs.certificate import Certificate, certify
from privacy.truncation.programs.coordinate_solver import CoordinateSolver
from privacy.truncation.programs.exact_flow import exact_flow
from privacy.truncation.programs.first_order_solver import FirstOrderSolver
from privacy.truncation.programs.large_core import LargeCore
from privacy.truncation.programs.library_solvers import HighsSolver, ReferenceSolver
from privacy.truncation.programs.presolve import pairs_and_rest, presolve
from privacy.truncation.programs.program import LinearProgramSolver, PreparedProgram
from privacy.truncation.solver_name import SolverName

REFERENCE_ENTRIES = 2_000
"""The most owners in all tuples of a component for which the reference is asked, so that it takes a second at most.
The size is private, so a larger program is no error: the certified solvers take it."""

_SIMPLEX_ENTRIES = 2_000
"""The most owners in all tuples for which simplex takes some milliseconds; its bounds are equal."""

_SMALL_ENTRIES = 20_000
"""Up to here simplex may be tried if sweeps prove nothing: ten seconds, if many units have few tuples each."""

_INTERIOR_ENTRIES = 3_000_000
"""Up to here an interior point is worth a try if the first-order method is slow."""

_SWEEPS = 512
"""Most programs need 20 to 200 sweeps. The rest have few tuples for each unit and small thresholds, and take the
first-order method thousands of passes."""

_FIRST_ORDER_ITERATIONS = 20_000


def routes(program: PreparedProgram, solver: SolverName = "certified") -> Sequence[LinearProgramSolver]:
    """Solvers in the order in which they are tried; the size of the program and a public choice decide.

    The last one goes on until the gap is proved. The first-order method converges linearly on every program, in a
    known amount of memory. The others are faster where they work; the coordinate method by far, if each unit has many
    tuples.
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
    """Import what the solver needs (a second for the reference), at a time that depends on nothing private."""
    if solver == "reference":
        importlib.import_module("cvxpy")


def certified_optimum(
    program: PreparedProgram | LargeCore,
    slack: int,
    solvers: Sequence[LinearProgramSolver] | None = None,
    solver: SolverName = "certified",
) -> Certificate:
    """Presolve, solve, and prove both bounds to be at most `slack` units apart.

    Args:
      program: before presolve; may be empty. A large core has its own solvers.
      slack: the public gap in units; 0 asks for an exact value, which exists if the presolve leaves no component with
        three owners in a tuple.
      solvers: tried in turn; by default `routes` of what is left. Bounds of several points combine.
      solver: which `routes` asks first. It may change the value within the gap; the certificate is the same.
    Returns: equal bounds if presolve and flow finished the program.
    Raises: SolverFailed if an exact value was asked for and a component has three owners in a tuple, or if all given
      solvers ended without a proof. The reached gap stays private.
    """
    return _Run(program, solvers, solver).within(slack)


class CertifiedOptimum(Private):
    """`certified_optimum` that goes on where it stopped if it is asked about the same program again.

    A rough value is nearly always enough for a choice. If it is not, the same points come in the same order as they
    would have at once. So the value does not depend on earlier questions.
    Memory: of the latest program, until another one is asked about.
    """

    def __init__(self, solver: SolverName = "certified") -> None:
        self._solver = solver
        self._latest: tuple[PreparedProgram | LargeCore, _Run] | None = None

    def __call__(self, program: PreparedProgram | LargeCore, slack: int) -> Certificate:
        """See certified_optimum."""
        latest, self._latest = self._latest, None
        if latest is None or latest[0] is not program:
            latest = program, _Run(program, None, self._solver)
        proof = latest[1].within(slack)
        self._latest = latest
        return proof


class _Run:
    """One program, presolved once unless it is large: the exact part, and the proofs of points for the rest."""

    def __init__(
        self,
        program: PreparedProgram | LargeCore,
        solvers: Sequence[LinearProgramSolver] | None,
        solver: SolverName,
    ) -> None:
        self._exact = Certificate(0, 0, 0)
        self._best: Certificate | None = None
        self._bounds: Iterator[Certificate] | None = None
        self._any_slack = solvers is not None
        if not len(program.weights):
            return
        if isinstance(program, LargeCore):
            self._bounds = program.certificates()
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
        """The best bounds at the first point where they are so close."""
        if self._bounds is None:
            return self._exact
        if slack == 0 and not self._any_slack:
            raise SolverFailed("no exact method exists for tuples with three owners")
        if self._best is None or not self._best.within(slack):
            self._best = next((best for best in self._bounds if best.within(slack)), None)
        if self._best is None:
            raise SolverFailed("no solver reached a certified gap")
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
