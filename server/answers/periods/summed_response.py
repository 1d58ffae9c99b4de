"""Build the response of a sum over days: values, cached periods, and notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from planner.group_domains.day_conditions import Run, joined_runs
from planner.reuse.period_scope import PeriodScope
from privacy.registry import MECHANISMS, JointMechanism
from server.answers.cached_answers import Served
from server.answers.derived import MEANS, plan_of_parts
from server.answers.periods.day_pieces import Piece
from server.answers.periods.day_sums import DaySum
from server.answers.periods.noted_periods import NotedPeriods
from server.answers.sums import part_of, put_together
from server.query import Budget, CachedPeriods, QueryResponse
from server.question import Question
from server.results.notes import confidence_notes
from server.results.response import response

_SOME_CACHED = (
    "{cached} of {groups} groups are cached from earlier data versions ({which}): rows of {table} closed by {column} "
    "have not changed. {others} were measured over data version {version}, and only they are charged."
)
_ALL_CACHED = (
    "This answer is cached from earlier data versions ({which}): rows of {table} closed by {column} have not "
    "changed. It is free."
)
_CLIPPED_TOGETHER = "The cached groups were clipped together with groups that were open then."
_REOPENED = "The administrator reopened {which}; these periods were measured again."
_SHOWN = 12


def reopened_notes(noted: NotedPeriods, scope: PeriodScope, days: Sequence[Run]) -> Iterator[str]:
    """Yield a note about reopened periods among the measured days, if there are any."""
    reopened = noted.reopened_within(scope, days) if days else ()
    if reopened:
        yield _REOPENED.format(which=", ".join(f"{period} (version {at})" for period, at in reopened[-_SHOWN:]))


_ADDED_UP = "A value is the sum of up to {most} parts about different days, each clipped at tau by itself."
IN_TWO = (
    "It was measured in two parts, closed days and open days. With new data, only the open days are measured and "
    "charged."
)


def summed_response(
    summed: DaySum, question: Question, served: Sequence[Served], budget: Budget, request_id: str
) -> QueryResponse:
    """Return the answer as the client receives it."""
    plan, domain = question.plan, summed.domain
    known = {group: place for place, group in enumerate(domain.groups)}
    parts = [(piece.noisy, piece.rows, piece.place) for piece in summed.pieces]
    for part, one in zip(summed.parts, served, strict=True):
        groups = one.released.domain.groups
        rows = [row for row, group in enumerate(groups) if group in part.groups]
        place = np.array([known[groups[row]] for row in rows], np.int64)
        parts.append((one.released.noisy, np.array(rows, np.int64), place))
    counts = np.bincount(np.concatenate([place for _, _, place in parts]), minlength=len(domain))
    most, shown = int(counts.max(initial=0)), np.arange(len(domain))
    if plan.selection is not None:
        shown = np.flatnonzero(counts)
        domain = domain.only(shown, len(domain) - len(shown))
    parts = [(own, rows, np.searchsorted(shown, place)) for own, rows, place in parts]
    noisy = tuple(
        put_together([part_of(own[release], rows, place) for own, rows, place in parts], len(domain))
        for release in range(len(plan.releases))
    )
    if most > 1:
        plan = plan_of_parts(plan, noisy)
    answer = response(plan, domain, noisy, budget, request_id)
    notes = (*answer.notes, *_notes(summed, question, most))
    return replace(
        answer,
        epsilon=sum(one.epsilon for one in served),
        delta=sum(one.delta for one in served),
        cached=all(one.cached for one in served),
        notes=(*notes, *(confidence_notes(answer.confidence) if most > 1 else ())),
        cached_periods=tuple(cached_periods(summed)),
    )


def cached_periods(summed: DaySum) -> Iterator[CachedPeriods]:
    """Yield what is cached, by data version, the newest first."""
    for version in sorted({piece.version for piece in summed.pieces}, reverse=True):
        used = [piece for piece in summed.pieces if piece.version == version]
        days = joined_runs([run for piece in used for run in piece.days])
        first, last = days[0][0], days[-1][1]
        yield CachedPeriods(
            version=version,
            first=None if first is None else first.isoformat(),
            last=None if last is None else last.isoformat(),
            groups=_cached_groups(summed, used),
        )


def _cached_groups(summed: DaySum, pieces: Sequence[Piece]) -> int:
    """Count the groups with cached parts, withheld groups included."""
    values = {piece.values for piece in pieces}
    return sum(own in values for own in summed.class_of)


def explained_days(summed: DaySum) -> str:
    """Return the sentence for EXPLAIN."""
    if not summed.parts:
        return _ALL_FREE
    charged = " and ".join(f"{part.question.plan.epsilon:g}" for part in summed.parts)
    if not summed.pieces:
        return _TWO_PARTS.format(epsilon=charged)
    return _SOME_FREE.format(epsilon=charged)


_ALL_FREE = "You have valid answers about all of its days, so it is free."
_SOME_FREE = "You have answers about some of its days. Only the other days are measured, at epsilon {epsilon}."
_TWO_PARTS = (
    "The data has changed since you asked this. Closed days and open days are measured again, in separate parts, at "
    "epsilon {epsilon}. Later only the open days are measured."
)


def _notes(summed: DaySum, question: Question, most: int) -> Iterator[str]:
    scope, version, groups = summed.scope, summed.noted.version, len(summed.domain)
    cached = list(cached_periods(summed))
    earlier = [one for one in cached if one.version < version]
    which = "; ".join(f"version {one.version}: {one.first or 'the first day'} to {one.last}" for one in earlier)
    told = {"which": which, "table": scope.table, "column": scope.column}
    if earlier and summed.parts:
        count, parts = _cached_groups(summed, summed.pieces), most > 1
        kept_of, others = (f"Parts of {count}", "The other days") if parts else (str(count), "The others")
        yield _SOME_CACHED.format(cached=kept_of, groups=groups, version=version, others=others, **told)
    elif earlier:
        yield _ALL_CACHED.format(**told)
    if most > 1:
        yield _ADDED_UP.format(most=most)
    combined = max((piece.combined for piece in summed.pieces), default=1)
    if combined > 1:
        yield MEANS.format(count=combined)
    if not summed.pieces:
        yield IN_TWO
    together = (
        isinstance(MECHANISMS[question.plan.mechanism], JointMechanism) or question.plan.bounds.rule is not None
    )
    if earlier and question.plan.group_keys and together:
        yield _CLIPPED_TOGETHER
    days = joined_runs([run for part in summed.parts for run in part.days])
    yield from reopened_notes(summed.noted, scope, days)
