"""A sum over days as it is served: values, what they are put together from, and what is said of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from planner.group_domains.day_conditions import joined_runs
from privacy.registry import MECHANISMS, JointMechanism
from server.answers.served import Served
from server.periods.kept_words import ALL_KEPT, CUT_TOGETHER, PARTLY_KEPT, REST, SOME_KEPT, reopened_notes
from server.periods.period_sums import Summed
from server.periods.summed_answer import Measured, added, places_of
from server.query import Budget, KeptPeriods, QueryResponse
from server.question import Question
from server.results.notes import confidence_notes
from server.results.response import response
from server.reuse.derived import MEANS
from server.reuse.usable import cut_as_vectors, one_factor

_ADDED_UP = (
    "A value is the sum of up to {most} parts, of different days. In each of them what a person adds was cut "
    "at tau by itself; a question of its own would have cut it once."
)
IN_TWO = (
    "It was measured in two parts: the days that are closed, whose part stays for later loads, and the others. Asked "
    "again after a load, only what is open then is measured and charged."
)


def summed_response(
    summed: Summed, question: Question, served: Sequence[Served], budget: Budget, request_id: str
) -> QueryResponse:
    """The answer as the client is given it.

    Args:
      summed, question: how it is put together, and what was asked.
      served: one per part that was to be measured.
      budget: the analyst's, after this.
      request_id: as in the request.
    """
    plan, groups = question.plan, summed.domain.groups
    measured = [Measured(one.released, places_of(one.released, groups)) for one in served]
    noisy = added(summed.pieces, measured, len(plan.releases), len(groups))
    parts = np.concatenate([piece.place for piece in summed.pieces] + [one.place for one in measured])
    most = int(np.bincount(parts, minlength=1).max())
    if most > 1:
        joint = any("joint_scale" in one.mechanism for one in noisy)
        plan = replace(
            plan,
            mechanism=cut_as_vectors(noisy) or plan.mechanism,
            tuples_per_unit=None if joint or one_factor(noisy) else plan.tuples_per_unit,
            group_rule=None,
        )
    shown = response(plan, summed.domain, noisy, budget, request_id)
    notes = (*shown.notes, *_notes(summed, question, most))
    return replace(
        shown,
        epsilon=sum(one.epsilon for one in served),
        delta=sum(one.delta for one in served),
        cached=all(one.cached for one in served),
        notes=(*notes, *(confidence_notes(shown.confidence) if most > 1 else ())),
        kept=tuple(kept_periods(summed)),
    )


def kept_periods(summed: Summed) -> Iterator[KeptPeriods]:
    """What is kept, by the version of the data that it was measured over, the newest first."""
    for version in sorted({piece.source.version for piece in summed.pieces}, reverse=True):
        used = [piece for piece in summed.pieces if piece.source.version == version]
        days = joined_runs([run for piece in used for run in piece.days])
        first, last = days[0][0], days[-1][1]
        yield KeptPeriods(
            version=version,
            first=None if first is None else first.isoformat(),
            last=None if last is None else last.isoformat(),
            groups=len({place for piece in used for place in piece.place.tolist()}),
        )


def told_before(summed: Summed) -> str:
    """What EXPLAIN says of it."""
    if not summed.parts:
        return _ALL_FREE
    charged = " and ".join(f"{part.question.plan.epsilon:g}" for part in summed.parts)
    if not summed.pieces:
        return _TWO_PARTS.format(epsilon=charged)
    return _SOME_FREE.format(epsilon=charged)


_ALL_FREE = "Its days are closed, or measured already: unless you have this answer, it is free."
_SOME_FREE = (
    "You have answers about some of its days: unless you have this one, the other days alone are measured, at "
    "epsilon {epsilon}."
)
_TWO_PARTS = (
    "You have asked this of an earlier load: unless you have this answer, the closed days and the others are "
    "measured apart, at epsilon {epsilon}, and the former will be free after the next load."
)


def _notes(summed: Summed, question: Question, most: int) -> Iterator[str]:
    scope, version, groups = summed.scope, summed.noted.version, len(summed.domain)
    kept = list(kept_periods(summed))
    earlier = [one for one in kept if one.version < version]
    which = "; ".join(f"version {one.version}: {one.first or 'the first day'} to {one.last}" for one in earlier)
    told = {"which": which, "table": scope.table, "column": scope.column}
    if earlier and summed.parts:
        count = len({place for piece in summed.pieces for place in piece.place.tolist()})
        if most > 1:
            yield PARTLY_KEPT.format(kept=count, groups=groups, version=version, **told)
        else:
            yield SOME_KEPT.format(kept=count, groups=groups, rest=REST.format(version=version), **told)
    elif earlier:
        yield ALL_KEPT.format(**told)
    if most > 1:
        yield _ADDED_UP.format(most=most)
    combined = max((piece.source.combined for piece in summed.pieces), default=1)
    if combined > 1:
        yield MEANS.format(count=combined)
    if not summed.pieces:
        yield IN_TWO
    together = isinstance(MECHANISMS[question.plan.mechanism], JointMechanism) or question.plan.group_rule is not None
    if earlier and question.plan.group_keys and together:
        yield CUT_TOGETHER
    days = joined_runs([run for part in summed.parts for run in part.days])
    yield from reopened_notes(summed.noted, scope, days)
