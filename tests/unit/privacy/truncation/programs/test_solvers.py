"""One suite for every route: near-optimal points, deterministic, and nothing printed."""

from __future__ import annotations

import math

import cvxpy
import numpy as np
import pytest

from privacy.errors import SolverFailed
from privacy.truncation.programs.certificate import certify, whole_units
from privacy.truncation.programs.coordinate_solver import CoordinateSolver, gather, golden_step, spread
from privacy.truncation.programs.first_order_solver import FirstOrderSolver
from privacy.truncation.programs.library_solvers import HighsSolver, ReferenceSolver
from privacy.truncation.programs.program import Incidence, LinearProgramSolver, Point, PreparedProgram
from privacy.truncation.programs.solver_routes import certified_optimum
from privacy.units import MAX_UNITS, ONE
from tests.support.seeds import examples
from tests.unit.privacy.truncation.instances import optimum, program

ROUTES: dict[str, LinearProgramSolver] = {
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


def test_points_are_nearly_optimal_and_certified() -> None:
    for solver in ROUTES.values():
        for seed in range(examples(1, 3)):
            instance = _hypergraph(seed)
            proof = certify(instance, *_last(solver, instance))
            exact, room = optimum(instance), 1e-6 * instance.scale
            assert proof.within(ONE // 10_000), (solver, seed)
            assert proof.floor() <= exact + room and proof.ceiling() >= exact - room, (solver, seed)


def test_the_same_program_gives_the_same_point_and_no_output(capfd: pytest.CaptureFixture[str]) -> None:
    for name, solver in ROUTES.items():
        first, second = _last(solver, _hypergraph(7)), _last(solver, _hypergraph(7))
        assert np.array_equal(first[0], second[0]), name
        assert np.array_equal(first[1], second[1]), name
    assert capfd.readouterr() == ("", "")


def test_a_solver_cut_short_still_gives_valid_bounds() -> None:
    instance = _hypergraph(1)
    exact = optimum(instance)
    for solver in (
        HighsSolver("simplex", iteration_limit=3),
        HighsSolver("ipm", 1),
        FirstOrderSolver(2),
        CoordinateSolver(1),
        ReferenceSolver(iteration_limit=0),
        ReferenceSolver(iteration_limit=3),
    ):
        proof = certify(instance, *_last(solver, instance))
        assert proof.floor() <= exact <= proof.ceiling(), solver


def test_a_solver_that_fails_is_a_failed_route_without_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise cvxpy.SolverError("row 3 of customer 17")

    for solve, message in ((refuse, "Clarabel failed"), (lambda *_, **__: None, "Clarabel returned no point")):
        monkeypatch.setattr(cvxpy.Problem, "solve", solve)
        with pytest.raises(SolverFailed, match=rf"^{message}$"):
            _last(ReferenceSolver(), _hypergraph(1))


SIZES = [1, 2, 3, 4, 10, 89, 1000, 1024, 4181]


def test_the_step_has_no_divisor_in_common_with_the_number_of_tuples() -> None:
    for m in SIZES:
        assert math.gcd(golden_step(m), m) == 1
        assert len(set((np.arange(m) * golden_step(m)) % m)) == m


def test_what_is_spread_is_gathered_where_it_came_from() -> None:
    for m in SIZES:
        lengths = 1 + np.arange(m) % 3
        indptr = np.append(0, np.cumsum(lengths))
        units = np.arange(indptr[-1]) % 7
        table, worth = np.full((m, 3), 7, np.uint32), np.empty(m)
        spread(indptr, units, np.arange(m, dtype=float), pow(golden_step(m), -1, m), table, worth)
        back = np.empty(m)
        gather(worth, golden_step(m), back)
        assert np.array_equal(back, np.arange(m))
        for place, t in enumerate(worth.astype(int)):
            expected = [*units[indptr[t] : indptr[t + 1]].tolist(), *[7] * (3 - lengths[t])]
            assert table[place].tolist() == expected, m


@pytest.mark.parametrize("scale", [1.0, 3.0, 2.0**44, 2.0**61, 2.0**62])
def test_points_become_whole_units_as_arrays_would_make_them(scale: float) -> None:
    random = np.random.default_rng(0)
    edges = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, np.nextafter(1.0, 0.0), 5e-324]
    given = np.concatenate([random.normal(0.5, 1.0, 2_000), edges])
    weights = random.integers(0, int(scale) + 1, len(given))
    clipped = np.clip(np.nan_to_num(given, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0)
    expected = np.minimum(np.floor(clipped * scale).astype(np.int64), weights)
    assert np.array_equal(whole_units(given, scale, weights), expected)


def _dense(seed: int, m: int = 20_000, n: int = 60) -> PreparedProgram:
    """Triples of a few people, some of whom are in far more of them than others."""
    random = np.random.default_rng(seed)
    who = np.sort((n * random.random((m, 3)) ** 2).astype(np.int64), axis=1)
    who = np.unique(who[(who[:, 0] < who[:, 1]) & (who[:, 1] < who[:, 2])], axis=0)
    units, indptr = who.ravel(), np.arange(0, 3 * len(who) + 1, 3)
    return PreparedProgram(np.full(len(who), ONE), Incidence(indptr, units, n), np.full(n, 100 * ONE))


def _work(solver: LinearProgramSolver, dense: PreparedProgram, slack: int) -> int:
    """How many points it takes until one proves enough."""
    for count, (x, y) in enumerate(solver.points(dense), 1):
        if certify(dense, x, y).within(slack):
            return count
    raise AssertionError("no point proved enough")


def test_a_dense_program_is_proved_within_sixty_four_sweeps_and_sweeps_end_at_their_limit() -> None:
    for seed in range(examples(1, 5)):
        dense = _dense(seed)
        assert _work(CoordinateSolver(64), dense, 100 * ONE // 200) <= 12, seed
        with pytest.raises(AssertionError, match="no point"):
            _work(FirstOrderSolver(64), dense, 100 * ONE // 200)  # which needs more for the same
    looks = list(CoordinateSolver(1).points(_dense(0)))
    assert len(looks) == 1
    # points are numbers whatever the caps
    for caps in [[0, ONE, ONE], [1, 1, 1], [0, 0, 0], [ONE << 31, 1, ONE]]:
        odd = program([(frozenset({0, 1, 2}), ONE), (frozenset({1, 2}), 3), (frozenset({0}), 1)], caps)
        for x, y in CoordinateSolver(50).points(odd):
            assert np.all(np.isfinite(x)), caps
            assert np.all(np.isfinite(y)), caps
            assert np.all(x >= 0), caps
            assert certify(odd, x, y).value <= certify(odd, x, y).upper, caps


FANO = [{0, 1, 2}, {0, 3, 4}, {0, 5, 6}, {1, 3, 5}, {1, 4, 6}, {2, 3, 6}, {2, 4, 5}]
"""Seven lines of seven points, three points each: worth 7/3 caps."""


def _fano(weight: int, cap: int) -> PreparedProgram:
    return program([(frozenset(line), weight) for line in FANO], [cap] * 7)


def test_thresholds_from_the_smallest_to_the_largest() -> None:
    for cap in [1 << 10, ONE, 1 << 50, MAX_UNITS - 1]:
        proof = certified_optimum(_fano(cap, cap), max(1, cap // 200))
        assert proof.floor() <= 7 * cap // 3 <= proof.ceiling()
        assert proof.within(max(1, cap // 200))


def test_weights_from_a_billionth_to_one_share_a_unit() -> None:
    tuples = [(frozenset({0, 1 + i % 4, 5 + i % 3}), 1 + ONE // 10 ** (i % 10)) for i in range(60)]
    instance = program(tuples, [ONE] * 8)
    proof = certified_optimum(instance, ONE // 200)
    assert proof.floor() - 1e-6 * ONE <= optimum(instance) <= proof.ceiling() + 1e-6 * ONE


def test_one_unit_that_owns_everything_is_filled() -> None:
    tuples = [(frozenset({0, 1 + i, 2 + i}), ONE) for i in range(1000)]
    proof = certified_optimum(program(tuples, [7 * ONE] * 1002), 0)
    assert proof.floor() == proof.ceiling() == 7 * ONE
    # weightless tuples and capless units are worth nothing
    assert certified_optimum(_fano(0, ONE), 0).ceiling() == 0
    assert certified_optimum(_fano(ONE, 0), 0).ceiling() == 0


def test_ten_owners_in_a_tuple() -> None:
    random = np.random.default_rng(3)
    tuples = [(frozenset(random.choice(40, 10, replace=False).tolist()), ONE) for _ in range(200)]
    instance = program(tuples, [3 * ONE] * 40)
    proof = certified_optimum(instance, ONE // 100)
    assert proof.floor() - 1e-6 * ONE <= optimum(instance) <= proof.ceiling() + 1e-6 * ONE
    first_order = certified_optimum(instance, ONE // 100, [FirstOrderSolver()])
    assert first_order.within(ONE // 100)


@pytest.mark.slow
def test_ten_million_tuples_of_one_set_are_one_tuple() -> None:
    m = 10_000_000
    incidence = Incidence(np.arange(0, 3 * m + 1, 3), np.tile(np.arange(3), m), 3)
    instance = PreparedProgram(np.full(m, ONE, np.int64), incidence, np.full(3, 1 << 40))
    assert certified_optimum(instance, 0).floor() == 1 << 40
