"""Which solver is asked, how it is stopped, and that cvxpy finds the same."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest

from privacy import compare_solvers as compared_solvers
from privacy.compare_solvers import compare_removals, compare_solvers
from privacy.errors import SolverFailed
from privacy.join_tuples import JoinTuples, OwnerColumn
from privacy.thresholds import Thresholds
from privacy.truncation.encode import compact, encode
from privacy.truncation.programs import solver_routes
from privacy.truncation.programs.coordinate_solver import CoordinateSolver
from privacy.truncation.programs.first_order_solver import FirstOrderSolver
from privacy.truncation.programs.library_solvers import HighsSolver, ReferenceSolver
from privacy.truncation.programs.presolve import Presolved, presolve
from privacy.truncation.programs.program import Incidence, LinearProgramSolver, Point, PreparedProgram
from privacy.truncation.programs.solver_routes import REFERENCE_ENTRIES, CertifiedOptimum, certified_optimum, routes
from privacy.truncation.truncate import truncate
from privacy.units import ONE
from tests.support.seeds import examples
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

    def points(self, program: PreparedProgram) -> Iterator[Point]:
        self.calls.append(program)
        if self.x is None:
            raise SolverFailed("scripted")
        yield np.full(len(program.weights), self.x), np.full(len(program.caps), self.y)


def test_the_first_route_that_proves_enough_is_the_last_one_asked() -> None:
    failing, right, spare = Scripted(None), Scripted(0.5, 0.5), Scripted(0.5, 0.5)
    proof = certified_optimum(TRIANGLE, 10, [failing, right, spare])
    assert proof.floor() == 3 * ONE // 2
    assert (len(failing.calls), len(right.calls), len(spare.calls)) == (1, 1, 0)
    # a good primal and a good dual of different routes make one proof
    assert certified_optimum(TRIANGLE, 10, [Scripted(0.5, 9.0), Scripted(9.0, 0.5)]).within(10)
    # nothing proved is a failure that tells nothing
    with pytest.raises(SolverFailed, match=r"^no solver reached a certified gap$"):
        certified_optimum(TRIANGLE, ONE // 2, [Scripted(0.5, 9.0), Scripted(None)])


def test_the_presolve_leaves_nothing_to_the_solvers_where_it_can() -> None:
    path = program([(frozenset({0, 1}), ONE), (frozenset({1, 2}), ONE)], [ONE] * 3)
    proof = certified_optimum(path, 0, [])
    assert proof.floor() == proof.ceiling() == ONE
    # an empty program is worth nothing
    empty = PreparedProgram(
        np.empty(0, np.int64), Incidence(np.zeros(1, np.int64), np.empty(0, np.int64), 0), np.empty(0, np.int64)
    )
    assert certified_optimum(empty, 0).ceiling() == 0
    # the last route never gives up
    for size in (1, 10_000, 2_000_000):
        incidence = Incidence(np.arange(0, 3 * size + 1, 3), np.tile(np.arange(3), size), 3)
        big = PreparedProgram(np.ones(size, np.int64), incidence, np.ones(3, np.int64))
        assert routes(big)[-1] == FirstOrderSolver(None)


def test_every_solver_but_the_last_may_fail_and_pairs_are_exact() -> None:
    scripted: list[LinearProgramSolver] = [Scripted(None), Scripted(0.0), FirstOrderSolver()]
    for solvers in (None, scripted):
        proof = certified_optimum(HYPERTREE, ONE // 1000, solvers)
        assert proof.within(ONE // 1000)
        assert proof.floor() <= 17 * ONE / 6 <= proof.ceiling()
    assert certified_optimum(TRIANGLE, 0).floor() == certified_optimum(TRIANGLE, 0).ceiling() == 3 * ONE // 2
    # an exact value of three owners is refused rather than awaited
    with pytest.raises(SolverFailed, match=r"^no exact method exists for tuples with three owners$"):
        certified_optimum(HYPERTREE, 0)


def _large(seed: int = 3) -> PreparedProgram:
    """Too large for simplex alone: triples of people of whom some are in far more than others."""
    random = np.random.default_rng(seed)
    who = np.sort((80 * random.random((6_000, 3)) ** 2).astype(np.int64), axis=1)
    who = np.unique(who[(who[:, 0] < who[:, 1]) & (who[:, 1] < who[:, 2])], axis=0)
    indptr = np.arange(0, who.size + 1, 3)
    return PreparedProgram(np.full(len(who), ONE), Incidence(indptr, who.ravel(), 80), np.full(80, 60 * ONE))


def test_a_rough_value_before_it_changes_no_value() -> None:
    large, slack = _large(), 60 * ONE // 100_000
    at_once = certified_optimum(large, slack)
    for first_slacks in ([60 * ONE], [600 * ONE, 6 * ONE], [60 * ONE, 60 * ONE]):
        going_on = CertifiedOptimum()
        rough = [going_on(large, first) for first in first_slacks]
        assert all(proof.within(first) for proof, first in zip(rough, first_slacks, strict=True))
        after = going_on(large, slack)
        assert (after.value, after.upper, after.bits) == (at_once.value, at_once.upper, at_once.bits), first_slacks
        another = going_on(_large(4), slack).value
        assert another == certified_optimum(_large(4), slack).value, first_slacks


def test_a_value_that_was_rough_goes_on_where_it_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    presolved: list[PreparedProgram] = []

    def counted(program: PreparedProgram) -> Presolved:
        presolved.append(program)
        return presolve(program)

    monkeypatch.setattr(solver_routes, "presolve", counted)
    going_on, large = CertifiedOptimum(), _large()
    going_on(large, 60 * ONE)
    going_on(large, 60 * ONE // 100_000)
    assert presolved == [large]


def test_sweeps_come_first_where_simplex_could_take_long() -> None:
    assert isinstance(routes(_large())[0], CoordinateSolver)
    assert isinstance(routes(_large())[-1], FirstOrderSolver)
    assert isinstance(routes(HYPERTREE)[0], HighsSolver)


GAP = 0.01
THRESHOLDS = Thresholds(-2, 4)


def hyperedges(m: int, people: int, owners: int = 3, groups: int = 2) -> JoinTuples:
    """Tuples of several people each, drawn once and for all."""
    draw = np.random.default_rng(7)
    keys = np.array([draw.choice(people, owners, replace=False) for _ in range(m)]).T
    columns = tuple(OwnerColumn("person", one, np.zeros(m, bool)) for one in keys)
    weights = draw.integers(1, ONE, (1, m), endpoint=True)
    return JoinTuples(columns, draw.integers(0, groups, m), groups, weights)


def triples(m: int, people: int) -> PreparedProgram:
    draw = np.random.default_rng(3)
    units = np.array([np.sort(draw.choice(people, 3, replace=False)) for _ in range(m)], np.int64).ravel()
    incidence = Incidence(np.arange(0, 3 * m + 1, 3, dtype=np.int64), units, people)
    return PreparedProgram(np.full(m, ONE, np.int64), incidence, np.full(people, 2 * ONE, np.int64))


def test_both_solvers_agree_at_every_threshold() -> None:
    for owners in [1, 2, 3]:
        gap = 0.0 if owners < 3 else GAP
        found = list(compare_solvers(encode(hyperedges(60, 25, owners)), 0, THRESHOLDS, gap))
        assert [one.tau for one in found] == THRESHOLDS.units.astype(float).__truediv__(ONE).tolist(), owners
        assert all(one.agrees and one.reference is not None for one in found), owners
        assert all(one.difference <= one.allowed + 1e-5 * max(1.0, one.certified) for one in found), owners
        assert found[0].certified < found[-1].certified, owners


def test_both_solvers_remove_as_many_people_at_every_length() -> None:
    found = list(compare_removals(compact(hyperedges(40, 15)), THRESHOLDS))
    assert all(one.agrees for one in found)
    assert sum(one.reference is not None for one in found) >= len(found) - 1
    assert found[0].certified > found[-1].certified


def test_a_value_that_is_off_by_more_than_the_gap_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = ReferenceSolver.points

    def larger(self: ReferenceSolver, program: PreparedProgram) -> Iterator[Point]:
        for x, y in honest(self, program):
            yield 1.1 * x, y

    monkeypatch.setattr(ReferenceSolver, "points", larger)
    found = list(compare_solvers(encode(hyperedges(60, 25)), 0, THRESHOLDS, GAP))
    assert not all(one.agrees for one in found)


def test_what_is_too_large_for_cvxpy_is_left_to_the_certified_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compared_solvers, "COMPARED_ENTRIES", 10)
    found = list(compare_solvers(encode(hyperedges(60, 25)), 0, THRESHOLDS, GAP))
    assert all(one.reference is None and one.agrees for one in found)


def test_the_reference_is_asked_first_up_to_a_size_and_never_refuses_data() -> None:
    small, large = (triples(REFERENCE_ENTRIES // 3, 300), triples(REFERENCE_ENTRIES // 3 + 1, 300))
    assert isinstance(routes(small, "reference")[0], ReferenceSolver)
    assert list(routes(small, "reference")[1:]) == list(routes(small))
    assert list(routes(large, "reference")) == list(routes(large, "certified"))
    assert certified_optimum(large, ONE // 50, solver="reference").within(ONE // 50)


def test_a_released_value_is_certified_whoever_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its place in [fbar - gap tau, fbar] is what the sensitivity rests on; cvxpy's floats are never believed."""

    def nonsense(self: ReferenceSolver, program: PreparedProgram) -> Iterator[Point]:
        yield np.full(len(program.weights), 1e9), np.full(len(program.caps), np.nan)

    for seed in range(examples(1, 4)):
        tuples = encode(hyperedges(80 + seed, 30))
        certified = truncate(tuples, 0, THRESHOLDS, GAP)
        cells = [*itertools.product(range(2), enumerate(THRESHOLDS.units.tolist()))]
        values = {(group, index): certified.solve(group, index) for group, (index, _) in cells}
        for points in (ReferenceSolver.points, nonsense):
            monkeypatch.setattr(ReferenceSolver, "points", points)
            other = truncate(tuples, 0, THRESHOLDS, GAP, solver="reference")
            for group, (index, tau) in cells:
                assert abs(values[group, index] - other.solve(group, index)) <= GAP * tau, (seed, points)
        monkeypatch.undo()


def test_a_solver_that_gives_up_leaves_the_program_to_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(self: ReferenceSolver, program: PreparedProgram) -> Iterator[Point]:
        raise SolverFailed("Clarabel failed")

    monkeypatch.setattr(ReferenceSolver, "points", failing)
    assert certified_optimum(triples(200, 60), ONE // 50, solver="reference").within(ONE // 50)


@pytest.mark.slow
@pytest.mark.timed
def test_the_largest_program_of_the_reference_is_soon_over() -> None:
    """It cannot be interrupted; a cancelled question ends within a second on a quiet machine."""
    largest = triples(REFERENCE_ENTRIES // 3, 200)
    solver_routes.load_solver("reference")
    next(ReferenceSolver().points(triples(20, 20)))
    started = time.process_time()
    next(ReferenceSolver().points(largest))
    assert time.process_time() - started < 5
