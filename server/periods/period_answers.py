"""A question that is partly answered already: what is kept of closed periods, beside a question about the rest.

Privacy does not rest on anything here. What is kept was released to this analyst, and charged, at an earlier version
of the data; the open part is a question of its own, reserved, measured and charged like any other; who is in both is
charged for both. Which part of a question is kept follows from the policy, from the ledger's entries about closed
periods and from what the analyst has asked before, all of which is public to the analyst.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from planner.binding.bound_query import BoundQuery
from planner.group_domains.day_conditions import joined_runs
from planner.periods.period_scope import PeriodScope, period_scope
from planner.plan import BackendQuery, Plan
from planner.policy.policy import Policy
from planner.schema import Schema
from privacy.registry import MECHANISMS, JointMechanism
from server.answers.kept_answers import KeptAnswers, Paid
from server.answers.released import Released
from server.answers.served import Served
from server.backends.columns import Domain, has_no_group
from server.found import ToMeasure
from server.ledger.charge import Charge
from server.ledger.ledger import Ledger
from server.ledger.question_texts import Sealing
from server.periods.joined_answer import joined
from server.periods.kept_parts import Split, open_part_key, split, values_at
from server.periods.kept_words import ALL_KEPT, CUT_TOGETHER, REST, SOME_KEPT, reopened_notes
from server.periods.noted_periods import NotedPeriods
from server.periods.open_part import OpenPart, PlanPart, open_part
from server.periods.period_sums import PeriodSums, Summed, most_width
from server.periods.summed_response import summed_response, told_before
from server.query import Budget, KeptPeriods, QueryRequest, QueryResponse
from server.question import Question
from server.results.response import response
from server.reuse.kept_outlines import KeptOutlines

Cancelled = threading.Event | None


@dataclass(frozen=True)
class Divided:
    """A question of which something is kept.

    Attributes:
      scope, split: which rows it is of, and what is kept of them.
      noted: what the ledger says of closed periods.
      domain: its public groups.
      bound: what is asked.
    """

    scope: PeriodScope
    split: Split
    noted: NotedPeriods
    domain: Domain
    bound: BoundQuery


@dataclass(frozen=True)
class PeriodAnswers:
    """Answers questions from what is kept of closed periods.

    Attributes:
      policy, schema: what plans are made from.
      ledger, kept: where answers are kept.
      plan: a bound question for a request, at a version of the data.
      groups: the public groups of a question, found on an analyst's behalf.
      measure: charges and measures a question.
      together: charges and measures several, all of them reserved before the first.
      outlines: what an analyst has paid for.
    """

    policy: Policy
    schema: Schema
    ledger: Ledger
    kept: KeptAnswers
    plan: PlanPart
    groups: Callable[[BackendQuery, str, Cancelled], Domain]
    measure: Callable[[Question, Charge, Cancelled], tuple[Released, Budget] | None]
    together: Callable[[Sequence[ToMeasure], list[str], Cancelled], Mapping[str, Served]]
    outlines: KeptOutlines

    @cached_property
    def promised(self) -> bool:
        """Does the policy call any table append-only? Nothing is looked for where it does not."""
        return any(table.append_only is not None for table in self.policy.tables.values())

    @cached_property
    def sums(self) -> PeriodSums:
        """Finds out how a question is a sum over days."""
        return PeriodSums(self.policy, self.schema, self.ledger, self.outlines, self.kept, self.plan, self._groups)

    def _groups(self, query: BackendQuery, analyst: str) -> Domain:
        return self.groups(query, analyst, None)

    def answer(
        self, question: Question, request: QueryRequest, cancelled: Cancelled = None, sealing: Sealing | None = None
    ) -> QueryResponse | None:
        """The answer, where something of it is kept; None where the question is to be asked as a whole.

        Args:
          question: of which the analyst has no answer at this version of the data.
          request: that asks it.
          cancelled: ends waits early.
          sealing: of the words of the whole question, which the entry of its open part keeps; None: it keeps none.
        Raises: as `Pipeline.finish`.
        """
        bound = self._bound(question)
        if bound is None:
            return None
        summed = self.sums.find(question, bound, request, wider=most_width(request))
        if summed is not None:
            return self._summed(question, summed, request, cancelled, sealing)
        divided = self.divided(question, request, cancelled)
        if divided is None:
            return None
        if not divided.split.fresh:
            served = Served(self._joined(question, divided, None), self.ledger.budget(request.analyst), 0.0, 0.0, 0)
            return self._response(question, divided, served, request)
        asked = self._open_part(question, divided, request, cancelled)
        if asked is None:
            return None
        part, divided = asked.question, replace(divided, split=asked.split)
        key = open_part_key(question.answer_key, request.analyst)
        known = self._paid(key, request.analyst)
        if known is not None and not _has_all(known.domain, divided, selected=part.plan.selection is not None):
            return None
        charge = replace(part.charge(asked.request), answer_key=key, sealing=sealing)
        measure = partial(self.measure, part, charge, cancelled)
        fresh = self.kept.serve(charge, measure, cancelled, part.plan.columns)
        return self._response(
            question, divided, replace(fresh, released=self._joined(question, divided, fresh.released)), request
        )

    def divided(
        self,
        question: Question,
        request: QueryRequest,
        cancelled: Cancelled = None,
    ) -> Divided | None:
        """What of a question is kept; None where nothing is. Free; public tables are read for the groups.

        Args:
          question, request, cancelled: as of `answer`.
        """
        bound = self._bound(question)
        if bound is None:
            return None
        entry = self.ledger.noted_periods()
        if entry is None or (entry.version, entry.fingerprint) != (question.data_version, question.plan.fingerprint):
            return None  # this version, or state of the files, was not compared with the one before
        noted = NotedPeriods.of(entry)
        scope = period_scope(bound, self.schema, self.policy)
        if scope is None:
            return None
        domain = self.groups(question.query, request.analyst, cancelled) if question.plan.group_keys else Domain(())
        if has_no_group(question.query, domain):
            return None
        found = split(
            question,
            scope,
            noted,
            domain,
            self.policy.time_grain,
            request.analyst,
            lambda keys: self.ledger.paid_among(keys, request.analyst),
            lambda key: self._paid(key, request.analyst),
        )
        return None if found is None else Divided(scope, found, noted, domain, bound)

    def free(self, question: Question, request: QueryRequest, cancelled: Cancelled = None) -> QueryResponse | None:
        """The answer, where all of its days are kept; None where some are not. Free.

        It is no wider than `WIDER` times a fresh one, unless the request says that nothing is to be measured.
        """
        bound = self._bound(question)
        wider = math.inf if request.reuse == "only" else most_width(request)
        summed = None if bound is None else self.sums.find(question, bound, request, free=True, wider=wider)
        return None if summed is None else self._summed(question, summed, request, cancelled, None)

    def _bound(self, question: Question) -> BoundQuery | None:
        """What a question asks; None where no period can be kept of it."""
        simple = self.promised and not question.only_names_groups and _is_plain(question.plan)
        return question.bound if simple else None

    def _summed(
        self,
        question: Question,
        summed: Summed,
        request: QueryRequest,
        cancelled: Cancelled,
        sealing: Sealing | None,
    ) -> QueryResponse:
        """Measure the parts that are not kept, all of them reserved before the first, and add up."""
        charges = [replace(part.question.charge(part.request), answer_key=part.key) for part in summed.parts]
        if charges:
            charges[0] = replace(charges[0], sealing=sealing)
        pairs = list(zip(summed.parts, charges, strict=True))
        if len(pairs) == 1:
            part, charge = pairs[0]
            measure = partial(self.measure, part.question, charge, cancelled)
            served = [self.kept.serve(charge, measure, cancelled, part.question.plan.columns)]
        elif pairs:
            together = self.together([ToMeasure(part.question, charge) for part, charge in pairs], [], cancelled)
            served = [together[charge.answer_key] for charge in charges]
        else:
            served = []
        budget = served[-1].budget if served else self.ledger.budget(request.analyst)
        return summed_response(summed, question, served, budget, request.request_id)

    def follows(self, question: Question, request: QueryRequest) -> bool:
        """Would its answer be put together from what is kept, with nothing to measure? Free."""
        bound = self._bound(question)
        wider = most_width(request)
        return bound is not None and self.sums.find(question, bound, request, free=True, wider=wider) is not None

    def told(self, question: Question, request: QueryRequest) -> tuple[str, ...]:
        """What EXPLAIN says of what is kept: a sentence, or none. Free."""
        bound = self._bound(question)
        if bound is None:
            return ()
        summed = self.sums.find(question, bound, request, wider=most_width(request))
        if summed is not None:
            return (told_before(summed),)
        divided = self.divided(question, request)
        if divided is None:
            return ()
        if not divided.split.fresh:
            return (_ALL_FREE,)
        asked = self._open_part(question, divided, request, None)
        if asked is None:
            return ()
        kept = sum(one.groups for one in _kept(replace(divided, split=asked.split)))
        return (_SOME_FREE.format(kept=kept, groups=len(divided.domain), epsilon=asked.question.plan.epsilon),)

    def _open_part(
        self, question: Question, divided: Divided, request: QueryRequest, cancelled: Cancelled
    ) -> OpenPart | None:
        return open_part(
            question,
            divided.bound,
            request,
            divided.scope,
            divided.split,
            divided.domain,
            self.policy,
            lambda bound, asked, query: self.plan(bound, asked, question.data_version, query),
            lambda query: self.groups(query, request.analyst, cancelled),
        )

    def _paid(self, key: str, analyst: str) -> Released | None:
        found = self.ledger.kept_answer(key, analyst)
        if found is None or not found.paid:
            return None
        return self.kept.again(Paid(found, self.ledger.budget(analyst))).released

    def _joined(self, question: Question, divided: Divided, fresh: Released | None) -> Released:
        selected = question.plan.selection is not None
        return joined(divided.domain, divided.split, fresh, divided.scope.places, selected=selected)

    def _response(self, question: Question, divided: Divided, served: Served, request: QueryRequest) -> QueryResponse:
        released = served.released
        shown = response(question.plan, released.domain, released.noisy, served.budget, request.request_id)
        return replace(
            shown,
            epsilon=served.epsilon,
            delta=served.delta,
            cached=served.cached,
            notes=(*shown.notes, *_notes(question.plan, divided)),
            kept=tuple(_kept(divided)),
        )


def _is_plain(plan: Plan) -> bool:
    """No sample, no group keys that are found among private rows, as of those it is not public which there are, and
    nobody counted who exceeds a threshold: that is of all periods together."""
    counted = any(release.counts_exceeding for release in plan.releases)
    return plan.sampling is None and not counted and (plan.selection is None or plan.selection.delta == 0)


def _has_all(domain: Domain, divided: Divided, *, selected: bool) -> bool:
    """Was every value of the time keys that is to be fresh asked for an answer about what is open?

    Where groups may be withheld it is told by their number: what is open at a version of the data only shrinks.
    """
    places, fresh = divided.scope.places, set(divided.split.fresh)
    if selected:
        return domain.asked == sum(values_at(group, places) in fresh for group in divided.domain.groups)
    return fresh <= {values_at(group, places) for group in domain.groups}


def _kept(divided: Divided) -> Iterator[KeptPeriods]:
    places = divided.scope.places
    values = [values_at(group, places) for group in divided.domain.groups]
    for part in divided.split.parts:
        runs = joined_runs([run for one in part.values for run in divided.split.runs[one]])
        first, last = runs[0][0], runs[-1][1]
        yield KeptPeriods(
            version=part.version,
            first=None if first is None else first.isoformat(),
            last=None if last is None else last.isoformat(),
            groups=sum(one in part.values for one in values),
        )


_ALL_FREE = "Its rows are closed, and you have its answer of an earlier load: unless you have this one, it is free."
_SOME_FREE = (
    "You have {kept} of {groups} groups of an earlier load, and their rows are closed: unless you have this answer, "
    "the others are measured alone, at epsilon {epsilon:g}."
)


def _notes(plan: Plan, divided: Divided) -> Iterator[str]:
    scope, found, version = divided.scope, divided.split, divided.noted.version
    parts = list(_kept(divided))
    which = "; ".join(f"version {one.version}: {one.first or 'the first day'} to {one.last}" for one in parts)
    groups, kept = len(divided.domain), sum(one.groups for one in parts)
    told = {"which": which, "table": scope.table, "column": scope.column}
    if found.fresh:
        yield SOME_KEPT.format(kept=kept, groups=groups, rest=REST.format(version=version), **told)
    else:
        yield ALL_KEPT.format(**told)
    together = isinstance(MECHANISMS[plan.mechanism], JointMechanism) or plan.group_rule is not None
    if plan.group_keys and together:
        yield CUT_TOGETHER
    runs = [run for values in found.fresh for run in found.runs[values]]
    yield from reopened_notes(divided.noted, scope, runs)
