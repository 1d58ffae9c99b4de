from dataclasses import dataclass, field

import numpy as np
import pytest

from privacy.errors import SolverFailed
from privacy.truncation.highs_solver import HighsSolver
from privacy.truncation.incidence import Incidence
from privacy.truncation.program import PreparedProgram
from privacy.truncation.routes import certified_optimum, routes
from privacy.truncation.solver import Point
from privacy.units import ONE
from tests.unit.privacy.truncation.instances import program

TRIANGLE = program([(frozenset({0, 1}), ONE), (frozenset({1, 2}), ONE), (frozenset({0, 2}), ONE)], [ONE] * 3)


@dataclass
class Scripted:
    """A solver that says what it is told to; None fails."""

    x: float | None
    y: float = 0.0
    calls: list[PreparedProgram] = field(default_factory=list)

    def solve(self, program: PreparedProgram) -> Point:
        self.calls.append(program)
        if self.x is None:
            raise SolverFailed("scripted")
        return np.full(len(program.weights), self.x), np.full(len(program.caps), self.y)


def test_the_first_route_that_proves_enough_is_the_last_one_asked() -> None:
    failing, right, spare = Scripted(None), Scripted(0.5, 0.5), Scripted(0.5, 0.5)
    proof = certified_optimum(TRIANGLE, 10, [failing, right, spare])
    assert proof.floor() == 3 * ONE // 2
    assert (len(failing.calls), len(right.calls), len(spare.calls)) == (1, 1, 0)


def test_a_good_primal_and_a_good_dual_of_different_routes_make_one_proof() -> None:
    assert certified_optimum(TRIANGLE, 10, [Scripted(0.5, 9.0), Scripted(9.0, 0.5)]).within(10)


def test_nothing_proved_is_a_failure_that_tells_nothing() -> None:
    with pytest.raises(SolverFailed, match=r"^no route certified the gap$"):
        certified_optimum(TRIANGLE, ONE // 2, [Scripted(0.5, 9.0), Scripted(None)])


def test_the_presolve_leaves_nothing_to_the_solvers_where_it_can() -> None:
    path = program([(frozenset({0, 1}), ONE), (frozenset({1, 2}), ONE)], [ONE] * 3)
    proof = certified_optimum(path, 0, [])
    assert proof.floor() == proof.ceiling() == ONE


def test_an_empty_program_is_worth_nothing() -> None:
    empty = PreparedProgram(
        np.empty(0, np.int64), Incidence(np.zeros(1, np.int64), np.empty(0, np.int64), 0), np.empty(0, np.int64)
    )
    assert certified_optimum(empty, 0).ceiling() == 0


def test_every_program_has_all_exact_routes_and_the_fast_one_is_first() -> None:
    big = program([(frozenset({0, 1}), 1)] * 5000, [1, 1])
    assert routes(TRIANGLE)[0] == HighsSolver("simplex")
    assert routes(big)[0] == HighsSolver("pdlp", iteration_limit=400)
    assert set(routes(TRIANGLE)) < set(routes(big))
    assert len(routes(TRIANGLE)) == 3
