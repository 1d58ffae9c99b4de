import numpy as np
import pytest

from privacy.errors import SolverFailed
from privacy.truncation.certificate import certify
from privacy.truncation.flow_solver import FlowSolver
from privacy.truncation.program import PreparedProgram
from privacy.units import ONE
from tests.unit.privacy.truncation.instances import Tuple, optimum, program

PEOPLE, THINGS = 12, 9


def _bipartite(seed: int, m: int = 60) -> list[Tuple]:
    random = np.random.default_rng(seed)
    pairs = {(int(random.integers(PEOPLE)), PEOPLE + int(random.integers(THINGS))) for _ in range(m)}
    return [(frozenset(pair), ONE) for pair in sorted(pairs)]


def _program(seed: int, tau: int, cap: int = ONE) -> PreparedProgram:
    return program(_bipartite(seed), [tau] * PEOPLE + [cap] * THINGS)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("shift", [-8, -2, 0, 1, 3])
def test_a_flow_and_its_cut_prove_the_optimum_to_the_unit(seed: int, shift: int) -> None:
    instance = _program(seed, ONE << shift if shift >= 0 else ONE >> -shift)
    proof = certify(instance, *FlowSolver().solve(instance))
    assert proof.within(0)
    assert proof.floor() == pytest.approx(optimum(instance), rel=1e-6)


def test_capacities_with_a_common_divisor_that_is_no_power_of_two() -> None:
    instance = _program(7, 3 * 7 * 1000, 5 * 7 * 1000)
    assert certify(instance, *FlowSolver().solve(instance)).within(len(instance.weights))


def test_a_cut_through_tuples() -> None:
    instance = program([(frozenset({0, 1}), ONE)], [4 * ONE, 4 * ONE])
    x, y = FlowSolver().solve(instance)
    assert (x.tolist(), y.tolist()) == ([1.0], [0.0, 0.0])


@pytest.mark.parametrize(
    "tuples",
    [
        [(frozenset({0, 1, 2}), ONE)],
        [(frozenset({0}), ONE)],
        [(frozenset({0, 1}), ONE), (frozenset({1, 2}), ONE)],
    ],
)
def test_what_is_no_flow_is_refused(tuples: list[Tuple]) -> None:
    with pytest.raises(SolverFailed):
        FlowSolver().solve(program(tuples, [ONE] * 3))


def test_capacities_beyond_an_int32_are_refused() -> None:
    with pytest.raises(SolverFailed):
        FlowSolver().solve(program([(frozenset({0, 1}), ONE + 1)], [ONE << 3, ONE << 3]))
