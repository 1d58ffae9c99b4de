"""A question as a sum over days: what is kept of some, at whatever epsilon, and what is measured of the others.

Privacy does not rest on anything here: what is kept was released to this analyst and charged, and each part that is
measured is a question of its own, reserved and charged like any other. Which parts there are, and with how much
epsilon they are asked, follows from the policy, the ledger's entries about closed periods, and what this analyst was
told before; all of that is known to the analyst.

A number of all days that are there has nothing to keep the first time that it is asked. Asked again after a load, it
is measured in two parts, each a question of its own: the closed days, whose answer stays, and the open ones. Both
together cost no more epsilon than was asked for. From then on the open days alone are measured, at what keeps the
whole within `WIDER` of a fresh answer, and their part within `NARROW` of one; once that takes half of the whole
question's epsilon it begins anew. In two parts the first time already was tried: of dashboards it
cost more than it saved, as most of what is looked at through a filter is looked at a few times.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import cached_property

from planner.binding.bound_query import BoundQuery
from planner.group_domains.day_conditions import common_runs, without_runs
from planner.periods.period_scope import PeriodScope, period_scope
from planner.plan import BackendQuery
from planner.policy.policy import Policy
from planner.reuse.day_match import AskedByDays
from planner.reuse.matching import AskedQuestion
from planner.schema import Schema
from server.answers.kept_answers import KeptAnswers
from server.backends.columns import Domain
from server.ledger.entry import PeriodsNoted
from server.ledger.ledger import Ledger
from server.lru_cache import LruCache
from server.periods.day_cover import NARROW, WIDER, Cover, Covering, Horizon, foreseen_tau
from server.periods.day_pieces import Days, KeptSource, Piece, kept_source, pieces, with_means
from server.periods.kept_parts import values_at
from server.periods.noted_periods import NotedPeriods
from server.periods.open_part import (
    At,
    PlanPart,
    expected_noise,
    least_that_does,
    lower_thresholds,
    question_of_days,
    wider_than,
)
from server.query import QueryRequest
from server.question import Question
from server.reuse.kept_outlines import KeptOutlines, Owned
from server.reuse.regroup import own_groups

_MOST_GROUPS = 20_000
_NEWEST, _LONGEST, _OTHERS = 16, 16, 8
"""Kept answers that are looked at: of those of which something may stand the newest, and of the rest those of the
most days, as each load leaves one of few days; and those that only say what was asked before, at which thresholds."""

_RECENT, _RECENT_BYTES = 64, 64 << 20
_YEARS = timedelta(days=3653)
"""How far back days are counted where the policy declares no first one."""

_CLOSED_SHARES = (0.95, 0.9, 0.85, 0.8, 0.75)
"""Of the epsilon of a question that is measured in two parts: what the closed one is tried with."""

_OPEN, _CLOSED = "open", "closed"

_ANEW = 0.5
"""Open days that take more of the whole question's epsilon than this are measured with all others, anew."""


@dataclass(frozen=True)
class Part:
    """Some days that are to be measured.

    Attributes:
      question, request: what is asked.
      key: under which its answer is kept.
      days: which.
    """

    question: Question
    request: QueryRequest
    key: str
    days: Days


@dataclass(frozen=True)
class Summed:
    """A question as a sum over days.

    Attributes:
      scope, noted: which rows it is of, and what the ledger says of closed periods.
      domain: its groups.
      pieces: that are kept.
      parts: that are to be measured.
    """

    scope: PeriodScope
    noted: NotedPeriods
    domain: Domain
    pieces: tuple[Piece, ...]
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class PeriodSums:
    """Finds out how a question is a sum over days.

    Attributes:
      policy, schema: what plans are made from.
      ledger: says what is closed.
      outlines, kept: what an analyst has paid for.
      plan: a bound question for a request, at a version of the data.
      groups: the public groups of a query, found on an analyst's behalf.
      recent: what was found out of questions lately.
    """

    policy: Policy
    schema: Schema
    ledger: Ledger
    outlines: KeptOutlines
    kept: KeptAnswers
    plan: PlanPart
    groups: Callable[[BackendQuery, str], Domain]
    recent: LruCache[tuple[int, str, int, int, int], _Looked] = field(
        default_factory=lambda: LruCache(_RECENT, _RECENT_BYTES, lambda _: 1 << 16)
    )

    def find(
        self,
        question: Question,
        bound: BoundQuery,
        request: QueryRequest,
        *,
        free: bool = False,
        wider: float,
    ) -> Summed | None:
        """How it is a sum over days; None where nothing is gained by that, or it is not certain to be one.

        Args:
          question, bound, request: what is asked; the question is that of this bound query at this version.
          free: is nothing to be measured?
          wider: how much wider than a fresh answer one may be.
        Cost: reads of the ledger; some microseconds for each group of the kept answers; some forty plans where
          something is to be measured; a read of public tables.
        """
        one = self._known_asked(question, bound, request)
        if one is None:
            return None
        cover = one.covering.cover(one.pieces, wider)
        if cover.pieces and not cover.fresh:
            return Summed(one.scope, one.noted, one.domain, cover.pieces, ())
        if free:
            return None
        if cover.pieces:
            found = self._open(one, cover, wider)
            if found is not None:
                return found
        return self._in_two(one, wider)

    def _known_asked(self, question: Question, bound: BoundQuery, request: QueryRequest) -> _Asked | None:
        """The same as `_asked`, once for a question as long as its analyst has no new answers."""
        owned = self.outlines.of_all(request.analyst, question.plan.policy_hash)
        entry = self.ledger.noted_periods()
        if entry is None or not owned:
            return None
        key = question.serial, request.analyst, owned[0].number, len(owned), entry.version
        known = self.recent.get(key)
        if known is None:
            known = self.recent.put(key, _Looked(self._asked(question, bound, request, entry, owned)))
        return known.asked if known.asked is None else replace(known.asked, request=request)

    def _asked(
        self,
        question: Question,
        bound: BoundQuery,
        request: QueryRequest,
        entry: PeriodsNoted,
        every: Sequence[Owned],
    ) -> _Asked | None:
        """What is known of a question; None where it is none that may be a sum over days."""
        plan = question.plan
        if (entry.version, entry.fingerprint) != (question.data_version, plan.fingerprint):
            return None  # this version, or state of the files, was not compared with the one before
        found = any(domain.is_discovered for domain in plan.domains)
        if not plan.releases or plan.selection is not None or plan.sampling is not None or found:
            return None
        if any(release.around is not None for release in plan.releases):
            return None  # what was measured around one number does not add up with what was around another
        scope = period_scope(bound, self.schema, self.policy)
        if scope is None:
            return None
        column = next((c for c in question.day_columns if (c.alias, c.name) == (scope.alias, scope.column)), None)
        asked = AskedQuestion(plan)
        if column is None or not all(asked.releases):
            return None
        noted, by_days = NotedPeriods.of(entry), AskedByDays(asked, column)

        def stands(days: Days, version: int) -> bool:
            since = question.data_version if version == question.data_version else noted.since(scope, days)
            return since is not None and since <= version

        matches = [
            (owned, match)
            for owned in every
            if owned.outline.data_version in noted.loads
            and (match := by_days.follows(owned.outline, noted.loads[owned.outline.data_version])) is not None
        ]
        may_stand = [pair for pair in matches if pair[1].by_days or stands(pair[1].kept_days, _version(pair[0]))]
        horizon = _horizon(scope, noted, self.policy)
        longest = sorted(may_stand[_NEWEST:], key=lambda pair: -horizon.length(pair[1].kept_days))[:_LONGEST]
        others = [pair for pair in matches if pair not in may_stand][:_OTHERS]
        matches = [*may_stand[:_NEWEST], *longest, *others]
        if not matches:
            return None
        domain = self.groups(question.query, request.analyst) if plan.group_keys else Domain(())
        own = own_groups(plan, domain, asked) if 0 < len(domain) <= _MOST_GROUPS else None
        if own is None:
            return None
        classes = {values: common_runs(runs, by_days.days) for values, runs in scope.classes().items()}
        class_of = [values_at(group, scope.places) for group in domain.groups]
        if not all(classes.get(values) for values in class_of):
            return None  # a group of rows without a date, say, is of no days
        sources = [
            source
            for owned, match in matches
            if (released := self.kept.released_to(owned.answer_key, request.analyst)) is not None
            and (source := kept_source(plan, asked.releases, owned, match, released)) is not None
        ]
        measuring = question.measuring.of_groups(domain)
        tables = [sorted(one.expected_noise(len(domain))) for one in measuring.releases]
        covering = Covering(
            classes,
            class_of,
            lambda release, tau: _at(tables[release], tau),
            [release.is_sum for release in plan.releases],
            horizon,
        )

        still = [piece for source in with_means(sources) for piece in pieces(source, own, class_of, classes, stands)]
        return _Asked(question, bound, request, scope, noted, domain, by_days.days, sources, still, covering, asked)

    def _open(self, one: _Asked, cover: Cover, wider: float) -> Summed | None:
        """Pieces, and the days that they leave as one question; None where that takes too much epsilon."""
        days, partial = cover.days, self._is_partial(one, cover)
        room = self._room(one, cover.pieces, days, wider) if partial else None
        wanted = [
            group
            for group, values in zip(one.domain.groups, one.covering.class_of, strict=True)
            if values in cover.fresh
        ]
        if partial and room is None:
            return None
        asked = self._part(one, days, wanted, room, one.question.plan.epsilon, _OPEN)
        if asked is None or (partial and asked.question.plan.epsilon > _ANEW * one.question.plan.epsilon):
            return None
        return Summed(one.scope, one.noted, one.domain, cover.pieces, (asked,))

    @staticmethod
    def _is_partial(one: _Asked, cover: Cover) -> bool:
        """Are days to be measured of groups of which other days are kept?"""
        return any(one.covering.class_of[int(piece.place[0])] in cover.fresh for piece in cover.pieces)

    def _room(self, one: _Asked, used: Sequence[Piece], days: Days, wider: float) -> list[tuple[float, float]] | None:
        """Per release: the threshold that a sum over open days is foreseen to choose, and how wide it may be then."""
        found = []
        for release, share in enumerate(one.covering.shares(used)):
            largest = max(piece.largest_tau(release) for piece in used)
            tau, left = one.foreseen(release, days), wider**2 - share
            if tau is None or left <= 0:
                return None
            fresh = one.covering.fresh(release, largest)
            found.append((min(tau, largest), fresh * min(math.sqrt(left), NARROW)))
        return found

    def _in_two(self, one: _Asked, wider: float) -> Summed | None:
        """The closed days and the open ones, each as a question; None for what was not asked before."""
        if one.scope.places or not all(one.covering.adds_up) or not self._asked_before(one):
            return None
        before = one.noted.before.get(one.scope.table)
        if before is None:
            return None
        closed = common_runs(one.days, [(None, before - timedelta(days=1))])
        opened = without_runs(one.days, closed)
        if not closed or not opened or one.noted.since(one.scope, closed) is None:
            return None
        epsilon, groups = one.question.plan.epsilon, one.domain.groups
        for share in _CLOSED_SHARES:
            first = self._part(one, closed, groups, None, share * epsilon, _CLOSED)
            room = None if first is None else self._room_beside(one, first, opened, wider)
            if first is None or room is None:
                continue
            left = epsilon - first.question.plan.epsilon
            second = self._part(one, opened, groups, room, left, _OPEN)
            if second is not None:
                return Summed(one.scope, one.noted, one.domain, (), (first, second))
        return None

    def _asked_before(self, one: _Asked) -> bool:
        """Does the analyst have an answer to this question of an earlier load, of days that begin alike?"""
        keys = [key.outline.name for key in one.asked.keys]
        return any(
            [key.name for key in source.owned.outline.keys] == keys
            and source.version < one.question.data_version
            and not source.match.match.extra
            and source.match.kept_days[0][0] == one.days[0][0]
            for source in one.sources
        )

    def _room_beside(self, one: _Asked, first: Part, days: Days, wider: float) -> list[tuple[float, float]] | None:
        """As `_room`, beside closed days that are measured now: at the thresholds that the whole question had."""
        found = []
        noise = expected_noise(first.question, one.domain)
        for release, table in enumerate(noise):
            whole = foreseen_tau(one.sources, release, one.days, one.covering.horizon)
            tau = one.foreseen(release, days)
            if whole is None or tau is None:
                return None
            fresh, own = one.covering.fresh(release, whole), _at(sorted(table.items()), whole)
            left = (wider * fresh) ** 2 - own**2
            if left <= 0:
                return None
            found.append((min(tau, whole), min(math.sqrt(left), NARROW * fresh)))
        return found

    def _part(
        self,
        one: _Asked,
        days: Days,
        wanted: Sequence[tuple[object, ...]],
        room: Sequence[tuple[float, float]] | None,
        most: float,
        name: str,
    ) -> Part | None:
        """The question of some days.

        Args:
          one: the whole.
          days, wanted: which, and the groups on them.
          room: per release, a threshold and how wide it may be; None: as the whole would be at each threshold.
          most: of epsilon.
          name: of the part.
        """
        capped = replace(one.question, plan=replace(one.question.plan, epsilon=most))

        def excess(part: Question, found: Domain) -> float:
            tables = expected_noise(part, found)
            if room is not None:
                pairs = zip(tables, room, strict=True)
                return max(_at(sorted(table.items()), tau) / width for table, (tau, width) in pairs)
            return wider_than(tables, one.noise, lower_thresholds(one.question.plan, one.domain, found))

        def epsilon_of(at: At, found: Domain) -> float | None:
            if name == _CLOSED:
                return most
            return least_that_does(capped.plan, at, found, self.policy, lambda part: excess(part, found))

        found = question_of_days(
            capped,
            one.bound,
            replace(one.request, epsilon=most),
            one.scope,
            days,
            wanted,
            lambda bound, asked, query: self.plan(bound, asked, one.question.data_version, query),
            lambda query: self.groups(query, one.request.analyst),
            epsilon_of,
            name,
        )
        if found is None:
            return None
        return Part(*found, _part_key(one.question.answer_key, one.request.analyst, name, days), days)


@dataclass(frozen=True)
class _Looked:
    """What was found out of a question."""

    asked: _Asked | None


@dataclass(frozen=True)
class _Asked:
    """What is known of a question."""

    question: Question
    bound: BoundQuery
    request: QueryRequest
    scope: PeriodScope
    noted: NotedPeriods
    domain: Domain
    days: Days
    sources: Sequence[KeptSource]
    pieces: Sequence[Piece]
    covering: Covering
    asked: AskedQuestion

    @cached_property
    def noise(self) -> list[dict[float, float]]:
        """What the whole question would have, measured anew."""
        return expected_noise(self.question, self.domain)

    def foreseen(self, release: int, days: Days) -> float | None:
        """By answers to this very question of other days, before those with other groups."""
        keys = [key.outline.name for key in self.asked.keys]
        alike = [one for one in self.sources if [key.name for key in one.owned.outline.keys] == keys]
        return foreseen_tau(alike or self.sources, release, days, self.covering.horizon)


def _part_key(whole_key: str, analyst: str, name: str, days: Days) -> str:
    """The answer key of a part: which days it is of depends on what the analyst has by then."""
    text = f"{name} part of {whole_key} for {analyst}: {[tuple(map(str, run)) for run in days]}"
    return hashlib.sha256(text.encode()).hexdigest()


def _horizon(scope: PeriodScope, noted: NotedPeriods, policy: Policy) -> Horizon:
    """From the first declared day, to that of the load."""
    promise = policy.tables[scope.table].append_only
    before = noted.before.get(scope.table, date.max)
    after = timedelta(days=0 if promise is None else promise.closed_after_days)
    last = before + after if before < date.max - after else date.max
    declared = None if scope.declared is None else scope.declared[0]
    return Horizon(declared or max(date.min, last - _YEARS), last)


def _at(table: Sequence[tuple[float, float]], tau: float) -> float:
    """What a table, in order of thresholds, says at the first that is no smaller, or at its last."""
    return next((width for own, width in table if own >= tau), table[-1][1])


def _version(owned: Owned) -> int:
    return owned.outline.data_version


def most_width(request: QueryRequest) -> float:
    """How many times as wide as a fresh answer one may be that is put together from parts."""
    return 1.0 if request.as_accurate else WIDER
