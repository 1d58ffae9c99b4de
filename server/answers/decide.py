"""What is to be done for a request, by statements, public tables, the ledger, and the analyst's own answers.

Nothing is charged here, and no private row is read. `find` waits for nobody; `decide` reads lists of groups in public
tables, too, and tells what follows from kept answers and which days of a question are to be measured.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, replace
from functools import partial

from planner.errors import PlannerError
from planner.policy.policy import Policy
from server.answers.cached_answers import CachedAnswers
from server.answers.derived import DerivedAnswer
from server.answers.periods.day_cover import WIDER
from server.answers.periods.day_sums import DaySums
from server.answers.proposals import by_accuracy
from server.answers.proposals.expectation import Known
from server.answers.reusing import Reusing
from server.answers.work import (
    Cached,
    Compose,
    Derived,
    ListGroups,
    Measure,
    ShowNothing,
    Summed,
    Within,
    Work,
    measures,
)
from server.backends.columns import has_no_group
from server.errors import NoProposal
from server.ledger.question_texts import AskedText, QuestionKeys
from server.planning import Planned, Planning
from server.policy.verified_keys import refuse_unchecked
from server.postprocessing.composition import ComposedPart, Composition
from server.query import QueryRequest
from server.question import Question

Cancelled = threading.Event | None


@dataclass(frozen=True)
class Deciding:
    """Decides under one policy.

    Attributes:
      planning: what a request asks.
      kept: the answers that are served again.
      reusing: what answers follow from.
      days: which days of a question are kept.
      question_keys: what the words of questions are sealed with before the ledger keeps them; None: it does not.
    """

    planning: Planning
    kept: CachedAnswers
    reusing: Reusing
    days: DaySums
    question_keys: QuestionKeys | None

    def find(self, request: QueryRequest) -> Work:
        """Look a question up: parsed, planned, its answer looked for among the kept ones. Free, and no row is read.

        Waits for no worker and for no other question, but where an accuracy is asked for.
        Raises: PlannerError; KeyReused and DuplicateRequest; UnknownAnalyst; DataUnchecked; NoProposal.
        """
        if request.by_accuracy:
            return self._by_accuracy(request)
        return self._of(self.planning.planned(request), request)

    def find_planned(self, request: QueryRequest) -> Work | None:
        """What `find` returns, if that takes a few reads of the ledger: of a question planned lately, else None."""
        question = None if request.by_accuracy else self.planning.planned_lately(request)
        return None if question is None else self.of_question(question, request)

    def decide(
        self, work: Work, request: QueryRequest, cancelled: Cancelled = None, *, together: bool = False
    ) -> Work:
        """What is to be done instead of measuring a question as a whole, if anything: what follows, or some days.

        Args:
          work: by `find`, for this request.
          request: that asks it.
          cancelled: ends reads of public tables early.
          together: is it reserved with others, or not measured now? Then its public list of groups is looked at; a
            question by itself needs no such look, as its groups are read with its rows.
        Cost: some reads of the ledger and of public tables; some forty plans for a question of closed periods.
        """
        match work:
            case Measure():
                found = self._instead(work, request, cancelled)
                return self.listed(found, request, cancelled) if together else found
            case Compose(composition):
                parts = tuple(self._part(one, request, cancelled) for one in composition.parts)
                statement, tried, planning = composition.statement, None, self.planning
                if measures(*parts):  # what fails only after the charges has been charged
                    tried = planning.reads.computed(
                        planning.backend, statement, request.analyst, cancelled, rows=False
                    )
                return replace(work, parts=parts, columns=tried)
            case Within(choice, inner) if together or not isinstance(choice, by_accuracy.FirstPart):
                plain = by_accuracy.without_accuracy(request)
                return replace(work, work=self.decide(inner, plain, cancelled, together=together))
            case _:
                return work

    def of_question(self, question: Question, request: QueryRequest, sent: QueryRequest | None = None) -> Work:
        """What becomes of a question of a request; of one that is a part of what was sent, that is told, too."""
        if question.shows_no_row:
            return ShowNothing(question)
        if question.only_names_groups:
            return ListGroups(question)
        refuse_unchecked(self.planning.schema, self.planning.ledger)
        charge = question.charge(request)
        if request.reuse == "never":
            charge = self.kept.anew(charge)
        if self.question_keys is not None:
            words = AskedText(request.sql, (sent or request).parameters)
            charge = replace(charge, sealing=self.question_keys.sealing(self.planning.ledger.id, words))
        paid = self.kept.find(charge)
        return Measure(question, charge) if paid is None else Cached(question, paid)

    def as_before(
        self, known: Known, question: Question, request: QueryRequest, policy: Policy | None = None
    ) -> Cached | None:
        """An answer that the analyst has to a question, at the epsilon and the delta that it was asked with then.

        Args:
          known: of the same query.
          question, request: as it is asked now.
          policy: that it is planned under; None: the one in force.
        Returns: None where it is of another version of the data, or of a policy that allowed more.
        """
        again = replace(request, epsilon=known.epsilon, delta=known.delta, idempotency_key="")
        try:
            own = self.planning.of_bound(question.whole_bound, again, policy=policy)
        except PlannerError:
            return None
        paid = self.kept.find(own.charge(again)) if own.answer_key == known.answer_key else None
        return None if paid is None else Cached(own, paid)

    def listed(self, work: Work, request: QueryRequest, cancelled: Cancelled = None) -> Work:
        """The same; of a question with an empty public list of groups, that it shows nothing. Reads public tables."""
        if not isinstance(work, Measure | Summed) or not any(work.question.query.domains):
            return work
        query = work.question.query
        empty = has_no_group(query, self.planning.groups(query, request.analyst, cancelled))
        return ShowNothing(work.question, no_group=True) if empty else work

    def _of(self, planned: Planned, request: QueryRequest) -> Work:
        if isinstance(planned, Question):
            return self.of_question(planned, request)
        return Compose(planned) if isinstance(planned, Composition) else planned

    def _part(self, part: ComposedPart, request: QueryRequest, cancelled: Cancelled) -> Work:
        asked = part.of(request)
        return self.decide(self.of_question(part.question, asked, request), asked, cancelled, together=True)

    def _by_accuracy(self, request: QueryRequest) -> Work:
        """The question at the epsilon that its accuracy needs; what is free or exact is as ever."""
        by_accuracy.accuracy_of(request)
        plain = by_accuracy.without_accuracy(request)
        work = self.listed(self.find(replace(plain, idempotency_key="")), plain)
        if isinstance(work, Compose) and work.composition.parts:
            raise NoProposal(
                "an accuracy is that of one question, and this statement is computed from the answers to"
                f" {len(work.composition.parts)}",
                hint="ask it with an epsilon, or each part alone with the accuracy: what is paid for is free here",
            )
        if not isinstance(work, Cached | Measure):
            return work
        key = request.idempotency_key
        earlier = self.planning.ledger.charge_of(request.analyst, key) if key else None
        if earlier is not None:  # sent again: what it was answered with, also where that missed what was wished
            sent = replace(plain, epsilon=earlier.charge.epsilon)
            return Within(None, self.of_question(self.planning.question(sent), request))
        choice = by_accuracy.chosen(self.planning, request)
        asked = replace(request, idempotency_key="") if isinstance(choice, by_accuracy.FirstPart) else request
        return Within(choice, self.of_question(self.planning.question(choice.request), asked))

    def _instead(self, work: Measure, request: QueryRequest, cancelled: Cancelled) -> Work:
        if request.reuse == "never":
            return work
        question = work.question
        again = self.of_question(question, request)  # it may have waited long, and be kept by now
        if not isinstance(again, Measure):
            return again
        only, derived = request.reuse == "only", None
        if only or request.mechanism is None:  # who names a mechanism means that one
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
            if place == 0:  # the words of the whole question
                charge = replace(charge, sealing=work.charge.sealing)
            paid = self.kept.find(charge)
            parts.append(Measure(part.question, charge) if paid is None else Cached(part.question, paid))
        return Summed(question, summed, tuple(parts), derived)


def serves(derived: DerivedAnswer, question: Question, request: QueryRequest) -> bool:
    """Is what follows given in place of a new answer?"""
    return request.reuse == "only" or derived.serves(question.plan.epsilon, as_accurate=request.as_accurate)
