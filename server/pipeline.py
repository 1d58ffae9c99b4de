"""The way of a query, from text to answer. One frozen type per arrow; read `answer` and `measure`.

    QueryRequest --parse--> Select --bind--> BoundQuery --plan--> Plan
      --reserve--> Reservation --rewrite--> BackendQuery --read--> JoinTuples --compact--> CompactJoinTuples
      --truncate--> TruncatedAnswer --release--> NoisyAnswer --commit--> QueryResponse

Everything before `reserve` is public. Everything between `read` and `release` happens in a worker process.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import structlog

from planner.bind import bind
from planner.errors import SchemaChanged, StatementTooComplex
from planner.parse import parse
from planner.plan import BackendQuery, Plan
from planner.planner import make_plan
from planner.policy import Policy
from planner.rewrite import rewrite
from planner.schema import Schema
from privacy.entropy import OpendpEntropy
from privacy.mechanisms.build import measurement
from privacy.mechanisms.measurement import Measurement
from privacy.noisy_answer import NoisyAnswer
from privacy.truncation.compact import compact
from privacy.truncation.truncate import truncate
from server.backends.backend import Backend
from server.backends.columns import Domain
from server.errors import BackendConnectionLost, BackendUnavailable, QueryFailed, TooManyQueries
from server.explanation import explanation
from server.failures import FailureLimit
from server.ledger.ledger import Charge, Ledger, Reservation
from server.plan_hash import plan_hash
from server.query import Budget, Explanation, QueryRequest, QueryResponse
from server.response import response
from server.workers import WorkerPool

_ATTEMPTS = 2  # a lost connection is retried once

_NOTHING_READ = (BackendUnavailable, SchemaChanged, StatementTooComplex, TooManyQueries)
"""What is raised only before the first private row is read."""

_log = structlog.get_logger("noisegate.pipeline")


@dataclass(frozen=True)
class Pipeline:
    """Answers queries under one policy.

    Attributes:
      policy, schema: what plans are made from.
      backend: where the rows are.
      ledger: what the budget is.
      workers: where private rows are read and solved.
      failures: how often an analyst's queries may fail.
    """

    policy: Policy
    schema: Schema
    backend: Backend
    ledger: Ledger
    workers: WorkerPool
    failures: FailureLimit = field(default_factory=FailureLimit)

    def answer(self, request: QueryRequest) -> QueryResponse:
        """Answer a query and charge for it.

        Raises: PlannerError, TooManyFailures, TooManyQueries and BackendUnavailable, none of them charged;
          BudgetExhausted; QueryFailed, charged, for whatever happens once private rows could have been read.
        """
        self.failures.check(request.analyst)
        plan = self.plan(request)
        measurements = plan_measurements(plan, self.policy)
        query = rewrite(plan)
        reservation = self.ledger.reserve(_charge(request, plan, query))
        domain, noisy = self._measured(reservation, query, measurements)
        budget = self.ledger.commit(reservation)
        return response(plan, domain, noisy, budget, request.request_id)

    def explain(self, request: QueryRequest) -> Explanation:
        """What the query would do and cost. Reads public tables at most, charges nothing."""
        plan = self.plan(request)
        query = rewrite(plan)
        n_groups = len(self.backend.domain(query)) if plan.group_keys else 1
        return explanation(plan, query, plan_measurements(plan, self.policy), n_groups)

    def budget(self, analyst: str) -> Budget:
        """What the analyst was granted and what is left."""
        return self.ledger.budget(analyst)

    def plan(self, request: QueryRequest) -> Plan:
        """Parse, bind and plan."""
        bound = bind(parse(request.sql), self.schema, self.policy)
        return make_plan(
            bound,
            self.schema,
            self.policy,
            epsilon=request.epsilon,
            delta=request.delta,
            mechanism=request.mechanism,
        )

    def _measured(
        self, reservation: Reservation, query: BackendQuery, measurements: tuple[Measurement, ...]
    ) -> tuple[Domain, tuple[NoisyAnswer, ...]]:
        """Measure in a worker under one reservation, which is given back only if nothing private was read.

        After that every failure is the same QueryFailed to the analyst; which one it was stands in the log.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return self.workers.call(measure, self.backend, query, measurements)
            except BaseException as error:
                if isinstance(error, _NOTHING_READ) and attempt == 1:
                    self.ledger.release(reservation)
                    raise
                if isinstance(error, BackendConnectionLost) and attempt < _ATTEMPTS:
                    continue
                self.ledger.fail(reservation)
                self.failures.note(reservation.charge.analyst)
                _log.error(
                    "failed after its charge", request_id=reservation.charge.request_id, kind=type(error).__name__
                )
                raise QueryFailed("the query could not be finished; it was charged") from error
        raise AssertionError("the last attempt returns or raises")


def measure(
    backend: Backend, query: BackendQuery, measurements: tuple[Measurement, ...]
) -> tuple[Domain, tuple[NoisyAnswer, ...]]:
    """Read, compact, truncate, release: the private part of the way, run in a worker process."""
    entropy = OpendpEntropy()
    domain, tuples = backend.read(query)
    compacted = compact(tuples)
    noisy = tuple(
        measured.release(truncate(compacted, index, measured.ladder, measured.gap), entropy)
        for index, measured in enumerate(measurements)
    )
    return domain, noisy


def plan_measurements(plan: Plan, policy: Policy) -> tuple[Measurement, ...]:
    """The measurement of each release, from public quantities."""
    return tuple(
        measurement(
            plan.mechanism,
            epsilon=release.epsilon,
            groups_per_unit=plan.groups_per_unit,
            gap=plan.gap,
            global_sensitivity=policy.global_sensitivity,
            whole=release.whole,
        )
        for release in plan.releases
    )


def _charge(request: QueryRequest, plan: Plan, query: BackendQuery) -> Charge:
    return Charge(
        analyst=request.analyst,
        epsilon=plan.epsilon,
        delta=plan.delta,
        request_id=request.request_id,
        policy_hash=plan.policy_hash,
        plan_hash=plan_hash(query),
        mechanism=plan.mechanism,
    )
