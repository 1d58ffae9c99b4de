"""Write a question as a sum over days, cached and measured, so that cached answers about closed days serve again.

Privacy does not depend on this module. Cached parts were released to this analyst and charged. Each measured part is
a question of its own, reserved and charged. The choice of parts and their epsilons depends on the policy, the
ledger's entries about closed periods, and the analyst's own answers; the analyst knows all of these.

A total over all days has nothing to reuse when it is asked first. Asked again with new data, it is measured in two
parts for the epsilon that was asked for: the closed days, whose answer stays cached, and the open days. From then on
only the open days are measured. The whole stays within `WIDER` of a new answer, and the open part within `NARROW` of
one. Once that takes half of the question's epsilon, both parts are measured again. Two parts at the first asking cost
more than they save on dashboards, because most filtered views are opened a few times only.

Ranks and groups that may be withheld do not add up. They are cached group by group, from answers to the very same
question at the same epsilon (`DaySums._same`).
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import cached_property
from typing import cast

import numpy as np

from planner.errors import PlannerError
from planner.group_domains.day_conditions import common_runs, without_runs
from planner.plan import BackendQuery, Plan
from planner.planning.answer_times import least_epsilon
from planner.policy.policy import Policy
from planner.reuse.matching import AskedQuestion
from planner.reuse.period_scope import MOST_RUNS, PeriodScope, TimeValues, period_scope
from planner.sql.result_types import KeyCell
from privacy.registry import MECHANISMS
from server.answers.cached_answers import CachedAnswers
from server.answers.cached_outlines import CachedOutlines, Owned
from server.answers.periods.day_cover import (
    NARROW,
    Cover,
    Covering,
    Horizon,
    expected_noise,
    least_that_does,
    lower_thresholds,
    predicted_tau,
    releases_alike,
    wider_than,
)
from server.answers.periods.day_pieces import (
    CachedSource,
    Days,
    Piece,
    cached_source,
    open_part_key,
    pieces,
    with_means,
)
from server.answers.periods.noted_periods import NotedPeriods
from server.answers.reusing import own_groups
from server.backends.columns import Domain, has_no_group
from server.lru_cache import LruCache
from server.planning import Planning
from server.query import QueryRequest
from server.question import Question, answer_key

_MOST_GROUPS = 20_000
_NEWEST, _LONGEST, _OTHERS = 16, 16, 8
"""How many cached answers are read: the newest valid ones, then those of the most days, then those that only tell
thresholds. Each data version leaves one answer about few days."""

_MOST_VERSIONS = 366
"""How many data versions back an answer is searched."""

_RECENT, _RECENT_BYTES = 64, 64 << 20
_YEARS = timedelta(days=3653)
"""How far back days are counted where the policy declares no first day."""

_CLOSED_SHARES = (0.95, 0.9, 0.85, 0.8, 0.75)
"""Shares of epsilon that are tried for the closed part of a question in two parts."""

_OPEN, _CLOSED = "open", "closed"

_ANEW = 0.5
"""Open days that need more of the question's epsilon than this are measured with all others."""

Room = Sequence[tuple[float, float]]
"""Per release, a threshold and the widest half interval there."""


@dataclass(frozen=True)
class Part:
    """Days to measure.

    Attributes:
      question, request: about these days.
      key: answer key of the part.
      days: which.
      groups: the whole question's groups on these days. The part's answer may have others.
    """

    question: Question
    request: QueryRequest
    key: str
    days: Days
    groups: Collection[tuple[object, ...]]


@dataclass(frozen=True)
class DaySum:
    """A question as a sum over days.

    Attributes:
      scope, noted: its rows, and the ledger's closed periods.
      domain: its groups.
      class_of: (G,) the values of the time keys of each.
      pieces: cached parts.
      parts: to be measured.
    """

    scope: PeriodScope
    noted: NotedPeriods
    domain: Domain
    class_of: Sequence[TimeValues]
    pieces: tuple[Piece, ...]
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class _Whole:
    """A question about days of one append-only table, at a data version whose periods were compared."""

    planning: Planning
    question: Question
    analyst: str
    scope: PeriodScope
    noted: NotedPeriods

    @cached_property
    def domain(self) -> Domain:
        """Its groups, from public tables."""
        return self.planning.groups_of(self.question, self.analyst)

    @cached_property
    def class_of(self) -> list[TimeValues]:
        """(G,) the values of the time keys of each group."""
        places = self.scope.places
        return [cast(tuple[KeyCell, ...], tuple(group[place] for place in places)) for group in self.domain.groups]

    @cached_property
    def noise(self) -> list[dict[float, float]]:
        """The noise of the whole question, measured again."""
        return expected_noise(self.question, self.domain)

    def groups_among(self, values: Mapping[TimeValues, Days]) -> list[tuple[object, ...]]:
        """Return its groups with some values of the time keys."""
        return [group for group, own in zip(self.domain.groups, self.class_of, strict=True) if own in values]

    def summed(self, cached: Sequence[Piece], *parts: Part) -> DaySum:
        """Return the question as a sum of these parts."""
        return DaySum(self.scope, self.noted, self.domain, self.class_of, tuple(cached), parts)


@dataclass(frozen=True)
class _Adding:
    """A question that may be a sum of other answers, with the answers found."""

    whole: _Whole
    days: Days
    sources: Sequence[CachedSource]
    pieces: Sequence[Piece]
    covering: Covering
    asked: AskedQuestion

    def predicted(self, release: int, days: Days) -> float | None:
        """Predict the threshold from answers to this question about other days, else with other groups."""
        keys = [key.outline.name for key in self.asked.keys]
        alike = [one for one in self.sources if [key.name for key in one.owned.outline.keys] == keys]
        return predicted_tau(alike or self.sources, release, days, self.covering.horizon)


@dataclass(frozen=True)
class DaySums:
    """Write questions as sums over days.

    Attributes:
      planning: plans parts, and reads public groups.
      outlines, cached: what an analyst has paid for.
      recent: recent findings.
    """

    planning: Planning
    outlines: CachedOutlines
    cached: CachedAnswers
    recent: LruCache[tuple[int, str, int, int, int], tuple[_Adding | None]] = field(
        default_factory=lambda: LruCache(_RECENT, _RECENT_BYTES, lambda _: 1 << 16)
    )

    @cached_property
    def append_only(self) -> bool:
        """Whether the policy declares an append-only table."""
        return any(table.append_only is not None for table in self.planning.policy.tables.values())

    def find(self, question: Question, request: QueryRequest, *, free: bool, wider: float) -> DaySum | None:
        """Write a question as a sum over days; None if that gains nothing, or is not proved to give the same answer.

        Args:
          free: is nothing to be measured?
          wider: how much wider than a new answer one may be.
        Cost: reads of the ledger; microseconds for each cached group; some forty plans where something is measured; a
          read of public tables.
        """
        whole = self._whole(question, request.analyst)
        if whole is None:
            return None
        same = self._same(whole)
        if same is not None and not same.fresh:
            return whole.summed(same.pieces)
        adding = self._known_adding(whole)
        if adding is not None:
            cover = adding.covering.cover(adding.pieces, wider)
            if cover.pieces and not cover.fresh:
                return whole.summed(cover.pieces)
            found = None
            fewer = same is not None and not cover.is_partial and len(same.fresh) <= len(cover.fresh)
            if cover.pieces and not free and not fewer:
                found = self._open(adding, cover, request, wider)
            if found is None and not free:
                found = self._in_two(adding, request, wider)
            if found is not None:
                return found
        if same is None or free:
            return None
        return self._beside(whole, same, request, whole.scope.classes())

    def _whole(self, question: Question, analyst: str) -> _Whole | None:
        """Return the question with its scope; None where no period of it can be cached."""
        plan, bound = question.plan, question.bound
        if not self.append_only or bound is None or not plan.releases or not _is_plain(plan):
            return None
        entry = self.planning.ledger.noted_periods()
        if entry is None or (entry.version, entry.fingerprint) != (question.data_version, plan.fingerprint):
            return None  # this version's periods were not compared with earlier ones
        scope = period_scope(bound, self.planning.schema, self.planning.policy)
        return None if scope is None else _Whole(self.planning, question, analyst, scope, NotedPeriods.of(entry))

    def _same(self, whole: _Whole) -> Cover | None:
        """Return whole groups from earlier answers to this very question, at the same epsilon.

        The ledger has a whole answer under the question's answer key at that data version, and an open part under
        `open_part_key`. So ranks and withheld groups work, too.

        Returns: one piece per value of the time keys, from the newest answers; None where there is none.
        Cost: a hash of the question per earlier version, one read of the ledger, and one per answer that is used.
        """
        question, classes, noted = whole.question, whole.scope.classes(), whole.noted
        if has_no_group(question.query, whole.domain) or not set(whole.class_of) <= classes.keys():
            return None  # a group of rows without a date belongs to no period
        members = Counter(whole.class_of)
        number_of = {group: number for number, group in enumerate(whole.domain.groups)}
        since = {values: noted.since(whole.scope, classes[values]) for values in members}
        missing = {values: version for values, version in since.items() if version is not None}
        versions = sorted((one for one in noted.fingerprints if one < question.data_version), reverse=True)[
            :_MOST_VERSIONS
        ]
        keys: list[tuple[int, str, bool]] = []
        for version in versions if missing else ():
            query = replace(question.query, fingerprint=noted.fingerprints[version])
            key = answer_key(question.plan, query, self.planning.policy.time_grain, version)
            keys += [(version, key, True), (version, open_part_key(key, whole.analyst), False)]
        there = self.cached.ledger.paid_among([key for _, key, _ in keys], whole.analyst)
        selected = question.plan.selection is not None
        found: list[Piece] = []
        for version, key, is_whole in keys:
            usable = [values for values, oldest in missing.items() if oldest <= version]
            released = self.cached.released_to(key, whole.analyst) if usable and key in there else None
            if released is None:
                continue
            # a whole answer that withholds a group is an answer about it; a part may not have asked about it
            all_asked = selected and is_whole and released.domain.asked == len(whole.domain)
            rows: dict[TimeValues, list[tuple[int, int]]] = defaultdict(list)
            for row, group in enumerate(released.domain.groups):
                if (number := number_of.get(group)) is not None:
                    rows[whole.class_of[number]].append((row, number))
            for values in usable:
                shown = rows[values]
                if all_asked or (shown and selected) or len(shown) == members[values]:
                    own, place = np.array(shown, np.int64).reshape(-1, 2).T
                    found.append(Piece(released.noisy, version, version, 1, values, classes[values], own, place))
                    del missing[values]
        cached = {piece.values for piece in found}
        return Cover(tuple(found), {one: classes[one] for one in members if one not in cached}) if found else None

    def _known_adding(self, whole: _Whole) -> _Adding | None:
        """Return `_adding`, computed once until the analyst has new answers."""
        owned = self.outlines.of_all(whole.analyst)
        if not owned:
            return None
        key = whole.question.serial, whole.analyst, owned[0].number, len(owned), whole.noted.version
        known = self.recent.get(key)
        if known is None:
            known = self.recent.put(key, (self._adding(whole, owned),))
        return known[0]

    def _adding(self, whole: _Whole, every: Sequence[Owned]) -> _Adding | None:
        """Collect what is known of a question; None where it cannot be a sum over days."""
        question, scope, noted, plan = whole.question, whole.scope, whole.noted, whole.question.plan
        if plan.selection is not None or any(domain.selects_partitions for domain in plan.domains):
            return None
        if any(release.around is not None for release in plan.releases):
            return None  # sums around different centres do not add up
        column = next((c for c in question.day_columns if (c.alias, c.name) == (scope.alias, scope.column)), None)
        asked = AskedQuestion(plan)
        if column is None or not all(asked.releases):
            return None
        by_days = asked.by_days(column)

        def stands(days: Days, version: int) -> bool:
            since = question.data_version if version == question.data_version else noted.since(scope, days)
            return since is not None and since <= version

        matches = [
            (owned, match)
            for owned in every
            if owned.outline.data_version in noted.fingerprints
            and (match := by_days.match(owned.outline, noted.fingerprints[owned.outline.data_version])) is not None
        ]
        may_stand = [
            pair for pair in matches if pair[1].by_days or stands(pair[1].cached_days, pair[0].outline.data_version)
        ]
        horizon = _horizon(scope, noted, self.planning.policy)
        longest = sorted(may_stand[_NEWEST:], key=lambda pair: -horizon.length(pair[1].cached_days))[:_LONGEST]
        others = [pair for pair in matches if pair not in may_stand][:_OTHERS]
        matches = [*may_stand[:_NEWEST], *longest, *others]
        if not matches:
            return None
        domain, class_of = whole.domain, whole.class_of
        own = own_groups(plan, domain, asked) if 0 < len(domain) <= _MOST_GROUPS else None
        if own is None:
            return None
        days = common_runs(by_days.days, [scope.grouped])
        classes = {values: common_runs(runs, days) for values, runs in scope.classes().items()}
        if not all(classes.get(values) for values in class_of):
            return None  # a group of rows without a date has no days
        sources = [
            source
            for owned, match in matches
            if (released := self.cached.released_to(owned.answer_key, whole.analyst)) is not None
            and (source := cached_source(plan, asked.releases, owned, match, released)) is not None
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
        return _Adding(whole, by_days.days, sources, still, covering, asked)

    def _open(self, one: _Adding, cover: Cover, request: QueryRequest, wider: float) -> DaySum | None:
        """Measure the days that the pieces leave as one question; None where that takes too much epsilon."""
        if not cover.is_partial:
            return self._beside(one.whole, cover, request, one.covering.classes)
        beside = [
            (max(piece.largest_tau(release) for piece in cover.pieces), share)
            for release, share in enumerate(one.covering.shares(cover.pieces))
        ]
        room = self._room(one, cover.days, beside, wider)
        if room is None:
            return None
        whole, epsilon = one.whole, one.whole.question.plan.epsilon
        part = self._part(whole, request, cover.days, whole.groups_among(cover.fresh), room, epsilon, _OPEN)
        if part is None or part.question.plan.epsilon > _ANEW * epsilon:
            return None
        return whole.summed(cover.pieces, part)

    def _beside(
        self, whole: _Whole, cover: Cover, request: QueryRequest, classes: Mapping[TimeValues, Days]
    ) -> DaySum | None:
        """Measure the groups that are not cached as one question, with no more noise than in the whole."""
        for tried in (cover, cover.without_gaps(classes)):
            if tried is None:
                continue
            wanted, most = whole.groups_among(tried.fresh), whole.question.plan.epsilon
            part = self._part(whole, request, tried.days, wanted, None, most, _OPEN)
            if part is not None:
                part = replace(part, key=open_part_key(whole.question.answer_key, whole.analyst))
                return whole.summed(tried.pieces, part) if self._asked_alike(part, whole) else None
        return None

    def _asked_alike(self, part: Part, whole: _Whole) -> bool:
        """Did an earlier answer under the part's key cover all groups that are to be measured?

        Where groups may be withheld, their number decides: the open part of a data version only shrinks.
        """
        known = self.cached.released_to(part.key, whole.analyst)
        if known is None:
            return True
        if whole.question.plan.selection is not None:
            return known.domain.asked == len(part.groups)
        return set(part.groups) <= set(known.domain.groups)

    @staticmethod
    def _room(one: _Adding, days: Days, beside: Sequence[tuple[float, float]], wider: float) -> Room | None:
        """Return how wide a sum over some days may be, at its predicted threshold.

        Args:
          beside: of the other days, per release: the largest threshold, and the square of the half width as a share
            of a new answer's.
          wider: how much wider than a new answer both may be.
        """
        found = []
        for release, (largest, share) in enumerate(beside):
            tau, left = one.predicted(release, days), wider**2 - share
            if tau is None or left <= 0:
                return None
            found.append((min(tau, largest), one.covering.fresh(release, largest) * min(math.sqrt(left), NARROW)))
        return found

    def _in_two(self, one: _Adding, request: QueryRequest, wider: float) -> DaySum | None:
        """Measure closed and open days as two questions; None where this was not asked before."""
        whole, noted, scope = one.whole, one.whole.noted, one.whole.scope
        if scope.places or not all(one.covering.adds_up) or not self._asked_before(one):
            return None
        before = noted.before.get(scope.table)
        if before is None:
            return None
        closed = common_runs(one.days, [(None, before - timedelta(days=1))])
        opened = without_runs(one.days, closed)
        if not closed or not opened or noted.since(scope, closed) is None:
            return None
        epsilon, groups = whole.question.plan.epsilon, whole.domain.groups
        for share in _CLOSED_SHARES:
            first = self._part(whole, request, closed, groups, None, share * epsilon, _CLOSED)
            room = None if first is None else self._room(one, opened, self._measured(one, first), wider)
            if first is None or room is None:
                continue
            left = epsilon - first.question.plan.epsilon
            second = self._part(whole, request, opened, groups, room, left, _OPEN)
            if second is not None:
                return whole.summed((), first, second)
        return None

    @staticmethod
    def _asked_before(one: _Adding) -> bool:
        """Does the analyst have an earlier version's answer to this question, about days that begin alike?"""
        keys = [key.outline.name for key in one.asked.keys]
        return any(
            [key.name for key in source.owned.outline.keys] == keys
            and source.version < one.whole.question.data_version
            and not source.match.extra
            and source.match.cached_days[0][0] == one.days[0][0]
            for source in one.sources
        )

    @staticmethod
    def _measured(one: _Adding, part: Part) -> list[tuple[float, float]]:
        """Return `beside` of `_room` for days measured now, at the thresholds of the whole question."""
        found = []
        for release, table in enumerate(expected_noise(part.question, one.whole.domain)):
            tau = predicted_tau(one.sources, release, one.days, one.covering.horizon)
            assert tau is not None, "it was asked before"
            fresh, own = one.covering.fresh(release, tau), _at(sorted(table.items()), tau)
            found.append((tau, (own / fresh) ** 2 if fresh > 0 else math.inf))
        return found

    def _part(
        self,
        whole: _Whole,
        request: QueryRequest,
        days: Days,
        wanted: Sequence[tuple[object, ...]],
        room: Room | None,
        most: float,
        name: str,
    ) -> Part | None:
        """Return the question about some days.

        Args:
          room: how wide it may be; None: as the whole would be at each threshold.
          name: of the part, for its idempotency key.
        Returns: None where it is not proved to be the same question about other days, or no epsilon is enough.
        Cost: some twenty plans, and a read of public tables.
        """
        question, policy = whole.question, self.planning.policy
        if len(days) > MOST_RUNS or any(run == (None, None) for run in days):
            return None
        narrowed = whole.scope.narrowed(question.whole_bound, days)
        key = f"{request.idempotency_key}#{name}" if request.idempotency_key else ""
        chosen = question.plan.mechanism
        mechanism = chosen if MECHANISMS[chosen].offered else request.mechanism  # the planner repeats its own choice
        asked = replace(request, mechanism=mechanism, idempotency_key=key)

        def at(epsilon: float, query: BackendQuery | None = None) -> Question:
            wished, version = replace(asked, epsilon=epsilon), question.data_version
            return self.planning.of_bound(narrowed, wished, data_version=version, query=query)

        def excess(part: Question) -> float:
            tables = expected_noise(part, groups)
            if room is not None:
                pairs = zip(tables, room, strict=True)
                return max(_at(sorted(table.items()), tau) / width for table, (tau, width) in pairs)
            return wider_than(tables, whole.noise, lower_thresholds(question.plan, whole.domain, part.plan, groups))

        try:
            part = at(most)
            groups = self.planning.groups_of(part, request.analyst)
            if not releases_alike(question.plan, part.plan) or set(groups.groups) != set(wanted):
                return None
            epsilon: float | None = most
            if name != _CLOSED and all(release.ranked is None for release in question.plan.releases):
                # the effect of noise on a rank depends on the data
                query = part.query
                least = least_epsilon(question.plan.size, policy.side_channels, policy.max_epsilon)
                epsilon = least_that_does(lambda tried: at(tried, query), least, most, len(groups), excess)
                if epsilon is None and room is None:
                    epsilon = most
            if epsilon is None:
                return None
            part = part if epsilon == most else at(epsilon)
        except PlannerError:
            return None
        own_key = _part_key(question.answer_key, whole.analyst, name, days)
        return Part(part, replace(asked, epsilon=epsilon), own_key, days, frozenset(wanted))


def _is_plain(plan: Plan) -> bool:
    """Is it no sample, without selected group keys and without counts of units above a threshold?"""
    counted = any(release.counts_exceeding for release in plan.releases)
    return plan.sampling is None and not counted and (plan.selection is None or plan.selection.delta == 0)


def _part_key(whole_key: str, analyst: str, name: str, days: Days) -> str:
    """Return the answer key of a part, whose days depend on the analyst's answers."""
    text = f"{name} part of {whole_key} for {analyst}: {[tuple(map(str, run)) for run in days]}"
    return hashlib.sha256(text.encode()).hexdigest()


def _horizon(scope: PeriodScope, noted: NotedPeriods, policy: Policy) -> Horizon:
    """Return the days from the first declared one to the data version's."""
    promise = policy.tables[scope.table].append_only
    before = noted.before.get(scope.table, date.max)
    after = timedelta(days=0 if promise is None else promise.closed_after_days)
    last = before + after if before < date.max - after else date.max
    declared = None if scope.declared is None else scope.declared[0]
    return Horizon(declared or max(date.min, last - _YEARS), last)


def _at(table: Sequence[tuple[float, float]], tau: float) -> float:
    """Look a threshold up in a table: the first that is no smaller, else the last."""
    return next((width for own, width in table if own >= tau), table[-1][1])
