"""The way of a query, from text to answer. One frozen type per arrow; read `find`, then `finish`.

    QueryRequest --parse--> Select --bind--> BoundQuery --plan--> Plan --> Question
      --reserve--> Reservation --rewrite--> BackendQuery --read--> JoinTuples --encode--> CodedJoinTuples
      --truncate--> TruncatedAnswer --release--> NoisyAnswer --commit--> Released --show--> QueryResponse

Everything before `reserve` is public; a Question without releases, `SELECT ward ... GROUP BY ward`, ends there, since
which groups there may be is public, too. Everything between `read` and `release` happens in a worker process
(`measure.py`). A Question whose Released is kept (`server/answers`) goes from the one to the other.
A statement that is not one question is split: its questions go this way, all of them reserved before the first is
read, and the database computes the rest from their answers, for free:

    Statement --compose--> Composition --(each part as above)--> QueryResponses --compute--> QueryResponse

A query that names public tables only takes a way of its own, with no reservation, no noise and no charge:

    QueryRequest --read--> Statement --bind_public--> PublicQuery --write--> PublicStatement --public--> QueryResponse
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, partial

import structlog
from sqlglot import exp

from planner.binding.bind import bind
from planner.binding.bound_query import BoundQuery
from planner.binding.clock import snapped
from planner.binding.placeholders import substitute
from planner.errors import (
    InvalidSyntax,
    PlannerError,
    SchemaChanged,
    StatementTooComplex,
    UnknownColumn,
    UnknownTable,
    UnsupportedSQL,
)
from planner.parsing.own_database import read_of
from planner.parsing.parse import Statement, explained_statement, private_select
from planner.parsing.syntax.queries import check_syntax
from planner.plan import BackendQuery, Plan
from planner.planning.make_plan import make_plan
from planner.planning.person_tables import with_person_tables
from planner.policy.policy import Policy
from planner.public.bind import bind_public
from planner.public.grammar import check_public_grammar
from planner.public.query import PublicQuery, PublicStatement
from planner.public.route import names_private_table
from planner.rewriting.rewrite import rewrite
from planner.rewriting.write_public import write_public
from planner.schema import Schema
from planner.sensitivity.provenance import provenance
from planner.views.expand import expanded
from privacy.noisy_answer import NoisyAnswer
from server.answers.encoding import encoded
from server.answers.kept_answers import KeptAnswers, Wanted
from server.answers.released import Released, alone_if_large
from server.backends.backend import Backend
from server.backends.columns import Domain
from server.backends.mirror.mirror import Mirror, MirrorFirst
from server.errors import (
    BackendConnectionLost,
    BackendFailed,
    BackendUnavailable,
    CancelledByClient,
    CancelledEarly,
    QueryCancelled,
    QueryFailed,
    TooManyQueries,
    WorkerFailed,
)
from server.explain.catalog import Catalog, catalog
from server.explain.describe_statement import statement_shape
from server.explain.explanation import explanation
from server.explain.explanation_text import EXPLANATION, explanation_answer
from server.found import Found, Kept, ToCompute, ToExplain, ToList, ToMeasure, ToRead, ToShowNothing
from server.ledger.charge import Charge, Reservation
from server.ledger.ledger import Ledger
from server.policy.verified_keys import refuse_unchecked
from server.postprocessing.composition import Composer, Composition
from server.postprocessing.computed_response import (
    after_charges,
    composed_explanation,
    computed_response,
    computed_shape,
    relation_rows,
)
from server.proposals.accuracy import Accuracy, Proposal
from server.proposals.propose import propose
from server.query import Budget, Explanation, QueryRequest, QueryResponse, StatementShape
from server.question import Asked, Question
from server.results.public_result import public_explanation, public_response
from server.results.response import response, without_rows
from server.scheduling.circuit_breaker import Outage
from server.scheduling.hold_answer import Holding
from server.scheduling.lru_cache import LruCache
from server.scheduling.single_flight import SingleFlight
from server.workers.group_limits import check_explained, check_groups
from server.workers.groups_of_kinds import groups_of_kinds
from server.workers.measure import measure, plan_measurements
from server.workers.pool import WorkerPool
from server.workers.public_reads import PublicReads

_ATTEMPTS = 2  # a lost connection is retried once
_PLANNED, _PLANNED_BYTES = 256, 64 << 20  # plans that are remembered

_ON_MIRROR = "The rows are read from the mirror, a copy of the tables, which costs what it does on the database."

_NOTHING_READ = (BackendUnavailable, CancelledEarly, SchemaChanged, StatementTooComplex, TooManyQueries)
"""What is raised only before the first private row is read; of workers, before one has begun (`worker.py`)."""

_ADVICE: Mapping[type[BaseException], str] = {
    BackendFailed: "the database refused a statement, or its files changed meanwhile: see its own log",
    BackendConnectionLost: "the database ended the connection: see its own log",
    QueryCancelled: "over a limit of time, rows or memory: seconds, rows and memory_mb in [database] of the policy",
    WorkerFailed: "a worker process failed: lines that begin with `worker:` say where; did the system lack memory?",
}
"""What a custodian is told to look at, by the kind of failure alone; an analyst hears of none of it."""

_log = structlog.get_logger("noisegate.pipeline")


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
    mirror: Mirror | None = None
    outage: Outage = field(default_factory=Outage)

    @cached_property
    def kept(self) -> KeptAnswers:
        """The answers that are served again."""
        return KeptAnswers(self.ledger, self.flights)

    @cached_property
    def public_reads(self) -> PublicReads:
        """The workers that read public tables, which no question about private ones waits for."""
        return self.public or PublicReads(self.workers)

    def find(self, request: QueryRequest) -> Found:
        """Look a question up: parsed, planned, its answer looked for among the kept ones. Free, and no row is read.

        Waits for no worker and for no other question.
        Raises: PlannerError; KeyReused and DuplicateRequest; UnknownAnalyst; DataUnchecked.
        """
        asked = self._asked(request)
        question = self.questions.get(asked)
        if question is None:
            composition = self.compositions.get(asked)
            if composition is not None:
                return ToCompute(composition)
            if explained_statement(request.sql) is not None:
                return ToExplain()
            statement = self._read(request)
            try:
                if not self._names_private_table(statement, request):
                    return ToRead(*self._public_query(request, statement))
                question = self._question(statement, request, asked.data_version)
            except (UnsupportedSQL, InvalidSyntax) as refusal:
                return ToCompute(self.compositions.put(asked, self._composed(statement, request, refusal)))
            self.questions.put(asked, question)
        return self._found(question, request)

    def find_planned(self, request: QueryRequest) -> Found | None:
        """What `find` returns, if that takes a few reads of the ledger: of a question planned lately, else None."""
        question = self.questions.get(self._asked(request))
        return None if question is None else self._found(question, request)

    def finish(self, found: Found, request: QueryRequest, cancelled: threading.Event | None = None) -> QueryResponse:
        """Answer what was looked up, and charge for it; all but what is measured is free.

        Args:
          found: by `find`, for this request.
          cancelled: set by whoever does not want the answer any more.
        Raises: PlannerError, TooManyFailures, TooManyQueries, BackendUnavailable, DataUnchecked, DuplicateRequest and
          CancelledEarly, none of them charged; BudgetExhausted and QueryTooExpensive; CancelledByClient, charged;
          QueryFailed, charged, for whatever else happens once private rows could have been read; PublicQueryFailed,
          ComputationFailed and TooManyFailures, free, of queries over public tables.
        """
        analyst, request_id = request.analyst, request.request_id
        match found:
            case Kept(question, paid):
                return self.kept.again(paid).response(question, request_id)
            case ToMeasure(question, charge):
                measure_anew = partial(self._released, question, charge, cancelled)
                served = self.kept.serve(charge, measure_anew, cancelled, question.plan.columns)
                return served.response(question, request_id)
            case ToList(question):
                domain = self.groups(question.query, analyst, cancelled)
                return response(question.plan, domain, (), self.ledger.budget(analyst), request_id)
            case ToShowNothing(question):
                return without_rows(question.plan, self.ledger.budget(analyst), request_id)
            case ToRead(query, statement):
                budget = self.ledger.budget(analyst)
                rows = self.public_reads.rows(self.backend, statement, analyst, cancelled)
                return public_response(query, rows, budget, request_id)
            case ToCompute(composition):
                return self._computed(composition, request, cancelled)
            case ToExplain():
                return explanation_answer(self.explain(request), self.ledger.budget(analyst), request_id)

    def explain(self, request: QueryRequest) -> Explanation:
        """What the query would do and cost. Reads public tables at most, charges nothing."""
        explained = explained_statement(request.sql)
        statement = self._read(request, explained)
        try:
            if not self._names_private_table(statement, request):
                query, written = self._public_query(request, statement)
                return public_explanation(query, written)
            bound = self._bound(statement, request)
        except (UnsupportedSQL, InvalidSyntax) as refusal:
            composition = self._composed(statement, request, refusal)
            parts = [
                self._explained(self._part_bound(part.select, asked), asked)
                for part, asked in ((part, part.of(request)) for part in composition.parts)
            ]
            computed = self.public_reads.computed(self.backend, composition.statement, request.analyst, rows=False)
            return composed_explanation(composition, parts, computed)
        return self._explained(bound, request)

    def _explained(self, bound: BoundQuery, request: QueryRequest) -> Explanation:
        plan = self._planned(bound, request)
        rewritten = rewrite(plan, dialect=self.backend.dialect, schema=self.schema)
        domain = self.groups(rewritten, request.analyst) if plan.group_keys else Domain(())
        n_groups = len(domain)
        measuring = plan_measurements(plan, self.policy)
        check_explained(plan, rewritten, measuring, n_groups)
        persons = with_person_tables(bound, self.schema, self.policy)
        found = provenance(persons.query, persons.schema, persons.policy)
        whole = plan_measurements(replace(plan, sampling=None), self.policy)
        mirrored = None if self.mirror is None else self.mirror.query(plan)
        source = self._source(mirrored, self.ledger.data_version())
        if isinstance(source, MirrorFirst):
            plan, rewritten = replace(plan, notes=(*plan.notes, _ON_MIRROR)), source.query
        kinds = () if rewritten.discovered else groups_of_kinds(plan.kinds, domain)
        return explanation(persons.query, found, plan, rewritten, measuring.of_kinds(kinds), n_groups, whole, kinds)

    def propose(self, request: QueryRequest, accuracy: Accuracy) -> Proposal:
        """The smallest epsilon for an accuracy: from public quantities and what the analyst was told, never a row."""
        return propose(self, request, accuracy)

    @property
    def policy_hash(self) -> str:
        """The hash of the policy in force, as charges and entries carry it."""
        return self.policy.hash

    @property
    def delta_of_analyst(self) -> float:
        """What the policy gives a new analyst where no delta is named."""
        return self.policy.delta_of_analyst

    def catalog(self) -> Catalog:
        """What may be asked."""
        return self._catalog

    @cached_property
    def _catalog(self) -> Catalog:
        return catalog(self.schema, self.policy)

    def describe(self, sql: str, search_path: tuple[str, ...] | None = None, analyst: str = "") -> StatementShape:
        """Parameters and columns of a question, before its values are known. Free.

        Of what surrounds answers the database knows the columns: it is asked, on the analyst's behalf, over no rows.
        """
        try:
            return statement_shape(sql, self.schema, self.policy, search_path)
        except (UnsupportedSQL, InvalidSyntax):
            explained = explained_statement(sql)
            statement = expanded(
                read_of(sql if explained is None else explained, self.policy.name),
                self.schema,
                self.policy,
                search_path,
            )
            found = self._composer.described(statement, search_path)
            if found is None:
                raise
            if explained is not None:
                return StatementShape(found.parameters, EXPLANATION, (False,))
            computed = self.public_reads.computed(self.backend, found.statement, analyst, rows=False)
            return computed_shape(found, computed)

    def check_ready(self) -> None:
        """Raises why a query could not be answered: as `Ledger.check_writable` and `Backend.check_schema`."""
        self.ledger.check_writable()
        self.backend.check_schema(self.schema.fingerprint)

    def question(self, request: QueryRequest) -> Question:
        """Parse, bind and plan a query over private tables."""
        return self._question(self._read(request), request, self.ledger.data_version())

    def groups(self, query: BackendQuery, analyst: str, cancelled: threading.Event | None = None) -> Domain:
        """The public groups of a query, found on an analyst's behalf. Free."""
        return self.public_reads.domain(self.backend, query, analyst, cancelled)

    def _read(self, request: QueryRequest, sql: str | None = None) -> Statement:
        """The request's statement, or `sql` of it, in which every view is the subquery that it stands for."""
        statement = read_of(request.sql if sql is None else sql, self.policy.name)
        return expanded(statement, self.schema, self.policy, request.search_path)

    def _found(self, question: Question, request: QueryRequest) -> Found:
        if question.shows_no_row:
            return ToShowNothing(question)
        if question.only_names_groups:
            return ToList(question)
        refuse_unchecked(self.schema, self.ledger)
        charge = question.charge(request)
        paid = self.kept.find(charge)
        return ToMeasure(question, charge) if paid is None else Kept(question, paid)

    def _asked(self, request: QueryRequest) -> Asked:
        now = snapped(self.clock(), self.policy.time_grain)
        return Asked.of(request, now, self.ledger.data_version(), self.policy.hash, self.schema.fingerprint)

    def _question(self, statement: Statement, request: QueryRequest, data_version: int) -> Question:
        return self._planned_question(self._bound(statement, request), request, data_version)

    def _planned_question(self, bound: BoundQuery, request: QueryRequest, data_version: int) -> Question:
        plan = self._planned(bound, request)
        measuring = plan_measurements(plan, self.policy)
        query = rewrite(plan, dialect=self.backend.dialect, schema=self.schema)
        mirrored = None if self.mirror is None else self.mirror.query(plan)
        grain = self.policy.time_grain
        return Question.of(plan, query, measuring, time_grain=grain, data_version=data_version, mirrored=mirrored)

    def _composed(self, statement: Statement, request: QueryRequest, refusal: PlannerError) -> Composition:
        """The statement as a composition of answers. Raises the refusal of it as one question where it is none."""
        try:
            composition = self._composer.compose(statement, request, self.clock())
        except (UnknownColumn, UnknownTable):
            raise refusal from None  # a part that names what stands around it is no question of its own
        if composition is None:
            raise refusal
        return composition

    @cached_property
    def _composer(self) -> Composer:
        return Composer(self.policy, self.schema, self.backend.dialect, self._part)

    def _part(self, select: exp.Select, request: QueryRequest) -> Question:
        return self._planned_question(self._part_bound(select, request), request, self.ledger.data_version())

    def _part_bound(self, select: exp.Select, request: QueryRequest) -> BoundQuery:
        return bind(select, self.schema, self.policy, self.clock(), request.search_path)

    def _computed(
        self, composition: Composition, request: QueryRequest, cancelled: threading.Event | None
    ) -> QueryResponse:
        """Release the answers, all of them reserved before the first is measured, and compute with them.

        What surrounds them is tried over no rows before anything is charged.
        """
        analyst = request.analyst
        compute = partial(self.public_reads.computed, self.backend, analyst=analyst, cancelled=cancelled)
        found = [self._found(part.question, part.of(request)) for part in composition.parts]
        if any(isinstance(one, ToMeasure) for one in found):
            compute(composition.statement, rows=False)
        with after_charges() as charged:
            answers = self._answers(composition, found, request, charged, cancelled)
            rows = {
                part.relation: relation_rows(part.question, answer)
                for part, answer in zip(composition.parts, answers, strict=True)
            }
            computed = compute(composition.statement.with_rows(rows))
        budget = self.ledger.budget(analyst)
        return computed_response(composition, answers, computed, budget, request.request_id)

    def _answers(
        self,
        composition: Composition,
        found: Sequence[Found],
        request: QueryRequest,
        charged: list[str],
        cancelled: threading.Event | None,
    ) -> list[QueryResponse]:
        """The answers to the parts: those to be measured together, the others as ever.

        Args:
          composition: what is asked.
          found: of each part.
          request: the whole statement's.
          charged: where the answer key of a part is noted once it is charged.
          cancelled: ends waits early.
        """
        wanted = {
            part.relation: Wanted(
                one.charge,
                partial(self._check_claim, one.question, one.charge, cancelled),
                partial(self._released_under, one.question, cancelled),
                one.question.plan.columns,
            )
            for part, one in zip(composition.parts, found, strict=True)
            if isinstance(one, ToMeasure)
        }
        there = partial(self.backend.check_schema, self.schema.fingerprint)
        with self.outage.watched(there, cancelled):
            together = self.kept.serve_together(list(wanted.values()), charged, cancelled)
        served = dict(zip(wanted, together, strict=True))
        return [
            served[part.relation].response(part.question, request.request_id)
            if part.relation in served
            else self.finish(one, part.of(request), cancelled)
            for part, one in zip(composition.parts, found, strict=True)
        ]

    def _check_claim(self, question: Question, charge: Charge, cancelled: threading.Event | None) -> None:
        groups = partial(self.groups, analyst=charge.analyst, cancelled=cancelled)
        check_groups(question.plan, question.query, question.measuring, groups)
        refuse_unchecked(self.schema, self.ledger)

    def _bound(self, statement: Statement, request: QueryRequest) -> BoundQuery:
        """Bind a statement whose placeholders are written as the values that came with it."""
        select = substitute(private_select(statement), request.parameters)
        return bind(select, self.schema, self.policy, self.clock(), request.search_path)

    def _names_private_table(self, statement: Statement, request: QueryRequest) -> bool:
        return names_private_table(statement.tree, self.schema, self.policy, request.search_path)

    def _public_query(self, request: QueryRequest, statement: Statement) -> tuple[PublicQuery, PublicStatement]:
        check_public_grammar(statement.tree, statement.tokens)
        check_syntax(statement.lexemes)
        tree = substitute(statement.tree, request.parameters)
        query = bind_public(tree, self.schema, self.policy, self.clock(), request.search_path)
        return query, write_public(query, dialect=self.backend.dialect)

    def _planned(self, bound: BoundQuery, request: QueryRequest) -> Plan:
        return make_plan(
            bound,
            self.schema,
            self.policy,
            epsilon=request.epsilon,
            delta=request.delta,
            mechanism=request.mechanism,
            sampling_rate=request.sampling_rate,
            nobody_adds_more_than=request.nobody_adds_more_than,
        )

    def _released(
        self, question: Question, charge: Charge, cancelled: threading.Event | None
    ) -> tuple[Released, Budget] | None:
        """Charge, measure, and keep what was released with its charge; None where another proxy is at it."""
        groups = partial(self.groups, analyst=charge.analyst, cancelled=cancelled)
        check_groups(question.plan, question.query, question.measuring, groups)
        there = partial(self.backend.check_schema, question.query.fingerprint)
        with self.outage.watched(there, cancelled):
            refuse_unchecked(self.schema, self.ledger)  # it may have waited long
            reservation = self.ledger.claim(charge)
            if reservation is None:
                return None
            return self._released_under(question, cancelled, reservation)

    def _released_under(
        self, question: Question, cancelled: threading.Event | None, reservation: Reservation
    ) -> tuple[Released, Budget]:
        """Measure, and keep what was released with its charge."""
        released = Released(*self._measured(reservation, question, cancelled))
        try:
            with alone_if_large(released.n_values):
                kept = encoded(released)
        except BaseException as error:
            self.ledger.fail(reservation)
            raise _charged_failure(reservation, error) from error
        return released, self.ledger.commit(reservation, kept)

    def _source(self, mirrored: BackendQuery | None, data_version: int) -> Backend:
        """Where a question's rows are read: the mirror while it is current and can be asked, else the database."""
        if self.mirror is None or mirrored is None:
            return self.backend
        return self.mirror.source(mirrored, data_version, self.backend)

    def _measured(
        self,
        reservation: Reservation,
        question: Question,
        cancelled: threading.Event | None,
    ) -> tuple[Domain, tuple[NoisyAnswer, ...]]:
        """Measure in a worker under one reservation, which is given back only if nothing private was read.

        After that every failure is the same QueryFailed to the analyst; which one it was stands in the log. Where the
        join may explode, both leave at a public moment, and the ledger says no sooner that the question has ended.
        """
        holding = Holding(question.plan.first_moment_s, cancelled)
        for count in range(1, _ATTEMPTS + 1):
            try:
                source = self._source(question.mirrored, question.data_version)
                owner, call = reservation.charge.analyst, (source, question.query, question.measuring)
                measured = self.workers.call(measure, *call, cancelled=cancelled, owner=owner)
                holding.until_moment()
                return measured
            except BaseException as error:
                if isinstance(error, _NOTHING_READ) and count == 1:
                    self.ledger.release(reservation)
                    raise
                if isinstance(error, BackendConnectionLost) and count < _ATTEMPTS:
                    continue
                ended = holding.ended(error)
                self.ledger.fail(reservation, cancelled=isinstance(ended, CancelledByClient))
                if isinstance(ended, CancelledByClient):
                    raise ended from None  # when it ended was the analyst's choice and says nothing
                raise _charged_failure(reservation, error) from error
        raise AssertionError("the last attempt returns or raises")


def _charged_failure(reservation: Reservation, error: BaseException) -> QueryFailed:
    """The one error of whatever goes wrong once private rows could have been read; which one it was is logged."""
    kind = type(error)
    advice = next((_ADVICE[one] for one in kind.__mro__ if one in _ADVICE), None)
    _log.error("failed after its charge", request_id=reservation.charge.request_id, kind=kind.__name__, advice=advice)
    return QueryFailed("the query could not be finished; it was charged")
