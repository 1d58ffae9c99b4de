"""solver = "reference" where it runs: in a worker process, under its memory limit, on programs of three owners."""

from __future__ import annotations

import resource
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from planner.plan import BackendQuery
from planner.postprocessing.write_outer import OuterStatement
from planner.public.relation import PublicStatement
from planner.schema import Dialect
from privacy.join_tuples import JoinTuples, OwnerColumn
from privacy.mechanisms.sums import Sum
from privacy.noisy_answer import NoisyAnswer
from privacy.registry import AllGroups, group_measurements
from privacy.thresholds import Thresholds
from privacy.truncation.programs.library_solvers import ReferenceSolver
from privacy.truncation.solver_name import SolverName
from privacy.units import ONE
from server.backends.columns import Domain
from server.backends.public_rows import Computed, Rows
from server.backends.query_tuples import QueryTuples
from server.workers.measure import Measuring, measure
from server.workers.pool import WorkerPool

QUERY = BackendQuery("join", (None,), ("person",) * 3, (None,), ((0,),), 1, "f")
GAP, MUCH = 0.01, 1e5


@dataclass(frozen=True)
class Meetings:
    """A hundred and twenty meetings of three people each, of forty."""

    dialect: ClassVar[Dialect] = "postgres"

    def domain(self, query: BackendQuery) -> Domain:
        raise AssertionError("measuring reads everything at once")

    def check_schema(self, fingerprint: str) -> None:
        raise AssertionError("nobody asks whether it is there")

    def compute(self, statement: OuterStatement, *, rows: bool) -> Computed:
        raise AssertionError("nothing surrounds these answers")

    def public(self, statement: PublicStatement) -> Rows:
        raise AssertionError("no public query is asked here")

    def read(self, query: BackendQuery) -> tuple[Domain, QueryTuples]:
        draw, m = np.random.default_rng(5), 120
        who = np.array([draw.choice(40, 3, replace=False) for _ in range(m)]).T
        owners = tuple(OwnerColumn("person", keys, np.zeros(m, bool)) for keys in who)
        join = JoinTuples(owners, np.zeros(m, np.int64), 1, np.full((1, m), ONE, np.int64))
        return Domain(((0,),)), QueryTuples(join, (None,))


def _measured(solver: SolverName, tau: int) -> tuple[NoisyAnswer, bool, int]:
    """What a worker releases at one threshold; whether cvxpy's solver gave a point; its peak memory."""
    asked = []
    points = ReferenceSolver.points

    def spied(*arguments: object) -> object:
        for point in points(*arguments):  # type: ignore[arg-type]
            asked.append(True)
            yield point

    ReferenceSolver.points = spied  # type: ignore[method-assign, assignment]
    thresholds = Thresholds(tau, tau)
    made = group_measurements(
        "group_lp", AllGroups([Sum(MUCH, GAP, thresholds)], 0.0, groups_per_unit=1, solver=solver)
    )
    try:
        _, (noisy,) = measure(Meetings(), QUERY, Measuring(made, solver=solver))
    finally:
        ReferenceSolver.points = points  # type: ignore[method-assign]
    return noisy, bool(asked), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@pytest.mark.parametrize("tau", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_worker_answers_by_cvxpy_what_it_answers_without(workers: WorkerPool, tau: int) -> None:
    certified, never, _ = workers.call(_measured, "certified", tau)
    reference, asked, kib = workers.call(_measured, "reference", tau)
    assert (never, asked) == (False, True)
    assert kib < 2 << 20
    assert abs(float(certified.values[0]) - float(reference.values[0])) <= 2 * GAP * 2.0**tau
    assert (certified.noise_scale, certified.tau) == (reference.noise_scale, reference.tau)
