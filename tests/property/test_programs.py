"""Presolve, routes and certificates against the plain formulation, on thousands of small hypergraphs."""

from __future__ import annotations

from collections.abc import Iterator

import cvxpy
import numpy as np

from privacy.truncation.programs.certificate import certify
from privacy.truncation.programs.first_order_solver import FirstOrderSolver
from privacy.truncation.programs.presolve import pairs_and_rest, presolve
from privacy.truncation.programs.program import PreparedProgram
from privacy.truncation.programs.solver_routes import certified_optimum
from privacy.units import ONE
from tests.support.seeds import SEED, examples, sampled
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


def test_certified_optima_contain_what_cvxpy_finds() -> None:
    slack = ONE // 1000
    for seed in sampled(range(20), 2):
        random = np.random.default_rng(seed)
        programs = [_random_program(random) for _ in range(60)]
        for one, exact in zip(programs, _side_by_side(programs), strict=True):
            proof = certified_optimum(one, slack)
            assert proof.within(slack), seed
            assert proof.floor() / ONE <= exact + 1e-5, seed
            assert proof.ceiling() / ONE >= exact - 1e-5, seed


def test_presolve_and_components_keep_the_optimum() -> None:
    random = np.random.default_rng(SEED)
    for _ in range(examples(100, 1_200)):
        one = _random_program(random)
        done = presolve(one)
        parts = (None, None) if done.core is None else pairs_and_rest(done.core)
        rest = sum(0.0 if part is None else optimum(part) for part in parts)
        assert abs(done.settled + rest - optimum(one)) <= 1e-6 * max(ONE, one.scale)
        pairs, crowded = parts
        assert pairs is None or np.all(pairs.incidence.owners == 2)
        assert crowded is None or crowded.incidence.owners.max() > 2


def test_the_last_route_always_ends_with_a_proof() -> None:
    random, left = np.random.default_rng(SEED), 0
    for slack in [ONE // 100, ONE // 10_000] * examples(20, 75):
        core = presolve(_random_program(random)).core
        if core is None:
            continue
        left += 1
        proofs = (certify(core, x, y) for x, y in FirstOrderSolver().points(core))
        first = next(proof for proof in proofs if proof.within(slack))
        assert first.floor() <= optimum(core) + 1e-6 * ONE
        assert first.ceiling() >= optimum(core) - 1e-6 * ONE
    assert left >= 5
