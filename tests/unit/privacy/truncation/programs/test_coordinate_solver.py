"""The sweeps: their order visits everybody once, few of them are enough, and no cap breaks them."""

import math

import numpy as np
import pytest

from privacy.truncation.programs.certificate import certify
from privacy.truncation.programs.coordinate_kernels import gather, spread
from privacy.truncation.programs.coordinate_solver import CoordinateSolver, golden_step
from privacy.truncation.programs.first_order_solver import FirstOrderSolver
from privacy.truncation.programs.incidence import Incidence
from privacy.truncation.programs.program import PreparedProgram
from privacy.truncation.programs.solver import LinearProgramSolver
from privacy.units import ONE
from tests.unit.privacy.truncation.instances import program

SIZES = [1, 2, 3, 4, 10, 89, 1000, 1024, 4181]


@pytest.mark.parametrize("m", SIZES)
def test_the_step_has_no_divisor_in_common_with_the_number_of_tuples(m: int) -> None:
    assert math.gcd(golden_step(m), m) == 1
    assert len(set((np.arange(m) * golden_step(m)) % m)) == m


@pytest.mark.parametrize("m", SIZES)
def test_what_is_spread_is_gathered_where_it_came_from(m: int) -> None:
    lengths = 1 + np.arange(m) % 3
    indptr = np.append(0, np.cumsum(lengths))
    units = np.arange(indptr[-1]) % 7
    table, worth = np.full((m, 3), 7, np.uint32), np.empty(m)
    spread(indptr, units, np.arange(m, dtype=float), golden_step(m), table, worth)
    back = np.empty(m)
    gather(worth, golden_step(m), back)
    assert np.array_equal(back, np.arange(m))
    for place, t in enumerate(worth.astype(int)):
        expected = [*units[indptr[t] : indptr[t + 1]].tolist(), *[7] * (3 - lengths[t])]
        assert table[place].tolist() == expected


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


@pytest.mark.parametrize("seed", range(5))
def test_a_dense_program_is_proved_within_sixty_four_sweeps(seed: int) -> None:
    dense = _dense(seed)
    assert _work(CoordinateSolver(64), dense, 100 * ONE // 200) <= 12
    with pytest.raises(AssertionError, match="no point"):
        _work(FirstOrderSolver(64), dense, 100 * ONE // 200)  # which needs more for the same


def test_sweeps_end_at_their_limit() -> None:
    looks = list(CoordinateSolver(1).points(_dense(0)))
    assert len(looks) == 1


@pytest.mark.parametrize("caps", [[0, ONE, ONE], [1, 1, 1], [0, 0, 0], [ONE << 31, 1, ONE]])
def test_points_are_numbers_whatever_the_caps(caps: list[int]) -> None:
    odd = program([(frozenset({0, 1, 2}), ONE), (frozenset({1, 2}), 3), (frozenset({0}), 1)], caps)
    for x, y in CoordinateSolver(50).points(odd):
        assert np.all(np.isfinite(x))
        assert np.all(np.isfinite(y))
        assert np.all(x >= 0)
        assert certify(odd, x, y).value <= certify(odd, x, y).upper
