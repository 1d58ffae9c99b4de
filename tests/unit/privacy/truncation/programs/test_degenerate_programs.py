"""Programs at the edges: the smallest, the heaviest, the most lopsided."""

import numpy as np
import pytest

from privacy.truncation.programs.first_order_solver import FirstOrderSolver
from privacy.truncation.programs.incidence import Incidence
from privacy.truncation.programs.program import PreparedProgram
from privacy.truncation.solver_routes import certified_optimum
from privacy.units import MAX_UNITS, ONE
from tests.unit.privacy.truncation.instances import optimum, program

FANO = [{0, 1, 2}, {0, 3, 4}, {0, 5, 6}, {1, 3, 5}, {1, 4, 6}, {2, 3, 6}, {2, 4, 5}]
"""Seven lines of seven points, three points each: worth 7/3 caps."""


def _fano(weight: int, cap: int) -> PreparedProgram:
    return program([(frozenset(line), weight) for line in FANO], [cap] * 7)


@pytest.mark.parametrize("cap", [1 << 10, ONE, 1 << 50, MAX_UNITS - 1], ids=["2^-20", "1", "2^20", "the most"])
def test_thresholds_from_the_smallest_to_the_largest(cap: int) -> None:
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


def test_weightless_tuples_and_capless_units_are_worth_nothing() -> None:
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


def test_ten_million_tuples_of_one_set_are_one_tuple() -> None:
    m = 10_000_000
    incidence = Incidence(np.arange(0, 3 * m + 1, 3), np.tile(np.arange(3), m), 3)
    instance = PreparedProgram(np.full(m, ONE, np.int64), incidence, np.full(3, 1 << 40))
    assert certified_optimum(instance, 0).floor() == 1 << 40
