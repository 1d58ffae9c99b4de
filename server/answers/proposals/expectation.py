"""Predict an answer at another epsilon: earlier values with the public noise of that epsilon. No row is read."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import fmean, median

import numpy as np
from numpy.typing import NDArray

from planner.plan import Plan
from planner.planning.measurements import AnyRelease
from planner.released_expression import Apply, Display, Given, KeyValue, ReleasedExpression, within_no_range
from privacy.noisy_answer import CONFIDENCE, NoisyAnswer
from privacy.registry import MECHANISMS
from server.answers.encoding import decoded
from server.answers.released import Released
from server.backends.columns import Domain
from server.explain.mechanism_reasons import shared_by_selected
from server.ledger.charge import ChargeRecord
from server.ledger.ledger import Ledger
from server.lru_cache import LruCache
from server.query import Budget, Interval, QueryResponse, RelativeError
from server.question import Question
from server.results.evaluate import releases_used
from server.results.response import response

_LOOKED_AT = 8
"""How many of the analyst's newest answers to a query are tried."""


@dataclass(frozen=True)
class Known:
    """An earlier answer to the same query that the analyst has paid for.

    Attributes:
      number: of its charge.
      epsilon, delta: of its release.
      answer_key: its name in the cache.
    """

    number: int
    epsilon: float
    answer_key: str
    released: Released
    delta: float = 0.0


def known_answers(ledger: Ledger, analyst: str, plan_hash: str) -> list[Known]:
    """Return the analyst's newest paid answers to a query. Other analysts' answers would tell what they contain."""
    return [_known(*found) for found in _paid(ledger, analyst, plan_hash)]


def _paid(ledger: Ledger, analyst: str, plan_hash: str) -> Iterator[tuple[ChargeRecord, bytes]]:
    for record in ledger.answers_to(analyst, plan_hash, limit=_LOOKED_AT):
        cached = ledger.cached_answer(record.charge.answer_key, analyst)
        if cached is not None and cached.paid:
            yield record, cached.answer


def _known(record: ChargeRecord, answer: bytes) -> Known:
    charge = record.charge
    return Known(record.number, charge.epsilon, charge.answer_key, decoded(answer), charge.delta)


def known_answer(ledger: Ledger, analyst: str, plan_hash: str) -> Known | None:
    """Return the newest of `known_answers`."""
    found = next(_paid(ledger, analyst, plan_hash), None)
    return None if found is None else _known(*found)


_MOST_CELLS = 100_000


@dataclass(frozen=True)
class Expected:
    """The errors that the analyst's earlier answer predicts for a new one.

    Attributes:
      relative_errors: per column, half widths of intervals at 95% in multiples of their values.
      clipped: the share of rows that would be marked clipped, in [0, 1]; None where nothing tells.
    """

    relative_errors: tuple[RelativeError, ...] = ()
    clipped: float | None = None


def expected(
    ledger: Ledger, question: Question, analyst: str, remembered: LruCache[tuple[object, ...], Expected]
) -> Expected:
    """Predict from an earlier answer how accurate a new one will be.

    That is, relative errors per column, and the share of the answer's rows that will be marked `clipped`.

    Args:
      remembered: predictions by question and by the charge of the earlier answer, which never changes.
    Returns: nothing without an earlier answer, or if the width of an interval is known only after the measurement.
    Cost: a read of the ledger, and the computation of one answer; no private row is read.
    """
    plan = question.plan
    public = (
        bool(plan.releases)
        and all(release.ranked is None for release in plan.releases)
        and MECHANISMS[plan.mechanism].two_sided
    )
    paid = next(_paid(ledger, analyst, question.plan_hash), None) if public and plan.sampling is None else None
    if paid is None:
        return Expected()
    key = question.serial, question.answer_key, paid[0].number
    return remembered.get(key) or remembered.put(key, _expected(question, decoded(paid[1])))


def _expected(question: Question, released: Released) -> Expected:
    answer = expected_answer(question, released)
    if not 0 < answer.n_cells <= _MOST_CELLS:
        return Expected()
    before = response(question.plan, released.domain, released.noisy, NOBODY, "")
    found = []
    for place, column in enumerate(answer.columns):
        now, own = _parts(answer, place), _parts(before, place)
        if now and own:
            most = max(median(now), median(own))
            found.append(RelativeError(column.name, _finite(median(now)), _finite(max(now)), _finite(most)))
    return Expected(tuple(found), fmean(answer.clipped) if answer.clipped else None)


def _parts(answer: QueryResponse, place: int) -> list[float]:
    """Return the half widths of a column's intervals in multiples of their values."""
    rows = answer.as_released()
    return [_part(cells[place], around[place]) for cells, around in rows if around[place] is not None]


def _part(value: object, interval: Interval | None) -> float:
    """Return infinity for a value of 0, and for an open interval."""
    if interval is None or interval.low is None or interval.high is None or not isinstance(value, int | float):
        return math.inf
    return (interval.high - interval.low) / 2 / abs(value) if value else math.inf


def _finite(part: float) -> float | None:
    return part if math.isfinite(part) else None


NOBODY = Budget(0.0, 0.0, 0.0, 0.0)
"""The budget in an answer that no one receives."""


def expected_answer(question: Question, released: Released) -> QueryResponse:
    """Return an earlier answer with the noise of this question, at the same thresholds.

    Returns: the values of `released`, with the intervals that `question` would give them.
    """
    n_groups = len(released.domain)
    measuring = question.measuring.of_groups(released.domain)
    noisy = tuple(
        _at(measured, known, n_groups) for measured, known in zip(measuring.releases, released.noisy, strict=True)
    )
    return response(question.plan, released.domain, noisy, NOBODY, "")


def worst_answer(question: Question, domain: Domain) -> QueryResponse:
    """Return one row around zero with the widest intervals that any data can give in these public groups.

    Returns: open intervals where no public bound limits the threshold, where a width depends on values (quotients,
      CASE), or where it depends on the number of selected groups.
    """
    plan = question.plan
    outputs = tuple(
        replace(output, expression=within_no_range(output.expression))
        for output in plan.display.outputs
        if releases_used(output.expression)
    )
    bounded = plan.bounds.tuples is not None or all(one.name == "fixed" for one in question.measuring.releases)
    bounded &= not any(release.counts_exceeding for release in plan.releases)  # which may move an end by any amount
    known = bounded and not shared_by_selected(plan) and all(_linear(output.expression) for output in outputs)
    ungrouped: Plan = replace(plan, display=Display(outputs), group_keys=(), domains=())
    measuring = question.measuring.of_groups(domain)
    noisy = tuple(_around_zero(measured, len(domain), known) for measured in measuring.releases)
    return response(ungrouped, Domain(()), noisy, NOBODY, "")


def _at(measured: AnyRelease, known: NoisyAnswer, n_groups: int) -> NoisyAnswer:
    """Return the known values with the noise of another budget, threshold by threshold."""
    taus, halves = _noise(measured, n_groups)
    half = halves[np.minimum(np.searchsorted(taus, known.tau), len(taus) - 1)]
    # A larger budget overlooks less in the choice of a threshold, so the same value has a stronger signal. A sum of
    # other answers has no budget of its own; its signal grows as its noise falls.
    before = (known.high - known.low) / 2
    by_noise = np.divide(before, half, out=np.ones_like(before), where=(before > 0) & (half > 0))
    signal = known.signal * (measured.epsilon / known.epsilon if known.epsilon > 0 else by_noise)
    moved = known.exceeding  # as many people exceed the policy's bound
    below, above = (0.0, 0.0) if moved is None else (moved.below, moved.above)
    return replace(known, low=known.values - half - below, high=known.values + half + above, signal=signal)


def _around_zero(measured: AnyRelease, n_groups: int, known: bool) -> NoisyAnswer:
    """Return zero with the noise of the largest threshold, or unbounded."""
    taus, halves = _noise(measured, n_groups)
    worst = halves[-1:] if known else np.full(1, np.inf)
    return NoisyAnswer(
        values=np.zeros(1),
        tau=taus[-1:],
        noise_scale=worst,  # no interval depends on it
        low=-worst,
        high=worst,
        confidence=CONFIDENCE,
        covers="truncated_full",
        mechanism=measured.name,
        epsilon=measured.epsilon,
        signal=np.full(1, np.inf),
    )


def _noise(measured: AnyRelease, n_groups: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return (L,) thresholds, rising, and the half width of an interval at each."""
    table = np.array(measured.expected_noise(n_groups), np.float64)
    return table[:, 0], table[:, 1]


def _linear(expression: ReleasedExpression) -> bool:
    """Is the width of its interval independent of the released values?"""
    if isinstance(expression, KeyValue):
        return False
    if not isinstance(expression, Apply):
        return True
    if expression.operator in ("+", "-", "negate"):
        return all(map(_linear, expression.arguments))
    if expression.operator not in ("*", "/"):
        return False
    left, right = expression.arguments
    scaled = isinstance(right, Given) and _linear(left)
    return scaled or (expression.operator == "*" and isinstance(left, Given) and _linear(right))
