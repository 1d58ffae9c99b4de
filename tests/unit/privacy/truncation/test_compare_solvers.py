"""cvxpy's solver on the product's way: what it may change, what it may not, and the comparison for custodians."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pytest

from privacy.errors import SolverFailed
from privacy.join_tuples import JoinTuples, OwnerColumn
from privacy.ladder import Ladder
from privacy.truncation import compare_solvers as compared_solvers
from privacy.truncation import solver_routes
from privacy.truncation.compact import compact
from privacy.truncation.compare_solvers import compare_removals, compare_solvers
from privacy.truncation.control import QUIET, Control
from privacy.truncation.encode import encode
from privacy.truncation.programs.incidence import Incidence
from privacy.truncation.programs.program import PreparedProgram
from privacy.truncation.programs.reference_solver import ReferenceSolver
from privacy.truncation.programs.solver import Point
from privacy.truncation.solver_routes import REFERENCE_ENTRIES, certified_optimum, routes
from privacy.truncation.truncate import truncate
from privacy.units import ONE

GAP = 0.01
LADDER = Ladder(-2, 4)


def hyperedges(m: int, people: int, owners: int = 3, groups: int = 2) -> JoinTuples:
    """Tuples of several people each, drawn once and for all."""
    draw = np.random.default_rng(7)
    keys = np.array([draw.choice(people, owners, replace=False) for _ in range(m)]).T
    columns = tuple(OwnerColumn("person", one, np.zeros(m, bool)) for one in keys)
    weights = draw.integers(1, ONE, (1, m), endpoint=True)
    return JoinTuples(columns, draw.integers(0, groups, m), groups, weights)


def program(m: int, people: int) -> PreparedProgram:
    draw = np.random.default_rng(3)
    units = np.array([np.sort(draw.choice(people, 3, replace=False)) for _ in range(m)], np.int64).ravel()
    incidence = Incidence(np.arange(0, 3 * m + 1, 3, dtype=np.int64), units, people)
    return PreparedProgram(np.full(m, ONE, np.int64), incidence, np.full(people, 2 * ONE, np.int64))


@pytest.mark.parametrize("owners", [1, 2, 3])
def test_both_solvers_agree_at_every_threshold(owners: int) -> None:
    gap = 0.0 if owners < 3 else GAP
    found = list(compare_solvers(encode(hyperedges(60, 25, owners)), 0, LADDER, gap))
    assert [one.tau for one in found] == LADDER.units.astype(float).__truediv__(ONE).tolist()
    assert all(one.agrees and one.reference is not None for one in found)
    assert all(one.difference <= one.allowed + 1e-5 * max(1.0, one.certified) for one in found)
    assert found[0].certified < found[-1].certified


def test_both_solvers_remove_as_many_people_at_every_length() -> None:
    found = list(compare_removals(compact(hyperedges(40, 15)), LADDER))
    assert all(one.agrees for one in found)
    assert sum(one.reference is not None for one in found) >= len(found) - 1
    assert found[0].certified > found[-1].certified


def test_a_value_that_is_off_by_more_than_the_gap_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = ReferenceSolver.points

    def larger(self: ReferenceSolver, program: PreparedProgram, control: Control = QUIET) -> Iterator[Point]:
        for x, y in honest(self, program, control):
            yield 1.1 * x, y

    monkeypatch.setattr(ReferenceSolver, "points", larger)
    found = list(compare_solvers(encode(hyperedges(60, 25)), 0, LADDER, GAP))
    assert not all(one.agrees for one in found)


def test_what_is_too_large_for_cvxpy_is_left_to_the_certified_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compared_solvers, "COMPARED_ENTRIES", 10)
    found = list(compare_solvers(encode(hyperedges(60, 25)), 0, LADDER, GAP))
    assert all(one.reference is None and one.agrees for one in found)


def test_the_reference_is_asked_first_up_to_a_size_and_never_refuses_data() -> None:
    small, large = program(REFERENCE_ENTRIES // 3, 300), program(REFERENCE_ENTRIES // 3 + 1, 300)
    assert isinstance(routes(small, "reference")[0], ReferenceSolver)
    assert list(routes(small, "reference")[1:]) == list(routes(small))
    assert list(routes(large, "reference")) == list(routes(large, "certified"))
    assert certified_optimum(large, ONE // 50, solver="reference").within(ONE // 50)


@pytest.mark.parametrize("seed", range(4))
def test_a_released_value_is_certified_whoever_solved(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its place in [fbar - gap tau, fbar] is what the sensitivity rests on; cvxpy's floats are never believed."""
    tuples = encode(hyperedges(80 + seed, 30))
    certified, reference = (truncate(tuples, 0, LADDER, GAP, solver=name) for name in ("certified", "reference"))
    for group in range(2):
        for index, tau in enumerate(LADDER.units.tolist()):
            assert abs(certified.solve(group, index) - reference.solve(group, index)) <= GAP * tau

    def nonsense(self: ReferenceSolver, program: PreparedProgram, control: Control = QUIET) -> Iterator[Point]:
        yield np.full(len(program.weights), 1e9), np.full(len(program.caps), np.nan)

    monkeypatch.setattr(ReferenceSolver, "points", nonsense)
    fooled = truncate(tuples, 0, LADDER, GAP, solver="reference")
    for group in range(2):
        for index, tau in enumerate(LADDER.units.tolist()):
            assert abs(certified.solve(group, index) - fooled.solve(group, index)) <= GAP * tau


def test_a_solver_that_gives_up_leaves_the_program_to_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(self: ReferenceSolver, program: PreparedProgram, control: Control = QUIET) -> Iterator[Point]:
        raise SolverFailed("Clarabel failed")

    monkeypatch.setattr(ReferenceSolver, "points", failing)
    assert certified_optimum(program(200, 60), ONE // 50, solver="reference").within(ONE // 50)


@pytest.mark.timed
def test_the_largest_program_of_the_reference_is_soon_over() -> None:
    """It cannot be interrupted; a cancelled question ends within a second on a quiet machine."""
    largest = program(REFERENCE_ENTRIES // 3, 200)
    solver_routes.load_solver("reference")
    next(ReferenceSolver().points(program(20, 20)))
    started = time.process_time()
    next(ReferenceSolver().points(largest))
    assert time.process_time() - started < 5
