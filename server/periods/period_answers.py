"""A question that is partly answered already: what is kept of closed periods, beside a question about the rest.

Privacy does not rest on anything here. What is kept was released to this analyst, and charged, at an earlier version
of the data; the open part is a question of its own, reserved, measured and charged like any other; who is in both is
charged for both. Which part of a question is kept follows from the policy, from the ledger's entries about closed
periods and from what the analyst has asked before, all of which is public to the analyst.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial

from planner.binding.bound_query import BoundQuery
from planner.periods.period_scope import PeriodScope, joined_runs, period_scope
from planner.plan import BackendQuery, Plan
from planner.policy.policy import Policy
from planner.schema import Schema
from privacy.registry import MECHANISMS, JointMechanism
from server.answers.kept_answers import KeptAnswers, Paid
from server.answers.released import Released
from server.answers.served import Served
from server.backends.columns import Domain
from server.ledger.charge import Charge, Sealing
from server.ledger.ledger import Ledger
from server.periods.joined_answer import joined
from server.periods.kept_parts import Split, open_part_key, split, values_at
from server.periods.noted_periods import NotedPeriods
from server.periods.open_part import OpenPart, open_part
from server.query import Budget, KeptPeriods, QueryRequest, QueryResponse
from server.question import Question, base_of
from server.results.response import response

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
      bind: what a request asks.
      plan: a bound question for a request, at a version of the data.
      groups: the public groups of a question, found on an analyst's behalf.
      measure: charges and measures a question.
    """

    policy: Policy
    schema: Schema
    ledger: Ledger
    kept: KeptAnswers
    bind: Callable[[QueryRequest], BoundQuery]
    plan: Callable[[BoundQuery, QueryRequest, int], Question]
    groups: Callable[[BackendQuery, str, Cancelled], Domain]
    measure: Callable[[Question, Charge, Cancelled], tuple[Released, Budget] | None]

    @cached_property
    def promised(self) -> bool:
        """Does the policy call any table append-only? Nothing is looked for where it does not."""
        return any(table.append_only is not None for table in self.policy.tables.values())

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
        key = open_part_key(base_of(question.answer_key), request.analyst)
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
        bound: BoundQuery | None = None,
    ) -> Divided | None:
        """What of a question is kept; None where nothing is. Free; public tables are read for the groups.

        Args:
          question, request, cancelled: as of `answer`.
          bound: what the request asks, where that is known.
        """
        if not self.promised or question.only_names_groups or not _is_plain(question.plan):
            return None
        entry = self.ledger.noted_periods()
        if entry is None or (entry.version, entry.fingerprint) != (question.data_version, question.plan.fingerprint):
            return None  # this version, or state of the files, was not compared with the one before
        noted = NotedPeriods.of(entry)
        bound = self.bind(request) if bound is None else bound
        if self.plan(bound, request, question.data_version).answer_key != base_of(question.answer_key):
            return None  # the clock of the statement went on in between
        scope = period_scope(bound, self.schema, self.policy)
        if scope is None:
            return None
        domain = self.groups(question.query, request.analyst, cancelled) if question.plan.group_keys else Domain(())
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

    def told(self, bound: BoundQuery, request: QueryRequest, data_version: int) -> tuple[str, ...]:
        """What EXPLAIN says of what is kept: a sentence, or none. Free."""
        if not self.promised:
            return ()
        question = self.plan(bound, request, data_version)
        divided = self.divided(question, request, bound=bound)
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
            lambda bound, asked: self.plan(bound, asked, question.data_version),
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
    """No sample, and no group keys that are found among private rows: of those it is not public which there are."""
    return plan.sampling is None and (plan.selection is None or plan.selection.delta == 0)


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


_KEPT = (
    "{kept} of {groups} groups are kept from earlier loads of the data ({which}): rows of {table} that are closed by "
    "{column} have not changed since, as the custodian has checked. {rest}"
)
_ALL_KEPT = (
    "This answer is kept from an earlier load of the data ({which}): rows of {table} that are closed by {column} "
    "have not changed since, as the custodian has checked. It is free."
)
_REST = "The others were measured over the data of version {version}, and the charge is for them alone."
_CUT_TOGETHER = (
    "What people add to the kept groups was cut together with rows of groups that were open then: the values are "
    "answers about the same rows, cut as they were at that load."
)
_ALL_FREE = "Its rows are closed, and you have its answer of an earlier load: unless you have this one, it is free."
_SOME_FREE = (
    "You have {kept} of {groups} groups of an earlier load, and their rows are closed: unless you have this answer, "
    "the others are measured alone, at epsilon {epsilon:g}."
)
_REOPENED = "The custodian has called changed, or would not vouch for: {which}. They were measured anew."


def _notes(plan: Plan, divided: Divided) -> Iterator[str]:
    scope, found, version = divided.scope, divided.split, divided.noted.version
    parts = list(_kept(divided))
    which = "; ".join(f"version {one.version}: {one.first or 'the first day'} to {one.last}" for one in parts)
    groups, kept = len(divided.domain), sum(one.groups for one in parts)
    told = {"which": which, "table": scope.table, "column": scope.column}
    if found.fresh:
        yield _KEPT.format(kept=kept, groups=groups, rest=_REST.format(version=version), **told)
    else:
        yield _ALL_KEPT.format(**told)
    together = isinstance(MECHANISMS[plan.mechanism], JointMechanism) or plan.group_rule is not None
    if plan.group_keys and together:
        yield _CUT_TOGETHER
    runs = [run for values in found.fresh for run in found.runs[values]]
    reopened = divided.noted.reopened_within(scope, runs) if runs else ()
    if reopened:
        yield _REOPENED.format(which=", ".join(f"{period} (at version {at})" for period, at in reopened[-_SHOWN:]))


_SHOWN = 12
