"""The way of a query, from text to answer. One frozen type per arrow; read `answer`, then `measure`.

    QueryRequest --parse--> Select --bind--> BoundQuery --plan--> Plan --> Question
      --reserve--> Reservation --rewrite--> BackendQuery --read--> JoinTuples --encode--> CodedJoinTuples
      --truncate--> TruncatedAnswer --release--> NoisyAnswer --commit--> Released --show--> QueryResponse

Everything before `reserve` is public; a Question without releases, `SELECT ward ... GROUP BY ward`, ends there, since
which groups there may be is public, too. Everything between `read` and `release` happens in a worker process
(`measuring.py`). A Question whose Released is kept (`server/answers`) goes from the one to the other.
A query that names public tables only takes a way of its own, with no reservation, no noise and no charge:

    QueryRequest --read--> Statement --bind_public--> PublicQuery --write--> PublicStatement --public--> QueryResponse
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property

import structlog

from planner.bind import bind
from planner.bound_query import BoundQuery
from planner.clock import snapped
from planner.errors import SchemaChanged, StatementTooComplex
from planner.explain_prefix import explained_statement
from planner.parse import Statement, private_select, read
from planner.placeholders import substitute
from planner.plan import BackendQuery, Plan
from planner.planner import make_plan
from planner.policy import Policy
from planner.provenance import provenance
from planner.public.bind import bind_public
from planner.public.grammar import check_public_grammar
from planner.public.query import PublicQuery, PublicStatement, write_public
from planner.public.route import names_private_table
from planner.rewrite import rewrite
from planner.schema import Schema
from planner.syntax.queries import check_syntax
from privacy.noisy_answer import NoisyAnswer
from server.answers.encoding import encoded
from server.answers.kept_answers import KeptAnswers
from server.answers.released import Released
from server.answers.single_flight import SingleFlight
from server.backends.backend import Backend
from server.backends.columns import Domain
from server.errors import (
    BackendConnectionLost,
    BackendUnavailable,
    CancelledByClient,
    CancelledEarly,
    QueryFailed,
    TooManyQueries,
)
from server.explanation import explanation
from server.explanation_text import explanation_answer
from server.failures import Attempt, FailureLimit
from server.ledger.charge import Charge, Reservation
from server.ledger.ledger import Ledger
from server.measuring import Measuring, measure, plan_measurements
from server.proposals.accuracy import Accuracy, Proposal
from server.proposals.propose import propose
from server.public_answer import public_explanation, public_response, rows_in_worker
from server.query import Budget, Explanation, QueryRequest, QueryResponse, StatementShape
from server.question import Asked, Question
from server.recent import Recent
from server.response import response
from server.statement_shape import statement_shape
from server.workers import WorkerPool

_ATTEMPTS = 2  # a lost connection is retried once
_PLANNED = 256  # plans that are remembered
_SMALL = 1 << 15  # bytes of a kept answer, some 400 groups, that is decoded and shown in milliseconds

_NOTHING_READ = (BackendUnavailable, CancelledEarly, SchemaChanged, StatementTooComplex, TooManyQueries)
"""What is raised only before the first private row is read."""

_log = structlog.get_logger("noisegate.pipeline")


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class Pipeline:
    """Answers queries under one policy.

    Attributes:
      policy, schema: what plans are made from.
      backend: where the rows are.
      ledger: what the budget is.
      workers: where private rows are read and solved.
      clock: the time, with its zone; a plan knows it only snapped to the policy's grain.
      failures: how often an analyst's queries may fail, those under way included.
      questions: what was planned lately; only queries over private tables are.
      flights: one measurement per question at a time.
    """

    policy: Policy
    schema: Schema
    backend: Backend
    ledger: Ledger
    workers: WorkerPool
    clock: Callable[[], datetime] = field(default=_utc_now)
    failures: FailureLimit = field(default_factory=FailureLimit)
    questions: Recent[Asked, Question] = field(default_factory=lambda: Recent(_PLANNED))
    flights: SingleFlight = field(default_factory=SingleFlight)

    @cached_property
    def kept(self) -> KeptAnswers:
        """The answers that are served again."""
        return KeptAnswers(self.ledger, self.flights)

    def answer(self, request: QueryRequest, cancelled: threading.Event | None = None) -> QueryResponse:
        """Answer a query and charge for it; EXPLAIN, public tables and what the analyst has paid for are free.

        Args:
          cancelled: set by whoever does not want the answer any more.
        Raises: PlannerError, TooManyFailures, TooManyQueries, BackendUnavailable, DuplicateRequest and
          CancelledEarly, none of them charged; BudgetExhausted and QueryTooExpensive; CancelledByClient, charged;
          QueryFailed, charged, for whatever else happens once private rows could have been read; PublicQueryFailed
          and ComputationFailed, free, of queries over public tables.
        """
        question = self._private_question(request)
        if question is None:
            return self._free(request, cancelled)
        if question.only_names_groups:
            return self._listed(question, request)
        charge = question.charge(request)
        served = self.kept.serve(charge, lambda: self._released(question, charge, cancelled), cancelled)
        return served.response(question, request.request_id)

    def answer_at_hand(self, request: QueryRequest) -> QueryResponse | None:
        """What `kept_answer` would return, if that takes a few reads of the ledger and no more: else None.

        So it is for a question that was planned lately and whose answer is small.
        """
        question = None if request.idempotency_key else self.questions.get(self._asked(request))
        if question is not None and question.only_names_groups:
            return None
        served = None if question is None else self.kept.paid(question.charge(request), longest=_SMALL)
        return None if served is None or question is None else served.response(question, request.request_id)

    def kept_answer(self, request: QueryRequest) -> QueryResponse | None:
        """The answer that the analyst has paid for before; None where there is none, `answer` is to be asked then.

        Waits for no worker and for no other question.
        Raises: PlannerError, DuplicateRequest.
        """
        question = self._private_question(request)
        if question is not None and question.only_names_groups:
            return None
        served = None if question is None else self.kept.find(question.charge(request))
        return None if served is None or question is None else served.response(question, request.request_id)

    def explain(self, request: QueryRequest) -> Explanation:
        """What the query would do and cost. Reads public tables at most, charges nothing."""
        explained = explained_statement(request.sql)
        statement = read(request.sql if explained is None else explained)
        if not names_private_table(statement.tree, self.policy):
            query, written = self._public_query(request, statement)
            return public_explanation(query, written)
        bound = self._bound(statement, request)
        plan = self._planned(bound, request)
        rewritten = rewrite(plan, dialect=self.backend.dialect, schema=self.schema)
        n_groups = len(self.backend.domain(rewritten)) if plan.group_keys else 1
        found = provenance(bound, self.schema, self.policy)
        whole = plan_measurements(replace(plan, sampling=None), self.policy)
        return explanation(bound, found, plan, rewritten, plan_measurements(plan, self.policy), n_groups, whole)

    def propose(self, request: QueryRequest, accuracy: Accuracy) -> Proposal:
        """The smallest epsilon for an accuracy: from public quantities and what the analyst was told, never a row."""
        return propose(self, request, accuracy)

    def describe(self, sql: str) -> StatementShape:
        """Parameters and columns of a question, before its values are known. Free."""
        return statement_shape(sql, self.schema, self.policy)

    def check_ready(self) -> None:
        """Raises BackendUnavailable or LedgerUnavailable where a query could not be answered."""
        self.ledger.data_version()
        self.backend.check_reachable()

    def budget(self, analyst: str) -> Budget:
        """What the analyst was granted and what is left."""
        return self.ledger.budget(analyst)

    def question(self, request: QueryRequest) -> Question:
        """Parse, bind and plan a query over private tables."""
        return self._question(read(request.sql), request, self.ledger.data_version())

    def _private_question(self, request: QueryRequest) -> Question | None:
        """The plan of a query over private tables, made once; None for everything else."""
        asked = self._asked(request)
        question = self.questions.get(asked)
        if question is not None or explained_statement(request.sql) is not None:
            return question
        statement = read(request.sql)
        if not names_private_table(statement.tree, self.policy):
            return None
        return self.questions.put(asked, self._question(statement, request, asked.data_version))

    def _asked(self, request: QueryRequest) -> Asked:
        now = snapped(self.clock(), self.policy.time_grain)
        return Asked.of(request, now, self.ledger.data_version(), self.policy.hash, self.schema.fingerprint)

    def _question(self, statement: Statement, request: QueryRequest, data_version: int) -> Question:
        plan = self._planned(self._bound(statement, request), request)
        measuring = plan_measurements(plan, self.policy)
        query = rewrite(plan, dialect=self.backend.dialect, schema=self.schema)
        return Question.of(plan, query, measuring, time_grain=self.policy.time_grain, data_version=data_version)

    def _bound(self, statement: Statement, request: QueryRequest) -> BoundQuery:
        """Bind a statement whose placeholders are written as the values that came with it."""
        select = substitute(private_select(statement), request.parameters)
        return bind(select, self.schema, self.policy, self.clock())

    def _public_query(self, request: QueryRequest, statement: Statement) -> tuple[PublicQuery, PublicStatement]:
        check_public_grammar(statement.tree, statement.tokens)
        check_syntax(statement.lexemes)
        tree = substitute(statement.tree, request.parameters)
        query = bind_public(tree, self.schema, self.policy, self.clock())
        return query, write_public(query, dialect=self.backend.dialect)

    def _free(self, request: QueryRequest, cancelled: threading.Event | None) -> QueryResponse:
        """Explain, or answer a query over public tables: no reservation, no noise, no charge."""
        if explained_statement(request.sql) is not None:
            return explanation_answer(self.explain(request), self.budget(request.analyst), request.request_id)
        query, written = self._public_query(request, read(request.sql))
        budget = self.budget(request.analyst)
        rows = rows_in_worker(self.workers, self.backend, written, request.analyst, cancelled)
        return public_response(query, rows, budget, request.request_id)

    def _listed(self, question: Question, request: QueryRequest) -> QueryResponse:
        """Name the groups that there may be: they are public, so no reservation, no noise and no charge."""
        domain = self.backend.domain(question.query)
        return response(question.plan, domain, (), self.budget(request.analyst), request.request_id)

    def _planned(self, bound: BoundQuery, request: QueryRequest) -> Plan:
        return make_plan(
            bound,
            self.schema,
            self.policy,
            epsilon=request.epsilon,
            delta=request.delta,
            mechanism=request.mechanism,
            sampling_rate=request.sampling_rate,
        )

    def _released(
        self, question: Question, charge: Charge, cancelled: threading.Event | None
    ) -> tuple[Released, Budget] | None:
        """Charge, measure, and keep what was released with its charge; None where another proxy is at it."""
        with self.failures.attempt(charge.analyst, charge.plan_hash) as attempt:
            reservation = self.ledger.claim(charge)
            if reservation is None:
                return None
            measured = self._measured(reservation, question.query, question.measuring, attempt, cancelled)
            released = Released(*measured)
            return released, self.ledger.commit(reservation, encoded(released))

    def _measured(
        self,
        reservation: Reservation,
        query: BackendQuery,
        measuring: Measuring,
        attempt: Attempt,
        cancelled: threading.Event | None,
    ) -> tuple[Domain, tuple[NoisyAnswer, ...]]:
        """Measure in a worker under one reservation, which is given back only if nothing private was read.

        After that every failure is the same QueryFailed to the analyst; which one it was stands in the log.
        """
        for count in range(1, _ATTEMPTS + 1):
            try:
                owner = reservation.charge.analyst
                return self.workers.call(measure, self.backend, query, measuring, cancelled=cancelled, owner=owner)
            except BaseException as error:
                if isinstance(error, _NOTHING_READ) and count == 1:
                    self.ledger.release(reservation)
                    raise
                if isinstance(error, BackendConnectionLost) and count < _ATTEMPTS:
                    continue
                self.ledger.fail(reservation)
                if isinstance(error, CancelledByClient):
                    raise  # when it ended was the analyst's choice and says nothing
                attempt.fail()
                _log.error(
                    "failed after its charge", request_id=reservation.charge.request_id, kind=type(error).__name__
                )
                raise QueryFailed("the query could not be finished; it was charged") from error
        raise AssertionError("the last attempt returns or raises")
