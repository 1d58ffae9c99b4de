"""Presolve, routes and certificates against the plain formulation, on thousands of small hypergraphs."""

from __future__ import annotations

from collections.abc import Iterator

import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy.truncation.programs.certificate import certify
from privacy.truncation.programs.components import pairs_and_rest
from privacy.truncation.programs.first_order_solver import FirstOrderSolver
from privacy.truncation.programs.presolve import presolve
from privacy.truncation.programs.program import PreparedProgram
from privacy.truncation.solver_routes import certified_optimum
from privacy.units import ONE
from tests.unit.privacy.truncation.instances import Tuple, optimum, program

UNITS = 7
WEIGHTS = [0, 1, ONE // 3, ONE, ONE, ONE, 3 * ONE]
CAPS = [1, ONE // 2, ONE, ONE, 2 * ONE, 5 * ONE]


def _random_program(random: np.random.Generator) -> PreparedProgram:
    """Ties are the rule: few distinct weights and caps, few units, so that sets repeat and contain each other."""
    tuples: list[Tuple] = []
    for _ in range(int(random.integers(1, 25))):
        owners = random.choice(UNITS, int(random.integers(1, 5)), replace=False)
        weight = random.choice(WEIGHTS) if random.random() < 0.7 else random.integers(0, 2 * ONE)
        tuples.append((frozenset(owners.tolist()), int(weight)))
    same = random.random() < 0.5
    caps = [int(random.choice(CAPS))] * UNITS if same else random.choice(CAPS, UNITS).tolist()
    return program(tuples, caps)


def _side_by_side(programs: list[PreparedProgram]) -> Iterator[float]:
    """Optima in units of ONE of many small programs, by cvxpy and Clarabel in one call: blocks share nothing."""
    with np.errstate(all="ignore"):  # cvxpy learns shapes by adding up arrays that nobody has filled
        totals = []
        constraints: list[cvxpy.Constraint] = []
        for one in programs:
            x = cvxpy.Variable(len(one.weights), nonneg=True)
            owned = np.zeros((len(one.caps), len(one.weights)))
            owned[one.incidence.units, one.incidence.rows] = 1.0
            constraints += [x <= one.weights / ONE, owned @ x <= one.caps / ONE]
            totals.append(cvxpy.sum(x))
        cvxpy.Problem(cvxpy.Maximize(cvxpy.sum(cvxpy.hstack(totals))), constraints).solve(solver=cvxpy.CLARABEL)
    for total in totals:
        yield float(total.value)


@pytest.mark.parametrize("seed", range(20))
def test_certified_optima_contain_what_cvxpy_finds(seed: int) -> None:
    random = np.random.default_rng(seed)
    programs = [_random_program(random) for _ in range(60)]
    slack = ONE // 1000
    for one, exact in zip(programs, _side_by_side(programs), strict=True):
        proof = certified_optimum(one, slack)
        assert proof.within(slack)
        assert proof.floor() / ONE <= exact + 1e-5
        assert proof.ceiling() / ONE >= exact - 1e-5


@pytest.mark.parametrize("seed", range(20))
def test_presolve_and_components_keep_the_optimum(seed: int) -> None:
    random = np.random.default_rng(1000 + seed)
    for _ in range(60):
        one = _random_program(random)
        done = presolve(one)
        parts = (None, None) if done.core is None else pairs_and_rest(done.core)
        rest = sum(0.0 if part is None else optimum(part) for part in parts)
        assert abs(done.settled + rest - optimum(one)) <= 1e-6 * max(ONE, one.scale)
        pairs, crowded = parts
        assert pairs is None or np.all(pairs.incidence.owners == 2)
        assert crowded is None or crowded.incidence.owners.max() > 2


@given(st.integers(0, 2**32), st.sampled_from([ONE // 100, ONE // 10_000]))
@settings(max_examples=150, deadline=None)
def test_the_last_route_always_ends_with_a_proof(seed: int, slack: int) -> None:
    one = _random_program(np.random.default_rng(seed))
    core = presolve(one).core
    if core is None:
        return
    proofs = (certify(core, x, y) for x, y in FirstOrderSolver().points(core))
    first = next(proof for proof in proofs if proof.within(slack))
    assert first.floor() <= optimum(core) + 1e-6 * ONE
    assert first.ceiling() >= optimum(core) - 1e-6 * ONE


@given(st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_the_order_of_tuples_changes_nothing(seed: int) -> None:
    random = np.random.default_rng(seed)
    tuples = [(frozenset(random.choice(UNITS, 3, replace=False).tolist()), ONE) for _ in range(20)]
    shuffled = [tuples[i] for i in random.permutation(20)]
    first, second = (certified_optimum(program(t, [2 * ONE] * UNITS), ONE // 100) for t in (tuples, shuffled))
    assert (first.value, first.upper, first.bits) == (second.value, second.upper, second.bits)
