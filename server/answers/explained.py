"""Show in EXPLAIN the work that was decided: its releases and its price."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from planner.binding.bound_query import BoundQuery
from planner.errors import PlannerError
from planner.parsing.explain import explained
from planner.plan import BackendQuery
from planner.planning.person_tables import with_person_tables
from planner.public.relation import PublicStatement
from planner.sensitivity.provenance import Provenance, provenance
from privacy.mechanisms.sums import GroupsOfKinds
from server.answers.decide import Deciding, serves
from server.answers.derived import DerivedAnswer, reuse_explained
from server.answers.periods.summed_response import explained_days
from server.answers.proposals import by_accuracy
from server.answers.proposals.expectation import Expected, expected
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
    price,
)
from server.backends.backend import MirrorFirst
from server.errors import BudgetExhausted, ServerError
from server.explain.explanation import explanation, nothing_measured
from server.explain.explanation_text import explanation_answer
from server.ledger.writes.refusal import OF_DATASET
from server.lru_cache import LruCache
from server.postprocessing.computed_response import composed_explanation
from server.query import CannotPay, Explanation, QueryRequest, QueryResponse
from server.question import Question
from server.results.public_result import public_explanation
from server.results.response import clipped_by_rule
from server.workers.group_limits import check_explained
from server.workers.measure import groups_of_kinds, plan_measurements

_OF_MOST, _FITS = "With delta 0 ", "still fits. "
"""The beginning and the end of a sentence in the ledger's refusal."""

UNLESS_CACHED = "If another analyst has the answer, the dataset does not pay for it again."

WITHOUT_DELTA = "Without a delta it fits, with more noise."


def cannot_pay(
    refusal: ServerError | None, delta: float, without_delta: Callable[[], ServerError | None]
) -> CannotPay | None:
    """Describe how the ledger would refuse a question; None where it would not.

    Args:
      refusal: the ledger's, of the question as asked; None where all accounts can pay.
      without_delta: returns the ledger's refusal of the same question with a delta of 0. Raises PlannerError where
        that cannot be asked.
    """
    if refusal is None:
        return None
    hint = refusal.hint or ""
    if OF_DATASET in refusal.message:
        hint = f"{hint} {UNLESS_CACHED}".strip()
    if not delta or not isinstance(refusal, BudgetExhausted):
        return CannotPay(refusal.message, hint)
    if hint.startswith(_OF_MOST):  # the answer for this very question follows below
        hint = hint.partition(_FITS)[2]
    try:
        if without_delta() is None:
            return CannotPay(refusal.message, f"{WITHOUT_DELTA} {hint}", without_delta=True)
    except PlannerError as error:
        # the hint begins with who grants a delta, which comes later here
        instead = (error.hint or "").rpartition("; or ")[2]
        instead = f" {instead[0].upper()}{instead[1:]}." if instead else ""
        return CannotPay(refusal.message, f"This question needs a delta: {error.message}.{instead} {hint}".rstrip())
    return CannotPay(refusal.message, hint)


_ON_MIRROR = "The rows, or sums over them, are read from the mirror, a copy of them, for the same price."

_REMEMBERED, _REMEMBERED_BYTES = 256, 8 << 20

OfQuestion = Cached | Derived | Measure | Summed | ListGroups | ShowNothing


@dataclass(frozen=True)
class Explaining:
    """Explain work under one policy.

    Attributes:
      deciding: decides it, and reads public tables.
      told: recent explanations, by everything that they depend on.
      likely: recent predictions, by question and the earlier answer that they follow from.
    """

    deciding: Deciding
    told: LruCache[tuple[object, ...], Explanation] = field(
        default_factory=lambda: LruCache(_REMEMBERED, _REMEMBERED_BYTES)
    )
    likely: LruCache[tuple[object, ...], Expected] = field(default_factory=lambda: LruCache(_REMEMBERED))

    def explain(self, request: QueryRequest) -> Explanation:
        """Explain what a query would do and cost. Reads public tables at most, charges nothing."""
        word = explained(request.sql)
        sql = request.sql if word is None else word.sql
        asked = replace(request, sql=sql, idempotency_key="")  # EXPLAIN repeats no request
        work = self._decided(asked)
        told = self._shown(work, asked)
        refusal = self._refusal(work)
        epsilon, delta = price(work)

        def without_delta() -> ServerError | None:
            other = self._refusal(self._decided(replace(asked, delta=0.0)))
            return None if other is None else BudgetExhausted(other.message, hint=other.hint)

        short = cannot_pay(refusal, told.delta, without_delta)
        return replace(told, charge_epsilon=epsilon, charge_delta=delta, cannot_pay=short)

    def answer(self, request: QueryRequest) -> QueryResponse:
        """Return EXPLAIN's answer: rows of text, or one document."""
        asked = explained(request.sql)
        form = "text" if asked is None else asked.format
        budget = self.deciding.planning.ledger.budget(request.analyst)
        return explanation_answer(self.explain(request), form, budget, request.request_id)

    def _decided(self, request: QueryRequest) -> Work:
        return self.deciding.decide(self.deciding.find(request), request, together=True)

    def _refusal(self, work: Work) -> ServerError | None:
        """Return the ledger's refusal, by any account: analyst, group or dataset."""
        charges = [one.charge for one in measures(work).values()]
        return self.deciding.planning.ledger.budget_check(charges) if charges else None

    def _shown(self, work: Work, request: QueryRequest) -> Explanation:
        planning = self.deciding.planning
        match work:
            case PublicStatement():
                return public_explanation(work)
            case Compose(composition, parts, tried):
                pairs = zip(composition.parts, parts, strict=True)
                told = [self._shown(one, part.of(request)) for part, one in pairs]
                around, analyst = composition.statement, request.analyst
                columns = tried or planning.reads.computed(planning.backend, around, analyst, rows=False)
                return composed_explanation(composition, told, columns)
            case Within(choice, inner):
                return self._within(choice, self._shown(inner, by_accuracy.without_accuracy(request)), request)
            case Estimated():
                raise AssertionError("a workload is explained as a whole")
            case Explain():
                planning.question(request)  # raises the refusal of its statement
                raise AssertionError("EXPLAIN of EXPLAIN is no question")
            case _:
                return self._of_question(work, request)

    @staticmethod
    def _within(
        choice: by_accuracy.AtOnce | by_accuracy.FirstPart | None, told: Explanation, request: QueryRequest
    ) -> Explanation:
        if choice is None:
            return told
        said = by_accuracy.explained_target(choice, by_accuracy.accuracy_of(request), derived=told.derived)
        most = by_accuracy.most_charged(choice, told.delta)
        return replace(told, reason=f"{said} {told.reason}", most_epsilon=most[0], most_delta=most[1])

    def _of_question(self, work: OfQuestion, request: QueryRequest) -> Explanation:
        question, planning = work.question, self.deciding.planning
        domain = planning.groups_of(question, request.analyst)
        n_groups = len(domain)
        if isinstance(work, ShowNothing):
            return nothing_measured(*self._asked(question), question.plan, n_groups, no_group=work.no_group)
        source = planning.source(question)
        mirrored = source.query if isinstance(source, MirrorFirst) else None
        days = explained_days(work.days) if isinstance(work, Summed) else None
        read = mirrored or question.query
        kinds = () if read.discovered else groups_of_kinds(question.plan.bounds.kinds, domain)
        key = question.serial, question.answer_key, n_groups, kinds, mirrored, days
        told = self.told.get(key)
        if told is None:
            notes = tuple(note for note in (mirrored and _ON_MIRROR, days) if note)
            told = self.told.put(key, self._measured(question, read, notes, n_groups, kinds))
        likely = expected(planning.ledger, question, request.analyst, self.likely)
        derived = isinstance(work, Derived) or (isinstance(work, Summed) and not measures(work))
        return replace(
            told,
            reuse=self._reuse(work, question, request),
            derived=derived,
            paid=isinstance(work, Cached),
            relative_errors=likely.relative_errors,
            likely_clipped=1.0 if clipped_by_rule(question.plan, domain) else likely.clipped,
        )

    def _measured(
        self, question: Question, read: BackendQuery, notes: tuple[str, ...], n_groups: int, kinds: GroupsOfKinds
    ) -> Explanation:
        """Explain what would be measured: a function of its arguments under one policy, and public."""
        plan, measuring = question.plan, question.measuring
        bound, found = self._asked(question)
        check_explained(plan, question.query, measuring, n_groups)
        whole = plan_measurements(replace(plan, sampling=None), self.deciding.planning.policy)
        plan = replace(plan, notes=(*plan.notes, *notes))
        return explanation(bound, found, plan, read, measuring.of_kinds(kinds), n_groups, whole, kinds)

    def _asked(self, question: Question) -> tuple[BoundQuery, Provenance]:
        """The bound query with the tables of people, and its owners."""
        beside = self.deciding.planning.beside(question.tables)
        persons = with_person_tables(question.whole_bound, beside.schema, beside.policy)
        return persons.query, provenance(persons.query, persons.schema, persons.policy)

    @staticmethod
    def _reuse(work: OfQuestion, question: Question, request: QueryRequest) -> str | None:
        derived: DerivedAnswer | None = None
        if isinstance(work, Derived):
            derived = work.derived
        elif isinstance(work, Measure | Summed):
            derived = work.passed_over
        return reuse_explained(derived, question, serves=derived is not None and serves(derived, question, request))
