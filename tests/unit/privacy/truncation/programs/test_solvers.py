"""One suite for every route: near-optimal points, deterministic, and nothing printed."""

from typing import Any

import cvxpy
import numpy as np
import pytest

from privacy.errors import SolverFailed
from privacy.truncation.programs.certificate import certify
from privacy.truncation.programs.coordinate_solver import CoordinateSolver
from privacy.truncation.programs.first_order_solver import FirstOrderSolver
from privacy.truncation.programs.highs_solver import HighsSolver
from privacy.truncation.programs.program import PreparedProgram
from privacy.truncation.programs.reference_solver import ReferenceSolver
from privacy.truncation.programs.solver import LinearProgramSolver, Point
from privacy.units import ONE
from tests.unit.privacy.truncation.instances import optimum, program

ROUTES = {
    "simplex": HighsSolver("simplex"),
    "ipm": HighsSolver("ipm"),
    "first_order": FirstOrderSolver(2000),
    "coordinate": CoordinateSolver(2000),
    "clarabel": ReferenceSolver(),
}


def _hypergraph(seed: int, m: int = 60, n: int = 15) -> PreparedProgram:
    random = np.random.default_rng(seed)
    tuples = [(frozenset(random.integers(0, n, 3).tolist()), int(random.integers(1, ONE))) for _ in range(m)]
    return program(tuples, random.integers(ONE // 2, 4 * ONE, n).tolist())


def _last(solver: LinearProgramSolver, instance: PreparedProgram) -> Point:
    """The last point of a solver that ends by itself."""
    *_, point = solver.points(instance)
    return point


@pytest.mark.parametrize("solver", ROUTES.values(), ids=ROUTES)
@pytest.mark.parametrize("seed", range(3))
def test_points_are_nearly_optimal_and_certified(solver: LinearProgramSolver, seed: int) -> None:
    instance = _hypergraph(seed)
    proof = certify(instance, *_last(solver, instance))
    assert proof.within(ONE // 10_000)
    assert proof.floor() / instance.scale <= optimum(instance) / instance.scale + 1e-6
    assert proof.ceiling() / instance.scale >= optimum(instance) / instance.scale - 1e-6


@pytest.mark.parametrize("solver", ROUTES.values(), ids=ROUTES)
def test_the_same_program_gives_the_same_point_and_no_output(
    solver: LinearProgramSolver, capfd: pytest.CaptureFixture[str]
) -> None:
    first, second = _last(solver, _hypergraph(7)), _last(solver, _hypergraph(7))
    assert np.array_equal(first[0], second[0])
    assert np.array_equal(first[1], second[1])
    assert capfd.readouterr() == ("", "")


def test_a_solver_cut_short_still_gives_valid_bounds() -> None:
    instance = _hypergraph(1)
    for solver in (
        HighsSolver("simplex", iteration_limit=3),
        HighsSolver("ipm", 1),
        FirstOrderSolver(2),
        CoordinateSolver(1),
    ):
        proof = certify(instance, *_last(solver, instance))
        assert proof.floor() <= optimum(instance) <= proof.ceiling()


@pytest.mark.parametrize("limits", [{"iteration_limit": 0}, {"iteration_limit": 3}])
def test_clarabel_cut_short_still_gives_valid_bounds(limits: dict[str, Any]) -> None:
    instance = _hypergraph(1)
    proof = certify(instance, *_last(ReferenceSolver(**limits), instance))
    assert proof.floor() <= optimum(instance) <= proof.ceiling()


def test_a_solver_error_is_a_failed_route_without_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise cvxpy.SolverError("row 3 of customer 17")

    monkeypatch.setattr(cvxpy.Problem, "solve", refuse)
    with pytest.raises(SolverFailed, match=r"^Clarabel failed$"):
        _last(ReferenceSolver(), _hypergraph(1))


def test_a_problem_left_without_a_point_is_a_failed_route(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cvxpy.Problem, "solve", lambda *_, **__: None)
    with pytest.raises(SolverFailed, match=r"^Clarabel returned no point$"):
        _last(ReferenceSolver(), _hypergraph(1))
