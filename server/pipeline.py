"""The way of a query, from text to answer. One frozen type per arrow; read `find`, then `finish`.

    QueryRequest --parse--> Select --bind--> BoundQuery --plan--> Plan --> Question
      --reserve--> Reservation --rewrite--> BackendQuery --read--> JoinTuples --encode--> CodedJoinTuples
      --truncate--> TruncatedAnswer --release--> NoisyAnswer --commit--> Released --show--> QueryResponse

Everything before `reserve` is public; a Question without releases, `SELECT ward ... GROUP BY ward`, ends there, since
which groups there may be is public, too. Everything between `read` and `release` happens in a worker process
(`measure.py`). A Question whose Released is kept (`server/answers`), or follows from kept ones (`server/reuse`), goes
from the one to the other; one of which some days are kept (`server/periods`) is measured of the other days alone.
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
from planner.binding.placeholders import snapped, substitute
from planner.errors import (
    InvalidSyntax,
    PlannerError,
    SchemaChanged,
    StatementTooComplex,
    UnknownColumn,
    UnknownTable,
    UnsupportedSQL,
)
from planner.expand_views import expanded
from planner.group_domains.day_conditions import day_columns
from planner.parsing.explain import explained
from planner.parsing.parse import Statement, private_select, read_of
from planner.plan import BackendQuery, Plan
from planner.planning.make_plan import make_plan
from planner.planning.person_tables import with_person_tables
from planner.policy.policy import Policy
from planner.public.bind import bind_public
from planner.public.relation import PublicQuery, PublicStatement
from planner.public.route import check_public, names_private_table
from planner.rewriting.rewrite import rewrite, write_public
from planner.schema import Schema
from planner.sensitivity.provenance import provenance
from privacy.noisy_answer import NoisyAnswer
from server.answers.encoding import encoded
from server.answers.kept_answers import KeptAnswers, Wanted
from server.answers.outlines import outline_of
from server.answers.released import Released, alone_if_large
from server.answers.served import Served
from server.backends.backend import Backend, Mirror, MirrorFirst
from server.backends.columns import Domain, has_no_group
from server.errors import (
    BackendConnectionLost,
    BackendFailed,
    BackendUnavailable,
    BudgetExhausted,
    CancelledByClient,
    CancelledEarly,
    LedgerInvalid,
    NoGroups,
    NoProposal,
    QueryCancelled,
    QueryFailed,
    QueryTooExpensive,
    ServerError,
    TooManyQueries,
    WorkerFailed,
)
from server.explain.cannot_pay import cannot_pay
from server.explain.catalog import Catalog, catalog
from server.explain.describe_statement import statement_shape
from server.explain.explanation import explanation, nothing_measured
from server.explain.explanation_text import EXPLANATION, explanation_answer
from server.found import (
    Follows,
    Found,
    Joined,
    Kept,
    ToCompute,
    ToExplain,
    ToFindOut,
    ToList,
    ToMeasure,
    ToRead,
    ToShowNothing,
)
from server.ledger.charge import Charge, ChargeRecord, Reservation
from server.ledger.ledger import Ledger
from server.ledger.question_texts import AskedText, QuestionKeys
from server.lru_cache import LruCache
from server.periods.period_answers import PeriodAnswers
from server.policy.verified_keys import refuse_unchecked
from server.postprocessing.composition import Composer, Composition
from server.postprocessing.computed_response import (
    after_charges,
    composed_explanation,
    computed_response,
    computed_shape,
    relation_rows,
)
from server.proposals import by_accuracy
from server.proposals.accuracy import Accuracy, Proposal
from server.proposals.propose import propose
from server.proposals.relative_errors import expected
from server.query import Budget, Explanation, QueryRequest, QueryResponse, StatementShape
from server.question import Asked, Question
from server.results.public_result import public_explanation, public_response
from server.results.response import cut_by_rule, response, without_groups, without_rows
from server.reuse.derived import Derived
from server.reuse.explained import reuse_explained
from server.reuse.kept_outlines import KeptOutlines
from server.reuse.reusing import Reusing, nothing_follows
from server.scheduling.hold_answer import Holding
from server.scheduling.single_flight import Outage, SingleFlight
from server.workers.group_limits import check_explained, check_groups
from server.workers.measure import groups_of_kinds, measure, plan_measurements
from server.workers.pool import WorkerPool
from server.workers.public_reads import PublicReads
from server.workload.answer_workload import answer_workload, explain_workload
from server.workload.workload import WorkloadExplanation, WorkloadRequest, WorkloadResponse

_ATTEMPTS = 2  # a lost connection is retried once
_PLANNED, _PLANNED_BYTES = 256, 64 << 20  # plans that are remembered

_ON_MIRROR = "The rows are read from the mirror, a copy of the tables, which costs what it does on the database."

_ANEW = "This is another measurement. From now on the question has this answer, free."

_NOTHING_READ = (BackendUnavailable, CancelledEarly, NoGroups, SchemaChanged, StatementTooComplex, TooManyQueries)
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
    mirror: Mirror | None = None
    question_keys: QuestionKeys | None = None
    outage: Outage = field(default_factory=Outage)

    @cached_property
    def kept(self) -> KeptAnswers:
        """The answers that are served again."""
        return KeptAnswers(self.ledger, self.flights)

    @cached_property
    def periods(self) -> PeriodAnswers:
        """The kept answers about closed periods, which are served beside what is measured of the rest."""
        return PeriodAnswers(
            policy=self.policy,
            schema=self.schema,
            ledger=self.ledger,
            kept=self.kept,
            plan=self._part_of_days,
            groups=self.groups,
            measure=self._released,
            together=self.released_together,
            outlines=self.outlines,
        )

    @cached_property
    def outlines(self) -> KeptOutlines:
        """What analysts have paid for, by the outlines of their questions."""
        return KeptOutlines(self.ledger)

    @cached_property
    def reusing(self) -> Reusing:
        """What answers follow from."""
        return Reusing(self.outlines, self.kept)

    @cached_property
    def public_reads(self) -> PublicReads:
        """The workers that read public tables, which no question about private ones waits for."""
        return self.public or PublicReads(self.workers)

    def find(self, request: QueryRequest) -> Found:
        """Look a question up: parsed, planned, its answer looked for among the kept ones. Free, and no row is read.

        Waits for no worker and for no other question.
        Raises: PlannerError; KeyReused and DuplicateRequest; UnknownAnalyst; DataUnchecked.
        """
        if request.by_accuracy:
            return self._found_by_accuracy(request)
        asked = self._asked(request)
        question = self.questions.get(asked)
        if question is None:
            composition = self.compositions.get(asked)
            if composition is not None:
                return ToCompute(composition)
            if explained(request.sql) is not None:
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
        question = None if request.by_accuracy else self.questions.get(self._asked(request))
        return None if question is None else self._found(question, request)

    def _found_by_accuracy(self, request: QueryRequest) -> Found:
        """The question at the epsilon that its accuracy needs; what is free or exact is as ever."""
        found = self._without_accuracy(request)
        if not isinstance(found, Kept | ToMeasure):
            return found
        key = request.idempotency_key
        earlier = self.ledger.charge_of(request.analyst, key) if key else None
        if earlier is not None:  # sent again: what it was answered with, also where that missed what was wished
            sent = replace(by_accuracy.without_accuracy(request), epsilon=earlier.charge.epsilon)
            return self._found(self.question(sent), request)
        choice = by_accuracy.chosen(self, request)
        if isinstance(choice, by_accuracy.FirstPart):
            return ToFindOut(choice, request)
        return self._found(self.question(choice.request), request)

    def _without_accuracy(self, request: QueryRequest) -> Found:
        """What kind of statement it is. Raises: NoProposal for one of several questions."""
        by_accuracy.accuracy_of(request)
        found = self.find(replace(by_accuracy.without_accuracy(request), idempotency_key=""))
        if isinstance(found, ToCompute) and found.composition.parts:
            raise NoProposal(
                "an accuracy is that of one question, and this statement is computed from the answers to"
                f" {len(found.composition.parts)}",
                hint="ask it with an epsilon, or each part alone with the accuracy: what is paid for is free here",
            )
        return self.listed(found, request)

    def listed(self, found: Found, request: QueryRequest, cancelled: threading.Event | None = None) -> Found:
        """What was found; a question with an empty public list of groups shows nothing. Reads public tables.

        A question by itself needs no such look: its groups are read together with its rows. It is for what is
        reserved together with others, or has no epsilon yet.
        """
        if not isinstance(found, ToMeasure) or not any(found.question.query.domains):
            return found
        query = found.question.query
        empty = has_no_group(query, self.groups(query, request.analyst, cancelled))
        return ToShowNothing(found.question, no_group=True) if empty else found

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
        if request.by_accuracy and not isinstance(found, ToExplain):
            plain = by_accuracy.without_accuracy(request)
            return by_accuracy.with_reached(self.finish(found, plain, cancelled), request)
        match found:
            case Kept(question, paid):
                return self.kept.again(paid).response(question, request_id)
            case Follows(question, derived):
                return derived.response(question, self.ledger.budget(analyst), request_id)
            case Joined(answer=answer):
                return answer
            case ToMeasure(question, charge):
                followed, passed_over = self._followed(found, request, cancelled)
                if followed is not found:
                    return self.finish(followed, request, cancelled)
                if request.reuse != "never":
                    divided = self.periods.answer(question, request, cancelled, charge.sealing)
                    if divided is not None:
                        return divided
                measure_anew = partial(self._released, question, charge, cancelled)
                try:
                    served = self.kept.serve(charge, measure_anew, cancelled, question.plan.columns)
                except NoGroups:  # the groups are read with the rows, once, and what was reserved is given back
                    return self.finish(ToShowNothing(question, no_group=True), request, cancelled)
                except (BudgetExhausted, QueryTooExpensive):
                    if isinstance(free := self.listed(found, request, cancelled), ToShowNothing):
                        return self.finish(free, request, cancelled)
                    raise
                answer = served.response(question, request_id)
                if charge.answer_key != question.answer_key:
                    passed_over = _ANEW
                return answer if passed_over is None else replace(answer, notes=(*answer.notes, passed_over))
            case ToList(question):
                domain = self.groups(question.query, analyst, cancelled)
                return response(question.plan, domain, (), self.ledger.budget(analyst), request_id)
            case ToShowNothing(question, no_group):
                shown = without_groups if no_group else without_rows
                return shown(question.plan, self.ledger.budget(analyst), request_id)
            case ToRead(query, statement):
                budget = self.ledger.budget(analyst)
                rows = self.public_reads.rows(self.backend, statement, analyst, cancelled)
                return public_response(query, rows, budget, request_id)
            case ToCompute(composition):
                return self._computed(composition, request, cancelled)
            case ToFindOut(part, whole):
                return by_accuracy.answered_in_two(part, self, whole, partial(self._part_answer, whole, cancelled))
            case ToExplain():
                asked = explained(request.sql)
                form = "text" if asked is None else asked.format
                return explanation_answer(self.explain(request), form, self.ledger.budget(analyst), request_id)

    def explain(self, request: QueryRequest) -> Explanation:
        """What the query would do and cost. Reads public tables at most, charges nothing."""
        asked = explained(request.sql)
        sql = request.sql if asked is None else asked.sql
        if request.by_accuracy:
            return self._explained_by_accuracy(replace(request, sql=sql))
        statement = self._read(request, sql)
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
            told = composed_explanation(composition, [one for one, _ in parts], computed)
            return self._with_cannot_pay(told, [charge for _, charge in parts], request)
        told, charge = self._explained(bound, request)
        return self._with_cannot_pay(told, [charge], request)

    def _with_cannot_pay(
        self, told: Explanation, charges: Sequence[Charge | None], request: QueryRequest
    ) -> Explanation:
        """With how it would be refused now, before it is asked: the accounts of group and dataset pay, too."""
        wanted = {one.answer_key: one for one in charges if one is not None}
        refusal = self.ledger.foreseen(list(wanted.values())) if wanted else None

        def without_delta() -> ServerError | None:
            other = self.explain(replace(request, delta=0.0)).cannot_pay
            return None if other is None else BudgetExhausted(other.message, hint=other.hint)

        return replace(told, cannot_pay=cannot_pay(refusal, told.delta, without_delta))

    def _part_answer(
        self, whole: QueryRequest, cancelled: threading.Event | None, one: QueryRequest
    ) -> QueryResponse:
        """One of the releases of a question by accuracy; it is charged under the name of the whole request."""
        asked = replace(whole, idempotency_key=one.idempotency_key, reuse=one.reuse)
        found = self._found(self.question(one), asked)
        return self.finish(found, by_accuracy.without_accuracy(asked), cancelled)

    def _explained_by_accuracy(self, request: QueryRequest) -> Explanation:
        if not isinstance(self._without_accuracy(request), Kept | ToMeasure):
            return self.explain(by_accuracy.without_accuracy(request))
        choice = by_accuracy.chosen(self, request)
        told = self.explain(choice.request)
        said = by_accuracy.said_before(choice, by_accuracy.accuracy_of(request), follows=told.follows)
        most = by_accuracy.most_charged(choice, told.delta)
        return replace(told, reason=f"{said} {told.reason}", most_epsilon=most[0], most_delta=most[1])

    def _explained(self, bound: BoundQuery, request: QueryRequest) -> tuple[Explanation, Charge | None]:
        """What is said of a question, and what it would be charged; None where it is free."""
        question = self._planned_question(bound, request, self.ledger.data_version())
        plan, rewritten, measuring = question.plan, question.query, question.measuring
        domain = self.groups(rewritten, request.analyst) if plan.group_keys else Domain(())
        n_groups = len(domain)
        persons = with_person_tables(bound, self.schema, self.policy)
        found = provenance(persons.query, persons.schema, persons.policy)
        no_group = has_no_group(rewritten, domain)
        if plan.releases and (no_group or question.shows_no_row):
            return nothing_measured(persons.query, found, plan, n_groups, no_group=no_group), None
        check_explained(plan, rewritten, measuring, n_groups)
        whole = plan_measurements(replace(plan, sampling=None), self.policy)
        source = self._source(question.mirrored, question.data_version)
        if isinstance(source, MirrorFirst):
            plan, rewritten = replace(plan, notes=(*plan.notes, _ON_MIRROR)), source.query
        told = self.periods.told(question, request)
        plan = replace(plan, notes=(*plan.notes, *told))
        kinds = () if rewritten.discovered else groups_of_kinds(plan.kinds, domain)
        explained = explanation(
            persons.query, found, plan, rewritten, measuring.of_kinds(kinds), n_groups, whole, kinds
        )
        derived = self._derived(question, request, domain)
        likely = expected(self.ledger, question, request.analyst)
        told_of = replace(
            explained,
            reuse=reuse_explained(
                derived, question, serves=derived is not None and _is_served(derived, plan.epsilon, request)
            ),
            follows=self._follows(derived, question, request),
            paid=self._is_paid(question, request),
            relative_errors=likely.relative_errors,
            likely_cut=1.0 if cut_by_rule(plan, domain) else likely.cut,
        )
        free = told_of.paid or told_of.follows or question.only_names_groups
        return told_of, None if free else question.charge(replace(request, idempotency_key=""))

    def _follows(self, derived: Derived | None, question: Question, request: QueryRequest) -> bool:
        """Is the answer free because it follows from others?"""
        served = derived is not None and _is_served(derived, question.plan.epsilon, request)
        return served or (_may_follow(request) and self.periods.follows(question, request))

    def _is_paid(self, question: Question, request: QueryRequest) -> bool:
        """Has the analyst paid for this very answer? What is free for everybody is not paid for."""
        if question.shows_no_row or question.only_names_groups or request.reuse == "never":
            return False
        return self.kept.find(question.charge(replace(request, idempotency_key=""))) is not None

    def _derived(self, question: Question, request: QueryRequest, domain: Domain) -> Derived | None:
        """What follows from the paid answers of who asks, to be told of; no answer is given."""
        return self.reusing.find(question, request.analyst, lambda: domain) if _may_follow(request) else None

    def propose(self, request: QueryRequest, accuracy: Accuracy) -> Proposal:
        """The smallest epsilon for an accuracy: from public quantities and what the analyst was told, never a row."""
        return propose(self, request, accuracy)

    @property
    def policy_hash(self) -> str:
        """The hash of the policy in force, as charges and entries carry it."""
        return self.policy.hash

    @property
    def keeps_questions(self) -> bool:
        """Does the ledger keep the words of questions, sealed?"""
        return self.question_keys is not None

    @property
    def delta_of_analyst(self) -> float:
        """What the policy gives a new analyst where no delta is named."""
        return self.policy.delta_of_analyst

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
        return self._catalog

    @cached_property
    def _catalog(self) -> Catalog:
        found = catalog(self.schema, self.policy)
        return replace(found, examples=tuple(one for one in found.examples if self._can_be_asked(one.sql)))

    def _can_be_asked(self, sql: str) -> bool:
        try:
            self.question(QueryRequest("", sql))
        except PlannerError:
            return False
        return True

    def describe(
        self,
        sql: str,
        search_path: tuple[str, ...] | None = None,
        analyst: str = "",
        given: tuple[str | None, ...] = (),
    ) -> StatementShape:
        """Parameters and columns of a question, before its values are known. Free.

        Of what surrounds answers the database knows the columns: it is asked, on the analyst's behalf, over no rows.
        """
        try:
            return statement_shape(sql, self.schema, self.policy, search_path, given)
        except (UnsupportedSQL, InvalidSyntax):
            asked = explained(sql)
            statement = expanded(
                read_of(sql if asked is None else asked.sql, self.policy.name),
                self.schema,
                self.policy,
                search_path,
            )
            found = self._composer.described(statement, search_path, given)
            if found is None:
                raise
            if asked is not None:
                return StatementShape(found.parameters, EXPLANATION, (False,))
            computed = self.public_reads.computed(self.backend, found.statement, analyst, rows=False)
            return computed_shape(found, computed)

    def workers_alive(self) -> int:
        """How many worker processes there are for questions about private rows."""
        return self.workers.n_alive

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

    def _found(self, question: Question, request: QueryRequest, sent: QueryRequest | None = None) -> Found:
        """What becomes of a question of a request; of one that is a part of what was sent, that is told, too."""
        if question.shows_no_row:
            return ToShowNothing(question)
        if question.only_names_groups:
            return ToList(question)
        refuse_unchecked(self.schema, self.ledger)
        charge = question.charge(request)
        if request.reuse == "never":
            charge = self.kept.anew(charge)
        if self.question_keys is not None:
            words = AskedText(request.sql, (sent or request).parameters)
            charge = replace(charge, sealing=self.question_keys.sealing(self.ledger.id, words))
        paid = self.kept.find(charge)
        return ToMeasure(question, charge) if paid is None else Kept(question, paid)

    def followed(self, found: Found, request: QueryRequest, cancelled: threading.Event | None = None) -> Found:
        """What was found; instead of a question to be measured what follows from paid answers, if that is as good."""
        return self._followed(found, request, cancelled)[0]

    def _followed(
        self, found: Found, request: QueryRequest, cancelled: threading.Event | None
    ) -> tuple[Found, str | None]:
        """What was found; instead of a question to be measured what follows from paid answers, if that is as good.

        Returns: beside it what to say of an answer that follows and is passed over, being less accurate; or None.
        Raises: NothingFollows where only that is wanted.
        """
        if not isinstance(found, ToMeasure) or not _may_follow(request):
            return found, None
        question = found.question
        again = self._found(question, request)  # it may have waited long, and be kept by now
        if not isinstance(again, ToMeasure):
            return again, None
        groups = partial(self._groups, question, request.analyst, cancelled)
        derived = self.reusing.find(question, request.analyst, groups)
        if derived is not None and _is_served(derived, question.plan.epsilon, request):
            return Follows(question, derived), None
        joined = self.periods.free(question, request, cancelled)
        if joined is not None:
            return Joined(question, joined), None
        if request.reuse == "only":
            raise nothing_follows(question)
        return found, None if derived is None else derived.passed_over()

    def _groups(self, question: Question, analyst: str, cancelled: threading.Event | None) -> Domain:
        """The groups of a question whose keys are public; the one without GROUP BY."""
        return self.groups(question.query, analyst, cancelled) if question.plan.group_keys else Domain(())

    def _asked(self, request: QueryRequest) -> Asked:
        now = snapped(self.clock(), self.policy.time_grain, request.zone)
        return Asked.of(request, now, self.ledger.data_version(), self.policy.hash, self.schema.fingerprint)

    def _question(self, statement: Statement, request: QueryRequest, data_version: int) -> Question:
        return self._planned_question(self._bound(statement, request), request, data_version)

    def _part_of_days(
        self, bound: BoundQuery, request: QueryRequest, data_version: int, query: BackendQuery | None = None
    ) -> Question:
        """A question of some days; with the query of the same one at another epsilon, to see how wide it would be."""
        return self._planned_question(bound, request, data_version, query=query)

    def _planned_question(
        self,
        bound: BoundQuery,
        request: QueryRequest,
        data_version: int,
        policy: Policy | None = None,
        query: BackendQuery | None = None,
    ) -> Question:
        plan = self._planned(bound, request, policy)
        measuring = plan_measurements(plan, self.policy)
        mirrored = None if self.mirror is None or query is not None else self.mirror.query(plan)
        if query is None:
            query = rewrite(plan, dialect=self.backend.dialect, schema=self.schema)
        grain = self.policy.time_grain
        return Question.of(
            plan,
            query,
            measuring,
            time_grain=grain,
            data_version=data_version,
            mirrored=mirrored,
            day_columns=day_columns(bound, self.policy),
            bound=bound,
        )

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
        return bind(select, self.schema, self.policy, self.clock(), request.search_path, request.zone)

    def _computed(
        self, composition: Composition, request: QueryRequest, cancelled: threading.Event | None
    ) -> QueryResponse:
        """Release the answers, all of them reserved before the first is measured, and compute with them."""
        parts = self.parts_found(composition, request, cancelled)
        with after_charges() as charged:
            parts = self._with_kept_days(composition, parts, request, charged, cancelled)
            wanted = [one for one in parts if isinstance(one, ToMeasure)]
            served = self.released_together(wanted, charged, cancelled)
            return self.compute_from(composition, parts, served, request, cancelled)

    def parts_found(
        self, composition: Composition, request: QueryRequest, cancelled: threading.Event | None = None
    ) -> list[Found]:
        """What each part of a composed statement is; what surrounds them is tried over no rows. Free."""
        asked = [(part, part.of(request)) for part in composition.parts]
        found = [self._followed(self._found(part.question, one, request), one, cancelled)[0] for part, one in asked]
        found = [self.listed(one, request, cancelled) for one in found]
        if any(isinstance(one, ToMeasure) for one in found):
            statement = composition.statement
            self.public_reads.computed(self.backend, statement, request.analyst, cancelled, rows=False)
        return found

    def _with_kept_days(
        self,
        composition: Composition,
        parts: list[Found],
        request: QueryRequest,
        charged: list[str],
        cancelled: threading.Event | None,
    ) -> list[Found]:
        """The only part that is to be measured, where days of it are kept: measured in part, and put together.

        Several parts that are to be measured are reserved together, each as a whole.
        """
        keys = {one.charge.answer_key for one in parts if isinstance(one, ToMeasure)}
        if len(keys) != 1 or request.reuse == "never":
            return parts
        place = next(place for place, one in enumerate(parts) if isinstance(one, ToMeasure))
        part, found = composition.parts[place], parts[place]
        assert isinstance(found, ToMeasure), "it was looked for"
        answer = self.periods.answer(found.question, part.of(request), cancelled, found.charge.sealing)
        if answer is None:
            return parts
        if answer.epsilon:
            charged.append(found.charge.answer_key)
        return [Joined(found.question, answer) if isinstance(one, ToMeasure) else one for one in parts]

    def released_together(
        self, wanted: Sequence[ToMeasure], charged: list[str], cancelled: threading.Event | None
    ) -> dict[str, Served]:
        """Reserve every charge, then measure: all or nothing of what the budget must hold.

        Args:
          wanted: the questions.
          charged: where the answer key of each is noted once it is charged.
          cancelled: ends waits early.
        Returns: what is served, by answer key.
        """
        parts = [
            Wanted(
                one.charge,
                partial(self._check_claim, one.question, one.charge, cancelled),
                partial(self._released_under, one.question, cancelled),
                one.question.plan.columns,
            )
            for one in wanted
        ]
        there = partial(self.backend.check_schema, self.schema.fingerprint)
        with self.outage.watched(there, cancelled):
            together = self.kept.serve_together(parts, charged, cancelled)
        return {one.charge.answer_key: served for one, served in zip(wanted, together, strict=True)}

    def compute_from(
        self,
        composition: Composition,
        parts: Sequence[Found],
        served: Mapping[str, Served],
        request: QueryRequest,
        cancelled: threading.Event | None,
    ) -> QueryResponse:
        """What is computed from answers: from those that were released together, by answer key, the others as ever.

        Args:
          composition: what is asked.
          parts: by `parts_found`.
          served: by `released_together`.
          request: the whole statement's.
          cancelled: ends waits early.
        """
        answers = [
            served[one.charge.answer_key].response(one.question, request.request_id)
            if isinstance(one, ToMeasure)
            else self.finish(one, part.of(request), cancelled)
            for part, one in zip(composition.parts, parts, strict=True)
        ]
        rows = {
            part.relation: relation_rows(part.question, answer)
            for part, answer in zip(composition.parts, answers, strict=True)
        }
        computed = self.public_reads.computed(
            self.backend, composition.statement.with_rows(rows), request.analyst, cancelled
        )
        budget = self.ledger.budget(request.analyst)
        return computed_response(composition, answers, computed, budget, request.request_id)

    def workload(self, request: WorkloadRequest, cancelled: threading.Event | None = None) -> WorkloadResponse:
        """Answer many questions under one reservation, all or nothing (`server.workload.answer_workload`)."""
        return answer_workload(self, request, cancelled)

    def explain_workload(self, request: WorkloadRequest) -> WorkloadExplanation:
        """What a workload would measure and cost. Reads public tables at most, charges nothing."""
        return explain_workload(self, request)

    def bound(self, request: QueryRequest) -> BoundQuery:
        """Parse and bind a query over private tables."""
        return self._bound(self._read(request), request)

    def planned(self, bound: BoundQuery, request: QueryRequest, policy: Policy | None = None) -> Question:
        """Plan a bound query, with the request's settings; `policy`: the one in force, or one beside it."""
        return self._planned_question(bound, request, self.ledger.data_version(), policy)

    def _check_claim(self, question: Question, charge: Charge, cancelled: threading.Event | None) -> None:
        groups = partial(self.groups, analyst=charge.analyst, cancelled=cancelled)
        check_groups(question.plan, question.query, question.measuring, groups)
        refuse_unchecked(self.schema, self.ledger)

    def _bound(self, statement: Statement, request: QueryRequest) -> BoundQuery:
        """Bind a statement whose placeholders are written as the values that came with it."""
        select = substitute(private_select(statement), request.parameters)
        return bind(select, self.schema, self.policy, self.clock(), request.search_path, request.zone)

    def _names_private_table(self, statement: Statement, request: QueryRequest) -> bool:
        return names_private_table(statement.tree, self.schema, self.policy, request.search_path)

    def _public_query(self, request: QueryRequest, statement: Statement) -> tuple[PublicQuery, PublicStatement]:
        check_public(statement)
        tree = substitute(statement.tree, request.parameters)
        query = bind_public(tree, self.schema, self.policy, self.clock(), request.search_path, request.zone)
        return query, write_public(query, dialect=self.backend.dialect)

    def _planned(self, bound: BoundQuery, request: QueryRequest, policy: Policy | None = None) -> Plan:
        return make_plan(
            bound,
            self.schema,
            policy or self.policy,
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
            released = replace(released, outline=outline_of(question, released))
            with alone_if_large(released.n_values):
                kept = encoded(released)
        except BaseException as error:
            self.ledger.fail(reservation)
            raise _charged_failure(reservation, error) from error
        return released, self.ledger.commit(reservation, kept)

    def _source(self, mirrored: BackendQuery | None, data_version: int) -> Backend | MirrorFirst:
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
        holding = Holding(question.plan.times.first_s, cancelled, last_s=question.plan.times.last_s)
        for count in range(1, _ATTEMPTS + 1):
            try:
                source = self._source(question.mirrored, question.data_version)
                owner, call = reservation.charge.analyst, (source, question.query, question.measuring)
                limit_s = holding.limit_s
                measured = self.workers.call(
                    measure, *call, cancelled=cancelled, owner=owner, limit_s=limit_s, begin=holding.begin
                )
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


def _may_follow(request: QueryRequest) -> bool:
    """May the answer follow from others? Who names a mechanism means that one, unless nothing is to be measured."""
    return request.reuse == "only" or (request.reuse == "auto" and request.mechanism is None)


def _is_served(derived: Derived, epsilon: float, request: QueryRequest) -> bool:
    """Is what follows given in place of a new answer?"""
    return request.reuse == "only" or derived.serves(epsilon, as_accurate=request.as_accurate)


def _charged_failure(reservation: Reservation, error: BaseException) -> QueryFailed:
    """The one error of whatever goes wrong once private rows could have been read; which one it was is logged."""
    kind = type(error)
    advice = next((_ADVICE[one] for one in kind.__mro__ if one in _ADVICE), None)
    _log.error("failed after its charge", request_id=reservation.charge.request_id, kind=kind.__name__, advice=advice)
    return QueryFailed("the query could not be finished; it was charged")
