"""Which solver is tried first, and what happens when it does not prove enough."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from privacy.errors import SolverFailed
from privacy.truncation.control import QUIET, Control, SolverName
from privacy.truncation.flow.exact_flow import exact_flow
from privacy.truncation.programs.certificate import Certificate, certify
from privacy.truncation.programs.components import pairs_and_rest
from privacy.truncation.programs.first_order_solver import FirstOrderSolver
from privacy.truncation.programs.highs_solver import HighsSolver
from privacy.truncation.programs.presolve import presolve
from privacy.truncation.programs.program import PreparedProgram
from privacy.truncation.programs.reference_solver import ReferenceSolver
from privacy.truncation.programs.solver import LinearProgramSolver

REFERENCE_ENTRIES = 2_000
"""Owners in all tuples of a component up to which the reference is asked: it cannot be interrupted, so it has to be
over within a second. The size is private, so a larger program is no error: the certified solvers take it."""

_SIMPLEX_ENTRIES = 20_000
"""Owners in all tuples up to which the simplex method is about as fast as any other; its bounds are equal."""

_INTERIOR_ENTRIES = 3_000_000
"""Up to here an interior point is worth a try when the first-order method crawls; and it can be interrupted."""

_FIRST_ORDER_ITERATIONS = 20_000

_BYTES_PER_ENTRY, _BYTES_PER_TUPLE = 80, 160
"""The most that presolve, the first-order method or the certificate hold at once, copies included."""


def routes(program: PreparedProgram, solver: SolverName = "certified") -> Sequence[LinearProgramSolver]:
    """Solvers in the order in which they are tried; depends on the size of the program and a public choice only.

    The last one goes on until the gap is proved: the first-order method converges on every program, linearly, in
    memory that is known beforehand, and a program is never too large for it. Everything before it is there
    because it is faster where it works.
    """
    entries = len(program.incidence.units)
    if solver == "reference" and entries <= REFERENCE_ENTRIES:
        return ReferenceSolver(), *routes(program)
    last = FirstOrderSolver()
    if entries <= _SIMPLEX_ENTRIES:
        return HighsSolver("simplex"), HighsSolver("ipm"), last
    if entries <= _INTERIOR_ENTRIES:
        return FirstOrderSolver(_FIRST_ORDER_ITERATIONS), HighsSolver("ipm", 200), last
    return (last,)


def load_solver(solver: SolverName) -> None:
    """Import what the solver needs, a second for the reference, at a time that depends on nothing private."""
    if solver == "reference":
        importlib.import_module("cvxpy")


def certified_optimum(
    program: PreparedProgram,
    slack: int,
    solvers: Sequence[LinearProgramSolver] | None = None,
    control: Control = QUIET,
    solver: SolverName = "certified",
) -> Certificate:
    """Presolve, solve, and prove both bounds to be at most `slack` units apart.

    Args:
      program: before presolve; may be empty.
      slack: the public gap in units; 0 asks for an exact value, which exists when the presolve leaves no
        component with three owners in a tuple.
      solvers: tried in turn; `routes` of what is left unless given. Bounds of several points combine.
      control: stops the solve, hears of its stages, bounds its memory. It never changes the answer.
      solver: which `routes` asks first. It changes the answer within the gap, and no proof: the same certificate.
    Returns: equal bounds when presolve and flow finished the program.
    Raises: Cancelled, TooLarge; SolverFailed when an exact value was asked for and a component has three owners
      in a tuple, or when all the given solvers ended without a proof. The gap that was reached stays private.
    """
    if not len(program.weights):
        return Certificate(0, 0, 0)
    control.reserve(memory_estimate(program))
    presolved = presolve(program, control)
    if presolved.core is None:
        return Certificate(presolved.settled, presolved.settled, 0)
    if solvers is not None:
        return _proved(presolved.core, slack, solvers, control).plus(presolved.settled)
    pairs, rest = pairs_and_rest(presolved.core)
    proof = Certificate(presolved.settled, presolved.settled, 0)
    if pairs is not None:
        proof = proof.beside(exact_flow(pairs, control))
    if rest is not None:
        if slack == 0:
            raise SolverFailed("no exact method for three owners")
        proof = proof.beside(_proved(rest, slack, routes(rest, solver), control))
    return proof


def memory_estimate(program: PreparedProgram) -> int:
    """Bytes that a solve of this program may take on top of the program; interior points of small cores aside."""
    return _BYTES_PER_ENTRY * len(program.incidence.units) + _BYTES_PER_TUPLE * len(program.weights)


def _proved(
    program: PreparedProgram, slack: int, solvers: Sequence[LinearProgramSolver], control: Control
) -> Certificate:
    """Certify the points of one solver after the other until the best bounds are close enough."""
    best: Certificate | None = None
    for solver in solvers:
        try:
            for x, y in solver.points(program, control):
                found = certify(program, x, y)
                best = found if best is None else best.joined(found)
                if best.within(slack):
                    return best
        except SolverFailed:
            continue
    raise SolverFailed("no route certified the gap")
