"""The way of a query, from text to answer. Read `find`, then `finish`; what each does stands where it is named.

    QueryRequest --planning.planned--> Question | Composition | PublicStatement
      --deciding.find, decide--> Work --running.run--> QueryResponse
                                 Work --explaining.explain--> Explanation

`server/planning.py` knows what a request asks, `server/answers/decide.py` what is to be done for it: what is kept,
what follows from it, and what is to be measured, as a small tree (`server/answers/work.py`). Until then everything is
public. `server/answers/run.py` executes the tree, `server/answers/explained.py` shows it; the price is its sum.
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

_PLANNED, _PLANNED_BYTES = 256, 64 << 20  # plans that are remembered


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class Pipeline:
    """Answers queries under one policy.

    Attributes:
      policy, schema: what plans are made from; the schema has the keys that the policy declares.
      backend: where the rows are.
      ledger: what the budget is.
      workers: where private rows are read and solved.
      public: reads public tables, in workers of their own; None: in the same ones.
      mirror: a copy of the tables, which private rows are read from while it is current; or None.
      clock: the time, with its zone; a plan knows it only snapped to the policy's grain.
      questions: what was planned lately; only queries over private tables are.
      compositions: the statements around answers that were, with their questions.
      flights: one measurement per question at a time.
      question_keys: what the words of questions are sealed with before the ledger keeps them; None: it does not.
      outage: whether the database was there when it was last asked.
    """

    policy: Policy
    schema: Schema
    backend: Backend
    ledger: Ledger
    workers: WorkerPool
    clock: Callable[[], datetime] = field(default=_utc_now)
    questions: LruCache[Asked, Question] = field(default_factory=lambda: LruCache(_PLANNED, _PLANNED_BYTES))
    compositions: LruCache[Asked, Composition] = field(default_factory=lambda: LruCache(_PLANNED, _PLANNED_BYTES))
    flights: SingleFlight = field(default_factory=SingleFlight)
    public: PublicReads | None = None
    mirror: CurrentMirror | None = None
    question_keys: QuestionKeys | None = None
    outage: Outage = field(default_factory=Outage)

    @cached_property
    def planning(self) -> Planning:
        """What a request asks."""
        reads = self.public or PublicReads(self.workers)
        parts = self.policy, self.schema, self.backend, self.ledger, reads
        return Planning(*parts, self.clock, self.mirror, self.questions, self.compositions)

    @cached_property
    def kept(self) -> CachedAnswers:
        """The answers that are served again."""
        return CachedAnswers(self.ledger, self.flights)

    @cached_property
    def deciding(self) -> Deciding:
        """What is to be done for a request."""
        outlines = CachedOutlines(self.ledger)
        days = DaySums(self.planning, outlines, self.kept)
        return Deciding(self.planning, self.kept, Reusing(outlines, self.kept), days, self.question_keys)

    @cached_property
    def running(self) -> Running:
        """Does what was decided, and charges for it."""
        return Running(self.deciding, self.workers, self.outage)

    @cached_property
    def explaining(self) -> Explaining:
        """Shows what would be decided, and charges for nothing."""
        return Explaining(self.deciding)

    def find(self, request: QueryRequest) -> Work:
        """Look a question up: parsed, planned, its answer looked for among the kept ones. Free, and no row is read.

        Waits for no worker and for no other question.
        Raises: PlannerError; KeyReused and DuplicateRequest; UnknownAnalyst; DataUnchecked.
        """
        return self.deciding.find(request)

    def find_planned(self, request: QueryRequest) -> Work | None:
        """What `find` returns, if that takes a few reads of the ledger: of a question planned lately, else None."""
        return self.deciding.find_planned(request)

    def finish(self, found: Work, request: QueryRequest, cancelled: threading.Event | None = None) -> QueryResponse:
        """Answer what was looked up, and charge for it; all but what is measured is free.

        Args:
          found: by `find`, for this request.
          cancelled: set by whoever does not want the answer any more.
        Raises: PlannerError, TooManyFailures, TooManyQueries, BackendUnavailable, DataUnchecked, DuplicateRequest,
          NotDerivable and CancelledEarly, none of them charged; BudgetExhausted and QueryTooExpensive;
          CancelledByClient, charged; QueryFailed, charged, for all else that happens once private rows could have
          been read; PublicQueryFailed, ComputationFailed and TooManyFailures, free, of queries over public tables.
        """
        if isinstance(found, Explain):
            return self.explaining.answer(request)
        if isinstance(found, Cached):
            return self.running.show(found, {}, request)
        if request.by_accuracy and not isinstance(found, Within):
            found = Within(None, found)
        return self.running.run(self.deciding.decide(found, request, cancelled), request, cancelled)

    def explain(self, request: QueryRequest) -> Explanation:
        """What the query would do and cost. Reads public tables at most, charges nothing."""
        return self.explaining.explain(request)

    def propose(self, request: QueryRequest, accuracy: Accuracy) -> Proposal:
        """The smallest epsilon for an accuracy: from public quantities and what the analyst was told, never a row."""
        return propose(self.planning, request, accuracy)

    def workload(self, request: WorkloadRequest, cancelled: threading.Event | None = None) -> WorkloadResponse:
        """Answer many questions under one reservation, all or nothing (`server.answers.workload`)."""
        return answer_workload(self.running, request, cancelled)

    def explain_workload(self, request: WorkloadRequest) -> WorkloadExplanation:
        """What a workload would measure and cost. Reads public tables at most, charges nothing."""
        return explain_workload(self.deciding, request)

    def describe(
        self,
        sql: str,
        search_path: tuple[str, ...] | None = None,
        analyst: str = "",
        given: tuple[str | None, ...] = (),
    ) -> StatementShape:
        """Parameters and columns of a question, before its values are known. Free."""
        return self.planning.describe(sql, search_path, analyst, given)

    def words(self, record: ChargeRecord) -> AskedText | None:
        """What was asked under a charge; None where it was not kept, or was sealed with a key that is not here."""
        if self.question_keys is None or record.sealed_question is None:
            return None
        try:
            return self.question_keys.opened(self.ledger.id, record.number, record.sealed_question)
        except LedgerInvalid:
            return None

    def catalog(self) -> Catalog:
        """What may be asked."""
        return self.planning.catalog

    def workers_alive(self) -> int:
        """How many worker processes there are for questions about private rows."""
        return self.workers.n_alive

    def check_ready(self) -> None:
        """Raises why a query could not be answered: as `Ledger.check_writable` and `Backend.check_schema`."""
        self.ledger.check_writable()
        self.backend.check_schema(self.schema.fingerprint)
