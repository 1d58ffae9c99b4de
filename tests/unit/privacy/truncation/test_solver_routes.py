from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest

from privacy.errors import Cancelled, SolverFailed, TooLarge
from privacy.truncation.control import QUIET, Control
from privacy.truncation.programs.coordinate_solver import CoordinateSolver
from privacy.truncation.programs.first_order_solver import FirstOrderSolver
from privacy.truncation.programs.highs_solver import HighsSolver
from privacy.truncation.programs.incidence import Incidence
from privacy.truncation.programs.program import PreparedProgram
from privacy.truncation.programs.solver import Point
from privacy.truncation.solver_routes import CertifiedOptimum, certified_optimum, routes
from privacy.units import ONE
from tests.unit.privacy.truncation.instances import program

TRIANGLE = program([(frozenset({0, 1}), ONE), (frozenset({1, 2}), ONE), (frozenset({0, 2}), ONE)], [ONE] * 3)
HYPERTREE = program(
    [(frozenset(o), ONE) for o in ({0, 1, 2}, {0, 1, 3}, {0, 2, 3}, {1, 2, 3}, {4, 5}, {5, 6}, {4, 6})], [ONE] * 7
)
"""Two components: four triples of four units, worth 4/3, and a triangle of pairs, worth 3/2."""


@dataclass
class Scripted:
    """A solver that says what it is told to; None fails."""

    x: float | None
    y: float = 0.0
    calls: list[PreparedProgram] = field(default_factory=list)

    def points(self, program: PreparedProgram, control: Control = QUIET) -> Iterator[Point]:
        self.calls.append(program)
        if self.x is None:
            raise SolverFailed("scripted")
        yield np.full(len(program.weights), self.x), np.full(len(program.caps), self.y)


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


def test_the_last_route_never_gives_up() -> None:
    for size in (1, 10_000, 2_000_000):
        big = program([(frozenset({0, 1, 2}), 1)] * size, [1, 1, 1])
        assert routes(big)[-1] == FirstOrderSolver(None)


def test_every_solver_but_the_last_may_fail() -> None:
    proof = certified_optimum(HYPERTREE, ONE // 1000, [Scripted(None), Scripted(0.0), FirstOrderSolver()])
    assert proof.within(ONE // 1000)
    assert proof.floor() <= 17 * ONE / 6 <= proof.ceiling()


def test_pairs_are_exact_and_leave_the_gap_to_the_others() -> None:
    proof = certified_optimum(HYPERTREE, ONE // 1000)
    assert proof.floor() <= 17 * ONE / 6 <= proof.ceiling()
    assert certified_optimum(TRIANGLE, 0).floor() == certified_optimum(TRIANGLE, 0).ceiling() == 3 * ONE // 2


def test_an_exact_value_of_three_owners_is_refused_rather_than_awaited() -> None:
    with pytest.raises(SolverFailed, match=r"^no exact method for three owners$"):
        certified_optimum(HYPERTREE, 0)


def test_a_program_over_the_memory_limit_is_refused_before_any_work() -> None:
    stages: list[str] = []
    with pytest.raises(TooLarge):
        certified_optimum(
            HYPERTREE, 1, control=Control(memory_limit=100, progress=lambda stage, _: stages.append(stage))
        )
    assert stages == []
    assert certified_optimum(HYPERTREE, 1000, control=Control(memory_limit=1 << 20)).within(1000)


def _large(seed: int = 3) -> PreparedProgram:
    """Too large for simplex alone: triples of people of whom some are in far more than others."""
    random = np.random.default_rng(seed)
    who = np.sort((80 * random.random((6_000, 3)) ** 2).astype(np.int64), axis=1)
    who = np.unique(who[(who[:, 0] < who[:, 1]) & (who[:, 1] < who[:, 2])], axis=0)
    indptr = np.arange(0, who.size + 1, 3)
    return PreparedProgram(np.full(len(who), ONE), Incidence(indptr, who.ravel(), 80), np.full(80, 60 * ONE))


@pytest.mark.parametrize("first_slacks", [[60 * ONE], [600 * ONE, 6 * ONE], [60 * ONE, 60 * ONE]])
def test_a_rough_value_before_it_changes_no_value(first_slacks: list[int]) -> None:
    large, slack = _large(), 60 * ONE // 100_000
    at_once, going_on = certified_optimum(large, slack), CertifiedOptimum()
    rough = [going_on(large, first) for first in first_slacks]
    assert all(proof.within(first) for proof, first in zip(rough, first_slacks, strict=True))
    after = going_on(large, slack)
    assert (after.value, after.upper, after.bits) == (at_once.value, at_once.upper, at_once.bits)
    assert going_on(_large(4), slack).value == certified_optimum(_large(4), slack).value  # another program is another


def test_a_value_that_was_rough_goes_on_where_it_stopped() -> None:
    heard: list[str] = []
    going_on = CertifiedOptimum(Control(progress=lambda stage, step: heard.append(stage)))
    large = _large()
    going_on(large, 60 * ONE)
    presolves, sweeps = heard.count("presolve"), heard.count("coordinate sweeps")
    going_on(large, 60 * ONE // 100_000)
    assert heard.count("presolve") == presolves
    assert heard.count("coordinate sweeps") > sweeps > 0


def test_a_rough_value_that_was_cancelled_is_begun_again() -> None:
    control = Control(progress=lambda stage, step: control.cancel() if stage == "coordinate sweeps" else None)
    going_on, large = CertifiedOptimum(control), _large()
    for _ in range(2):
        with pytest.raises(Cancelled):
            going_on(large, ONE)


def test_sweeps_come_first_where_simplex_could_take_long() -> None:
    assert isinstance(routes(_large())[0], CoordinateSolver)
    assert isinstance(routes(_large())[-1], FirstOrderSolver)
    assert isinstance(routes(HYPERTREE)[0], HighsSolver)
