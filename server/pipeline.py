"""The way of a query from text to answer: read `find`, then `finish`.

    find:    QueryRequest --planning--> Question | Composition | PublicStatement --deciding.find--> Work
    finish:  Work --deciding.decide--> Work --running.run--> QueryResponse
    explain: QueryRequest --explaining.explain--> Explanation

`server/planning.py` determines what a request asks. `server/answers/decide.py` determines the work, a small tree
(`server/answers/work.py`): what is cached, what is derived from earlier answers, and what is measured. These steps
read no private row. `server/answers/run.py` executes the tree and `server/answers/explained.py` shows it. The price
of a request is the sum of the prices in its tree.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from planner.policy.policy import Policy
from planner.schema import Schema
from server.answers.cached_answers import CachedAnswers
from server.answers.cached_outlines import CachedOutlines
from server.answers.decide import Deciding
from server.answers.explained import Explaining
from server.answers.periods.day_sums import DaySums
from server.answers.proposals.accuracy import Accuracy, Proposal
from server.answers.proposals.propose import propose
from server.answers.reusing import Reusing
from server.answers.run import Running
from server.answers.work import Cached, Explain, Within, Work
from server.answers.workload.answer_workload import answer_workload, explain_workload
from server.answers.workload.workload import WorkloadExplanation, WorkloadRequest, WorkloadResponse
from server.backends.backend import Backend
from server.errors import LedgerInvalid
from server.explain.catalog import Catalog
from server.ledger.charge import ChargeRecord
from server.ledger.ledger import Ledger
from server.ledger.question_texts import AskedText, QuestionKeys
from server.lru_cache import LruCache
from server.planning import Planning
from server.postprocessing.composition import Composition
from server.query import Explanation, QueryRequest, QueryResponse, StatementShape
from server.question import Asked, Question
from server.scheduling.single_flight import Outage, SingleFlight
from server.workers.pool import WorkerPool
from server.workers.public_reads import PublicReads

if TYPE_CHECKING:  # DuckDB is an extra
    from server.backends.mirror import CurrentMirror
    from server.backends.practice import PracticeCopy

_PLANNED, _PLANNED_BYTES = 256, 32 << 20
"""Plans that are remembered. A usual one takes 300 kB, and 5 ms to make; one of 75,000 listed groups takes 24 MB."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class Pipeline:
    """Answers queries under one policy.

    Attributes:
      policy, schema: what plans are made from; the schema includes the keys that the policy declares.
      backend: the database of the policy's tables.
      ledger: records every charge and every cached answer.
      workers: processes that read private rows and solve.
      public: reads public tables in workers of its own; None if `workers` read them too.
      mirror: a copy of the tables, which replaces the database while it is current; or None.
      clock: the time with its zone. Plans see it rounded to the policy's time grain.
      questions: recent plans of queries over private tables.
      compositions: recent composed statements: SQL around answers, with the questions that it needs.
      flights: makes concurrent requests of one question share a measurement.
      question_keys: encrypts question texts for the ledger; None: they are not stored.
      outage: whether the database was reachable when it was last asked.
    """

    policy: Policy
    schema: Schema
    backend: Backend
    ledger: Ledger
    workers: WorkerPool
    clock: Callable[[], datetime] = field(default=_utc_now)
    questions: LruCache[Asked, Question] = field(
        default_factory=lambda: LruCache(_PLANNED, _PLANNED_BYTES, lambda question: question.most_bytes)
    )
    compositions: LruCache[Asked, Composition] = field(
        default_factory=lambda: LruCache(_PLANNED, _PLANNED_BYTES, lambda composed: composed.most_bytes)
    )
    flights: SingleFlight = field(default_factory=SingleFlight)
    public: PublicReads | None = None
    mirror: CurrentMirror | PracticeCopy | None = None
    question_keys: QuestionKeys | None = None
    outage: Outage = field(default_factory=Outage)

    @cached_property
    def planning(self) -> Planning:
        """Determines what a request asks."""
        reads = self.public or PublicReads(self.workers)
        parts = self.policy, self.schema, self.backend, self.ledger, reads
        return Planning(*parts, self.clock, self.mirror, self.questions, self.compositions)

    @cached_property
    def cached(self) -> CachedAnswers:
        """The cached answers, which are served again without a measurement."""
        return CachedAnswers(self.ledger, self.flights)

    @cached_property
    def deciding(self) -> Deciding:
        """Determines the work for a request."""
        outlines = CachedOutlines(self.ledger)
        days = DaySums(self.planning, outlines, self.cached)
        return Deciding(self.planning, self.cached, Reusing(outlines, self.cached), days, self.question_keys)

    @cached_property
    def running(self) -> Running:
        """Executes the work and charges for it."""
        return Running(self.deciding, self.workers, self.outage)

    @cached_property
    def explaining(self) -> Explaining:
        """Shows the work and charges nothing."""
        return Explaining(self.deciding)

    def find(self, request: QueryRequest, cancelled: threading.Event | None = None) -> Work:
        """Parse and plan a question, and look it up in the cache. Free; no private row is read.

        The call returns without waiting for a worker or for another question, unless there is an accuracy target.
        Raises: PlannerError; KeyReused and DuplicateRequest; UnknownAnalyst; DataUnchecked.
        """
        return self.deciding.find(request, cancelled)

    def find_planned(self, request: QueryRequest) -> Work | None:
        """Do what `find` does with a remembered plan, in a few ledger reads; None if no plan is remembered."""
        return self.deciding.find_planned(request)

    def finish(self, found: Work, request: QueryRequest, cancelled: threading.Event | None = None) -> QueryResponse:
        """Answer what was found and charge for it. Only measurements are charged.

        Args:
          found: by `find`, for this request.
          cancelled: set when the client no longer wants the answer.
        Raises: without a charge: PlannerError, TooManyFailures, TooManyQueries, BackendUnavailable, DataUnchecked,
            DuplicateRequest, NotDerivable, CancelledEarly, BudgetExhausted and QueryTooExpensive; for public tables
            also PublicQueryFailed and ComputationFailed. Charged: CancelledByClient, and QueryFailed for everything
            else that happens once private rows could have been read.
        """
        if isinstance(found, Explain):
            return self.explaining.answer(request)
        if isinstance(found, Cached):
            return self.running.show(found, {}, request)
        if request.by_accuracy and not isinstance(found, Within):
            found = Within(None, found)
        return self.running.run(self.deciding.decide(found, request, cancelled), request, cancelled)

    def explain(self, request: QueryRequest) -> Explanation:
        """What the query would do and cost. Reads at most public tables and charges nothing."""
        return self.explaining.explain(request)

    def propose(self, request: QueryRequest, accuracy: Accuracy) -> Proposal:
        """Propose the least epsilon for an accuracy target, from public facts and the analyst's earlier answers."""
        return propose(self.planning, request, accuracy)

    def workload(self, request: WorkloadRequest, cancelled: threading.Event | None = None) -> WorkloadResponse:
        """Answer many questions under one reservation, all or none (`server.answers.workload`)."""
        return answer_workload(self.running, request, cancelled)

    def explain_workload(self, request: WorkloadRequest) -> WorkloadExplanation:
        """What a workload would measure and cost. Reads at most public tables and charges nothing."""
        return explain_workload(self.deciding, request)

    def describe(
        self,
        sql: str,
        search_path: tuple[str, ...] | None = None,
        analyst: str = "",
        given: tuple[str | None, ...] = (),
    ) -> StatementShape:
        """Parameters and columns of a question before its values are known. Free."""
        return self.planning.describe(sql, search_path, analyst, given)

    def words(self, record: ChargeRecord) -> AskedText | None:
        """Decrypt the question text of a charge; None if the text was not stored, or its key is missing."""
        if self.question_keys is None or record.sealed_question is None:
            return None
        try:
            return self.question_keys.decrypted(self.ledger.id, record.number, record.sealed_question)
        except LedgerInvalid:
            return None

    def catalog(self) -> Catalog:
        """The tables and columns that may be queried."""
        return self.planning.catalog

    def workers_alive(self) -> int:
        """The number of worker processes for private rows."""
        return self.workers.n_alive

    def check_ready(self) -> None:
        """Raises the reason why a query cannot be answered: as `Ledger.check_writable` and `Backend.check_schema`."""
        self.ledger.check_writable()
        self.backend.check_schema(self.schema.fingerprint)
