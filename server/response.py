"""From noisy releases to the answer: post-processing only, so nothing here can cost privacy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal

from planner.plan import Output, Plan
from privacy.noisy_answer import NoisyAnswer
from server.backends.columns import Domain
from server.query import Budget, Cell, Interval, QueryResponse, ResultColumn

_NOTES = {
    "truncated_full": "An interval covers the noise, at the given confidence, around the answer after cutting what "
    "each person adds to tau. How much the cut took away is outside of it: the true answer may lie above.",
    "truth_lower": "An interval is one-sided: at the given confidence the true answer is not below its lower end.",
    "released_sample": "An interval covers the noise and the sampling error of the truncated answer; the bias of "
    "cutting contributions at tau is outside of it.",
}


_WEAK = (
    "Too little budget for {rows}: the value may be cut to any part of the true one, whatever its interval says. "
    "Ask with a larger epsilon, fewer groups or fewer predicates."
)


def response(
    plan: Plan, domain: Domain, noisy: Sequence[NoisyAnswer], budget: Budget, request_id: str
) -> QueryResponse:
    """Assemble the answer of a plan.

    Args:
      plan: what was asked.
      domain: the public groups, in the order of the releases' values.
      noisy: one release each of plan.releases.
      budget: what is left after the charge.
      request_id: as in the request.
    Returns: rows in the order of the domain; counts are rounded after the noise and may be negative.
    """
    rows, intervals, taus = [], [], []
    for index, group in enumerate(domain.groups):
        cells = [_cell(plan, output, noisy, group, index) for output in plan.outputs]
        rows.append(tuple(value for value, _, _ in cells))
        intervals.append(tuple(interval for _, interval, _ in cells))
        taus.append(tuple(tau for _, _, tau in cells))
    weak = tuple(_weak(plan, noisy, index) for index in range(len(rows)))
    return QueryResponse(
        columns=tuple(ResultColumn(output.name, output.type) for output in plan.outputs),
        rows=tuple(rows),
        intervals=tuple(intervals),
        confidence=_confidence(plan, noisy),
        covers=noisy[0].covers,
        mechanism=noisy[0].mechanism,
        epsilon=plan.epsilon,
        delta=plan.delta,
        budget=budget,
        request_id=request_id,
        weak=weak,
        taus=tuple(taus),
        notes=(_NOTES[noisy[0].covers], *_warnings(weak)),
    )


def _weak(plan: Plan, noisy: Sequence[NoisyAnswer], index: int) -> bool:
    """Whether every release behind some column of a row is weak (one part of a split sum may well be nothing)."""
    return any(
        all(bool(noisy[release].weak[index]) for release, _ in output.terms)
        for output in plan.outputs
        if output.terms
    )


def _warnings(weak: tuple[bool, ...]) -> tuple[str, ...]:
    """A sentence about the rows that say next to nothing."""
    if not any(weak):
        return ()
    return (_WEAK.format(rows="this answer" if len(weak) == 1 else f"{sum(weak)} of {len(weak)} rows (weak)"),)


def _cell(
    plan: Plan, output: Output, noisy: Sequence[NoisyAnswer], group: tuple[object, ...], index: int
) -> tuple[Cell, Interval | None, tuple[float, ...] | None]:
    """A group key, or the signed sum of an output's releases with its interval and thresholds."""
    if output.group_key is not None:
        return _plain(group[output.group_key]), None, None
    value = low = high = 0.0
    taus = []
    for release, sign in output.terms:
        bound, answer = plan.releases[release].weight_bound, noisy[release]
        ends = sorted((sign * float(answer.low[index]), sign * float(answer.high[index])))
        value += sign * bound * float(answer.values[index])
        low += bound * ends[0]
        high += bound * ends[1]
        taus.append(bound * float(answer.tau[index]))
    if output.type == "int8":
        low, high = _outward(low, math.floor), _outward(high, math.ceil)
        return round(value), Interval(_bounded(low), _bounded(high)), tuple(taus)
    return value, Interval(_bounded(low), _bounded(high)), tuple(taus)


def _confidence(plan: Plan, noisy: Sequence[NoisyAnswer]) -> float:
    """The confidence that every interval has: a sum of k releases misses at most k times as often as one."""
    misses = [math.fsum(1.0 - noisy[release].confidence for release, _ in output.terms) for output in plan.outputs]
    return 1.0 - max(misses)


def _outward(end: float, whole: Callable[[float], int]) -> float:
    """The end of a count's interval: a whole number, rounded away from the value."""
    return float(whole(end)) if math.isfinite(end) else end


def _bounded(end: float) -> float | None:
    """An end of an interval; None when it is unbounded."""
    return end if math.isfinite(end) else None


def _plain(value: object) -> Cell:
    """A group key as JSON can carry it."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, date | datetime):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    return str(value)
