"""Execute the work that was decided: reserve all charges, measure, combine, show.

    Work --reserve--> Reservations --read--> JoinTuples --encode--> CodedJoinTuples
      --truncate--> TruncatedAnswer --release--> NoisyAnswer --commit--> Released --show--> QueryResponse

Everything between `read` and `release` happens in a worker process (`server/workers/measure.py`).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import structlog

from planner.errors import SchemaChanged, StatementTooComplex
from planner.postprocessing.write_outer import OuterStatement
from planner.public.relation import PublicStatement
from privacy.noisy_answer import NoisyAnswer
from server.answers.cached_answers import Served, Wanted
from server.answers.decide import Deciding
from server.answers.encoding import encoded
from server.answers.grid_answers import estimated_response
from server.answers.periods.summed_response import summed_response
from server.answers.proposals import by_accuracy
from server.answers.released import Released, alone_if_large, outline_of
from server.answers.reusing import not_derivable
from server.answers.work import (
    Cached,
    Compose,
    Derived,
    Estimated,
    Explain,
    ListGroups,
    Measure,
    ShowNothing,
    Summed,
    Within,
    Work,
    measures,
)
from server.backends.columns import Domain
from server.backends.public_rows import Computed
from server.errors import (
    BackendConnectionLost,
    BackendFailed,
    BackendUnavailable,
    BudgetExhausted,
    CancelledByClient,
    CancelledEarly,
    NoGroups,
    QueryCancelled,
    QueryFailed,
    QueryTooExpensive,
    TooManyQueries,
    WorkerFailed,
)
from server.ledger.charge import Charge, Reservation
from server.policy.verified_keys import refuse_unchecked
from server.postprocessing.composition import ComposedPart
from server.postprocessing.computed_response import after_charges, computed_response, relation_rows
from server.query import Budget, QueryRequest, QueryResponse
from server.question import Question
from server.results.public_result import public_response
from server.results.response import response, without_groups, without_rows
from server.scheduling.hold_answer import Holding
from server.scheduling.single_flight import Outage
from server.workers.group_limits import check_groups
from server.workers.measure import measure
from server.workers.pool import WorkerPool

_ATTEMPTS = 2  # a lost connection is retried once

_ANEW = "This is a new measurement. Asked again, the question returns it free of charge."

_NOTHING_READ = (BackendUnavailable, CancelledEarly, NoGroups, SchemaChanged, StatementTooComplex, TooManyQueries)
"""Errors that are raised only before the first private row is read."""

_ADVICE: Mapping[type[BaseException], str] = {
    BackendFailed: "the database refused a statement, or its files changed: see the database's log",
    BackendConnectionLost: "the database ended the connection: see the database's log",
    QueryCancelled: "a limit of [database] in the policy was exceeded: seconds, rows or memory_mb",
    WorkerFailed: "a worker process failed, perhaps for lack of memory: see the log lines that begin with `worker:`",
}
"""What the log advises the administrator, by the kind of failure alone. An analyst sees none of it."""

_log = structlog.get_logger("noisegate.pipeline")

Cancelled = threading.Event | None


@dataclass(frozen=True)
class Running:
    """Execute work under one policy.

    Attributes:
      deciding: has decided it, and is asked again where the public list of groups was read with the rows.
      workers: read and solve private rows.
      outage: remembers whether the database was reachable.
    """

    deciding: Deciding
    workers: WorkerPool
    outage: Outage

    def run(self, work: Work, request: QueryRequest, cancelled: Cancelled = None) -> QueryResponse:
        """Execute work, and charge for what is measured.

        Raises: as `Pipeline.finish`.
        """
        if isinstance(work, Within):
            return self._within(work, request, cancelled)
        wanted = measures(work)
        check_free(wanted, request)
        if isinstance(work, Measure):
            return self._measured_alone(work, request, cancelled)
        with after_charges() as charged:
            return self.show(work, self.served(wanted, charged, cancelled), request, cancelled)

    def served(self, wanted: Mapping[str, Measure], charged: list[str], cancelled: Cancelled) -> dict[str, Served]:
        """Reserve every charge, then measure. Without budget for all of them, nothing is charged.

        Args:
          charged: receives each answer key once it is charged.
        Returns: what is served, by answer key.
        """
        parts = [
            Wanted(
                one.charge,
                partial(self._check, one.question, one.charge, cancelled),
                partial(self._released, one, cancelled),
            )
            for one in wanted.values()
        ]
        return self.deciding.cached.serve(parts, charged, cancelled)

    def show(
        self, work: Work, served: Mapping[str, Served], request: QueryRequest, cancelled: Cancelled = None
    ) -> QueryResponse:
        """Build the answer of work whose measurements are made.

        Raises: AssertionError for `Within` and `Explain`; LedgerInvalid for cached bytes that are no answer; as
          `Pipeline.finish`, free, errors of public tables and of SQL around answers.
        """
        planning, analyst, request_id = self.deciding.planning, request.analyst, request.request_id
        match work:
            case Cached(question) | Measure(question):
                return self._of(work, served).response(question, request_id)
            case Derived(question, derived):
                return derived.response(question, planning.ledger.budget(analyst), request_id)
            case Summed(question, days, parts):
                found = [self._of(part, served) for part in parts]
                budget = found[-1].budget if found else planning.ledger.budget(analyst)
                return summed_response(days, question, found, budget, request_id)
            case Estimated(tables=tables):
                releases = {mask: self._of(one, served).released for mask, one in tables.items()}
                return estimated_response(work, releases, planning.ledger.budget(analyst), request_id)
            case ListGroups(question):
                domain = planning.groups(question.query, analyst, cancelled)
                return response(question.plan, domain, (), planning.ledger.budget(analyst), request_id)
            case ShowNothing(question, no_group):
                shown = without_groups if no_group else without_rows
                return shown(question.plan, planning.ledger.budget(analyst), request_id)
            case PublicStatement():
                budget = planning.ledger.budget(analyst)
                rows = planning.reads.rows(planning.backend, work, analyst, cancelled)
                return public_response(work, rows, budget, request_id)
            case Compose():
                return self._computed(work, served, request, cancelled)
            case Within() | Explain():
                raise AssertionError("it is no work by itself")

    def _of(self, one: Cached | Measure, served: Mapping[str, Served]) -> Served:
        return self.deciding.cached.again(one.paid) if isinstance(one, Cached) else served[one.charge.answer_key]

    def _measured_alone(self, work: Measure, request: QueryRequest, cancelled: Cancelled) -> QueryResponse:
        """Measure one question. Its public list of groups is read together with its rows."""
        try:
            served = self.served({work.charge.answer_key: work}, [], cancelled)
        except NoGroups:
            return self.show(ShowNothing(work.question, no_group=True), {}, request)
        except (BudgetExhausted, QueryTooExpensive):
            free = self.deciding.listed(work, request, cancelled)
            if isinstance(free, ShowNothing):
                return self.show(free, {}, request)
            raise
        answer = self.show(work, served, request)
        note = None if work.passed_over is None else work.passed_over.passed_over()
        if work.charge.answer_key != work.question.answer_key:
            note = _ANEW
        return answer if note is None else replace(answer, notes=(*answer.notes, note))

    def _within(self, work: Within, request: QueryRequest, cancelled: Cancelled) -> QueryResponse:
        """Answer with an accuracy target. Where nothing is known, the first answer decides about a second."""
        plain, choice = by_accuracy.without_accuracy(request), work.choice
        if not isinstance(choice, by_accuracy.FirstPart):
            return by_accuracy.with_reached(self.run(work.work, plain, cancelled), request)

        def answer(asked: QueryRequest) -> QueryResponse:
            own = replace(request, idempotency_key=asked.idempotency_key, reuse=asked.reuse)
            found = self.deciding.of_question(self.deciding.planning.question(asked), own)
            own = by_accuracy.without_accuracy(own)
            return self.run(self.deciding.decide(found, own, cancelled), own, cancelled)

        found = by_accuracy.answered_in_two(choice, self.deciding.planning, request, answer)
        return by_accuracy.with_reached(found, request)

    def _computed(
        self, work: Compose, served: Mapping[str, Served], request: QueryRequest, cancelled: Cancelled
    ) -> QueryResponse:
        planning, composition = self.deciding.planning, work.composition
        pairs = list(zip(composition.parts, work.parts, strict=True))
        answers = [self.show(one, served, part.of(request), cancelled) for part, one in pairs]
        named = {part.relation: (part, answer) for part, answer in zip(composition.parts, answers, strict=True)}
        computed = self._over(composition.statement, named, request.analyst, cancelled)
        values = {}
        for table in composition.tables:
            if table.has_one_row:
                rows = self._over(table.statement, named, request.analyst, cancelled).rows
                values[table.released.relation.name] = table.told(rows)
        budget = planning.ledger.budget(request.analyst)
        return computed_response(composition, answers, computed, budget, request.request_id, values)

    def _over(
        self,
        statement: OuterStatement,
        answers: Mapping[str, tuple[ComposedPart, QueryResponse]],
        analyst: str,
        cancelled: Cancelled,
    ) -> Computed:
        """Compute a statement over answers; `answers`: each with its part, by relation."""
        read = {
            one.name: relation_rows(answers[one.name][0].question, answers[one.name][1])
            for one in statement.relations
        }
        planning = self.deciding.planning
        return planning.reads.computed(planning.backend, statement.with_rows(read), analyst, cancelled)

    def _with_tables(self, work: Measure, served: Mapping[str, Served], cancelled: Cancelled) -> Question:
        """Return the question with the rows of the released values that it reads."""
        asked = QueryRequest(work.charge.analyst, "")
        relations = []
        for table, answers in ((one.table, one.answers) for one in work.before):
            named = {part.relation: (part, self.show(one, served, asked, cancelled)) for part, one in answers}
            computed = self._over(table.statement, named, asked.analyst, cancelled)
            relations.append(table.released.with_rows(computed.rows))
        dialect = self.deciding.planning.backend.dialect
        return work.question.over(relations, dialect) if relations else work.question

    def _check(self, question: Question, charge: Charge, cancelled: Cancelled) -> None:
        """Check everything public before the charge, because the question may have waited long."""
        planning = self.deciding.planning
        groups = partial(planning.groups, analyst=charge.analyst, cancelled=cancelled)
        with self.outage.watched(partial(planning.backend.check_schema, question.query.fingerprint), cancelled):
            check_groups(question.plan, question.query, question.measuring, groups)
            refuse_unchecked(planning.schema, planning.policy, planning.ledger, question.plan)

    def _released(
        self, work: Measure, cancelled: Cancelled, reservation: Reservation, served: Mapping[str, Served]
    ) -> tuple[Released, Budget]:
        planning = self.deciding.planning
        try:
            question = self._with_tables(work, served, cancelled)
        except BaseException:
            planning.ledger.release(reservation)  # computed from released values alone: nothing private was read
            raise
        with self.outage.noticed():
            released = Released(*self._measured(reservation, question, cancelled))
        try:
            released = replace(released, outline=outline_of(question, released))
            with alone_if_large(released.n_values):
                cached = encoded(released)
        except BaseException as error:
            planning.ledger.fail(reservation)
            raise charged_failure(reservation, error) from error
        return released, planning.ledger.commit(reservation, cached)

    def _measured(
        self, reservation: Reservation, question: Question, cancelled: Cancelled
    ) -> tuple[Domain, tuple[NoisyAnswer, ...]]:
        """Measure in a worker under one reservation. It is given back only if nothing private was read.

        After that, every failure is the same QueryFailed to the analyst, and the log names its kind. Where the join
        may explode, answer and failure leave at a public moment, and the ledger records the end no sooner.
        """
        holding = Holding(question.plan.times.first_s, cancelled, last_s=question.plan.times.last_s)
        ledger = self.deciding.planning.ledger
        for count in range(1, _ATTEMPTS + 1):
            source = None
            try:
                source = self.deciding.planning.source(question)
                owner, call = reservation.charge.analyst, (source, question.query, question.measuring)
                limit_s = holding.limit_s
                measured = self.workers.call(
                    measure, *call, cancelled=cancelled, owner=owner, limit_s=limit_s, begin=holding.begin
                )
                holding.until_moment()
                return measured
            except BaseException as error:
                if count == 1 and (source is None or isinstance(error, _NOTHING_READ)):
                    ledger.release(reservation)
                    raise
                if isinstance(error, BackendConnectionLost) and count < _ATTEMPTS:
                    continue
                ended = holding.ended(error)
                ledger.fail(reservation, cancelled=isinstance(ended, CancelledByClient))
                if isinstance(ended, CancelledByClient):
                    raise ended from None  # the analyst chose the moment, which tells nothing
                raise charged_failure(reservation, error) from error
        raise AssertionError("the last attempt returns or raises")


def check_free(wanted: Mapping[str, Measure], request: QueryRequest) -> None:
    """Raises: NotDerivable where the request forbids measurements and one would be made."""
    if wanted and request.reuse == "only":
        raise not_derivable(next(iter(wanted.values())).question)


def charged_failure(reservation: Reservation, error: BaseException) -> QueryFailed:
    """Return the one error for all failures after private rows could have been read, and log the kind."""
    kind = type(error)
    advice = next((_ADVICE[one] for one in kind.__mro__ if one in _ADVICE), None)
    _log.error("failed after its charge", request_id=reservation.charge.request_id, kind=kind.__name__, advice=advice)
    return QueryFailed("the query could not be finished; it was charged")
