"""Decide what a request needs, from statements, public tables, the ledger, and the analyst's own answers.

Nothing is charged here, and no private row is read. `find` waits for nobody. `decide` also reads public lists of
groups. It looks for derived answers and for days that are cached.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from planner.errors import PlannerError
from planner.policy.policy import Policy
from planner.postprocessing.write_outer import OuterStatement
from server.answers.cached_answers import CachedAnswers, Paid
from server.answers.derived import DerivedAnswer
from server.answers.periods.day_cover import WIDER
from server.answers.periods.day_sums import DaySums
from server.answers.proposals import by_accuracy
from server.answers.proposals.expectation import Known
from server.answers.reusing import Reusing
from server.answers.work import (
    Before,
    Cached,
    Compose,
    Derived,
    ListGroups,
    Measure,
    ShowNothing,
    Summed,
    Within,
    Work,
    key_of,
    measures,
)
from server.backends.columns import has_no_group
from server.backends.public_rows import Computed
from server.errors import NoProposal
from server.ledger.question_texts import AskedText, QuestionKeys
from server.lru_cache import LruCache
from server.planning import Planned, Planning
from server.policy.verified_keys import refuse_unchecked
from server.postprocessing.composition import ComposedPart, Composition
from server.query import QueryRequest
from server.question import Question

Cancelled = threading.Event | None

_FOUND, _FOUND_BYTES, _BESIDE_BYTES = 4096, 16 << 20, 2048


@dataclass(frozen=True)
class Deciding:
    """Decide under one policy.

    Attributes:
      planning: plans requests.
      cached: the answers that are served again.
      reusing: derives answers from cached ones.
      days: finds which days of a question are cached.
      question_keys: encrypts the text of questions for the ledger; None where it stores none.
      found: the answers that were found lately, by the ledger's state.
    """

    planning: Planning
    cached: CachedAnswers
    reusing: Reusing
    days: DaySums
    question_keys: QuestionKeys | None
    found: LruCache[Hashable, Paid] = field(
        default_factory=lambda: LruCache(_FOUND, _FOUND_BYTES, lambda paid: len(paid.cached.answer) + _BESIDE_BYTES)
    )

    def find(self, request: QueryRequest, cancelled: Cancelled = None) -> Work:
        """Look a question up: parse, plan, and search the cache. Free, and no row is read.

        The call returns without waiting for a worker or for another question, unless there is an accuracy target.

        Raises: PlannerError; KeyReused and DuplicateRequest; UnknownAnalyst; DataUnchecked; NoProposal.
        """
        if request.by_accuracy:
            return self._by_accuracy(request)
        return self._of(self.planning.planned(request, cancelled), request)

    def find_planned(self, request: QueryRequest) -> Work | None:
        """Do what `find` does with a remembered plan, in a few ledger reads; None if no plan is remembered.

        Which answer an analyst has paid for depends on the question, the idempotency key and the ledger's tables. So
        it is remembered by them. Only the budget, which time alone can renew, is looked up each time.
        """
        question = None if request.by_accuracy else self.planning.planned_lately(request)
        if question is None:
            return None
        ledger = self.planning.ledger
        asked = ledger.state(), question.serial, request.analyst, request.idempotency_key
        paid = self.found.get(asked)
        if paid is not None:
            return Cached(question, replace(paid, budget=ledger.budget(request.analyst)))
        work = self.of_question(question, request)
        if isinstance(work, Cached) and asked[0] is not None:
            self.found.put(asked, work.paid)
        return work

    def decide(
        self, work: Work, request: QueryRequest, cancelled: Cancelled = None, *, together: bool = False
    ) -> Work:
        """Replace the measurement of a whole question by a derived answer, or by one of some days, where that is
        possible.

        Args:
          together: is it reserved with others, or not measured now? Then its public list of groups is read here. A
            question alone reads it together with its rows.
        Cost: some reads of the ledger and of public tables; some forty plans for a question of closed periods.
        """
        match work:
            case Measure():
                found = self._instead(work, request, cancelled)
                return self.listed(found, request, cancelled) if together else found
            case Compose(composition):
                parts = self._parts(composition.parts, request, cancelled)
                tried = None
                if measures(*parts):  # try the SELECT before the charges
                    tables = {
                        table.released.relation.name: table for part in composition.parts for table in part.tables
                    }
                    for table in tables.values():
                        table.check(self._tried(table.statement, request, cancelled).columns)
                    tried = self._tried(composition.statement, request, cancelled)
                return replace(work, parts=parts, columns=tried)
            case Within(choice, inner) if together or not isinstance(choice, by_accuracy.FirstPart):
                plain = by_accuracy.without_accuracy(request)
                return replace(work, work=self.decide(inner, plain, cancelled, together=together))
            case _:
                return work

    def of_question(self, question: Question, request: QueryRequest, sent: QueryRequest | None = None) -> Work:
        """Return the work for a question of a request, or for a part of the statement `sent`."""
        if question.shows_no_row:
            return ShowNothing(question)
        if question.only_names_groups:
            return ListGroups(question)
        refuse_unchecked(self.planning.schema, self.planning.policy, self.planning.ledger, question.plan)
        charge = question.charge(request)
        if request.reuse == "never":
            charge = self.cached.anew(charge)
        if self.question_keys is not None:
            words = AskedText(request.sql, (sent or request).parameters)
            charge = replace(charge, sealing=self.question_keys.sealing(self.planning.ledger.id, words))
        paid = self.cached.find(charge)
        return Measure(question, charge) if paid is None else Cached(question, paid)

    def as_before(
        self, known: Known, question: Question, request: QueryRequest, policy: Policy | None = None
    ) -> Cached | None:
        """Return the analyst's earlier answer, with the epsilon and delta of its charge.

        Args:
          policy: of the plan; None for the one in force.
        Returns: None where it is of another data version, or of a policy that allowed more.
        """
        again = replace(request, epsilon=known.epsilon, delta=known.delta, idempotency_key="")
        try:
            own = self.planning.of_bound(question.whole_bound, again, policy=policy)
        except PlannerError:
            return None
        paid = self.cached.find(own.charge(again)) if own.answer_key == known.answer_key else None
        return None if paid is None else Cached(own, paid)

    def listed(self, work: Work, request: QueryRequest, cancelled: Cancelled = None) -> Work:
        """Return `work`, or `ShowNothing` if its public list of groups is empty. Reads public tables."""
        if not isinstance(work, Measure | Summed) or not any(work.question.query.domains):
            return work
        query = work.question.query
        empty = has_no_group(query, self.planning.groups(query, request.analyst, cancelled))
        return ShowNothing(work.question, no_group=True) if empty else work

    def _of(self, planned: Planned, request: QueryRequest) -> Work:
        if isinstance(planned, Question):
            return self.of_question(planned, request)
        return Compose(planned) if isinstance(planned, Composition) else planned

    def _tried(self, statement: OuterStatement, request: QueryRequest, cancelled: Cancelled) -> Computed:
        planning = self.planning
        return planning.reads.computed(planning.backend, statement, request.analyst, cancelled, rows=False)

    def _parts(self, parts: Sequence[ComposedPart], request: QueryRequest, cancelled: Cancelled) -> tuple[Work, ...]:
        """Decide the parts in turn. What a later part reads of an answer belongs to that answer's key.

        So no such answer is derived from others, which may change as more are cached; nor is one that reads them.
        """
        read = {name for part in parts for table in part.tables for name in table.answers}
        found: dict[str, tuple[ComposedPart, Work]] = {}
        for part in parts:
            asked, question = part.of(request), part.question
            before = tuple(Before(table, tuple(found[name] for name in table.answers)) for table in part.tables)
            if before:
                question = question.after([source for one in before for source in _sources(one)])
            work = self.of_question(question, asked, request)
            if before and isinstance(work, Measure):
                work = replace(work, before=before)
            if before or part.relation in read:
                work = self.listed(work, asked, cancelled)
            else:
                work = self.decide(work, asked, cancelled, together=True)
            found[part.relation] = part, work
        return tuple(work for _, work in found.values())

    def _by_accuracy(self, request: QueryRequest) -> Work:
        """Return the question at the epsilon that its accuracy target needs, or its free or exact answer."""
        by_accuracy.accuracy_of(request)
        plain = by_accuracy.without_accuracy(request)
        work = self.listed(self.find(replace(plain, idempotency_key="")), plain)
        if isinstance(work, Compose) and work.composition.parts:
            raise NoProposal(
                "an accuracy target is for one question, and this statement computes with"
                f" {len(work.composition.parts)} answers",
                hint="ask it with an epsilon, or first ask each part alone with the accuracy target",
            )
        if not isinstance(work, Cached | Measure):
            return work
        key = request.idempotency_key
        earlier = self.planning.ledger.charge_of(request.analyst, key) if key else None
        if earlier is not None:  # a repeated request gets its earlier answer, even one that missed the target
            sent = replace(plain, epsilon=earlier.charge.epsilon)
            return Within(None, self.of_question(self.planning.question(sent), request))
        choice = by_accuracy.chosen(self.planning, request)
        asked = replace(request, idempotency_key="") if isinstance(choice, by_accuracy.FirstPart) else request
        return Within(choice, self.of_question(self.planning.question(choice.request), asked))

    def _instead(self, work: Measure, request: QueryRequest, cancelled: Cancelled) -> Work:
        if request.reuse == "never":
            return work
        question = work.question
        again = self.of_question(question, request)  # it may be cached by now
        if not isinstance(again, Measure):
            return again
        only, derived = request.reuse == "only", None
        if only or request.mechanism is None:  # a named mechanism is meant
            groups = partial(self.planning.groups_of, question, request.analyst, cancelled)
            derived = self.reusing.find(question, request.analyst, groups)
            if derived is not None and serves(derived, question, request):
                return Derived(question, derived)
        wider = math.inf if only else 1.0 if request.as_accurate else WIDER
        summed = self.days.find(question, request, free=only, wider=wider)
        if summed is None:
            return replace(work, passed_over=derived)
        parts = []
        for place, part in enumerate(summed.parts):
            charge = replace(part.question.charge(part.request), answer_key=part.key)
            if place == 0:  # the text of the whole question stands at its first part
                charge = replace(charge, sealing=work.charge.sealing)
            paid = self.cached.find(charge)
            parts.append(Measure(part.question, charge) if paid is None else Cached(part.question, paid))
        return Summed(question, summed, tuple(parts), derived)


def _sources(before: Before) -> Iterator[str]:
    """What the rows of a table are a function of: its statement and types, and the keys of its answers."""
    relation = before.table.released.relation
    yield f"{before.table.statement.sql} {relation.columns} {relation.keys} {before.table.released.ranges}"
    for part, work in before.answers:
        yield key_of(work) if isinstance(work, Cached | Measure) else part.question.answer_key


def serves(derived: DerivedAnswer, question: Question, request: QueryRequest) -> bool:
    """Whether a derived answer is served instead of a new measurement."""
    return request.reuse == "only" or derived.serves(question.plan.epsilon, as_accurate=request.as_accurate)
