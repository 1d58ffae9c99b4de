"""From noisy releases to the answer. Everything here is post-processing, so it costs no privacy."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from planner.limits import check_cells, most_groups
from planner.plan import Centre, Plan, Products, Release, normalised
from planner.planning.contribution_bounds import CLIPPING, amount_of
from planner.planning.mechanism_choice import CENTRED
from planner.released_expression import (
    Apply,
    KeyValue,
    Output,
    ReleasedExpression,
    ReleasedValue,
    RowCount,
    range_of_mean,
)
from planner.sql.datetimes import moment_text
from planner.sql.sql_types import MEASURED, NUMBERS, ResultType
from privacy.noisy_answer import CLIPPED_SHARE, NoisyAnswer
from privacy.registry import MECHANISMS
from server.answer_columns import NOTHING, CellColumn, LazyRows
from server.backends.columns import Domain
from server.note import Note
from server.query import Budget, Cell, Interval, QueryResponse, ResultColumn
from server.results.arithmetic import Column, whole
from server.results.evaluate import Evaluator, releases_used, sorted_groups
from server.results.notes import order_note
from server.results.result_types import RESULT_TYPES, cells_of

_NOTES = {
    "truncated_full": (
        "The interval covers the noise around the clipped value, at the given confidence, and reaches up by what "
        "people usually have above the clipping threshold (tau). A few people may have far more, so the true value "
        "may lie above."
    ),
    "smoothed": (
        "Values are smoothed with those of neighbouring groups. The interval covers noise and smoothing for each "
        "group, at the given confidence. It does not cover groups in which a person was not counted."
    ),
    "truth_lower": "The interval is one-sided: at the given confidence the true value is at least its lower end.",
    "truncated_sample": (
        "The value is scaled up from the sample. The interval covers the noise alone, not the sampling error or the "
        "bias of clipping."
    ),
    "released_sample": (
        "The value is scaled up from the sample. The interval covers the noise and the sampling error of the clipped "
        "value, not the bias of clipping."
    ),
    "exact": "These are the possible groups, which are public. No private row was read, and the answer is free.",
}

_COVERED = {
    "truncated_full": "clipped value",
    "released_sample": "clipped value",
    "truncated_sample": "clipped sample",
    "smoothed": "smoothed value",
    "truth_lower": "truth from below",
}
"""What an interval covers, in words."""

_TRUTH_EITHER_SIDE = (
    "The interval covers the noise around the clipped value, at the given confidence, and is wider by what people "
    "usually have above the clipping threshold (tau). A few people may have far more: the true value of a count or "
    "a non-negative sum may lie above, that of an average, a ratio, a difference or a rank on either side."
)
_TRUTH_WITHIN = "The interval covers the true value at the given confidence; a missing end is unbounded."

_UNCLIPPED = (
    "Nothing was clipped: by keys and declared fan-outs one person has at most {rows}. If that is right, the interval"
    " covers the true value over owned rows at the given confidence, with values clamped to their declared ranges."
)

_COUNTED_ONCE = (
    "Nothing was clipped: one person changes the count by at most one. The interval covers the true value over owned"
    " rows at the given confidence."
)

_WITHIN_AT_MOST = (
    "If nobody adds more than {most:g}{group}, as you declared, nothing was clipped, and the interval covers the true"
    " value over owned rows at the given confidence. If the bound is wrong, privacy holds, and the true value may lie"
    " above."
)

_WITHIN_POLICY_BOUNDS = (
    "If nobody has more than {most}, as the policy declares, the interval covers the true value over owned rows at "
    "the given confidence. If the bound is wrong, privacy holds, and the true value may lie outside."
)

_CLIPPED_HERE = (
    "The interval covers the noise around the clipped value, at the given confidence: by the policy at most "
    "{amounts} of each person count. It does not cover what people have beyond that, so the true value {lies}."
)

_CAPPED = (
    "The interval covers the noise around the clipped value, at the given confidence: by the policy at most "
    "{amounts} of each person count, and many people may have more. Only a larger `clip` in the policy counts that, "
    "so the true value {lies}."
)

_EXCEEDING = "About {people} (at most {most:,}) {have} more than {amount}{groups}; {lost} not counted."

_LOW_PRECISION = (
    "The interval of {rows} is wider than the value, so the noise may be larger than half of the value. "
    "Use a larger epsilon, fewer groups or fewer predicates."
)

_MISSING = (
    "Part of the value may be missing in {rows}: people with many rows count in part. "
    "Use a larger epsilon or fewer groups, or declare `at_most`."
)

_CLIPPED_BEYOND_NOISE = 1 / 12
"""A row is marked `clipped` if `CLIPPED_SHARE` of it may be missing, or this share and more than the noise."""

_CLIPPED = (
    "Values that noise made negative are shown as 0, and intervals start at 0. To sum over groups use the values as "
    "released (`raw`), since sums of the shown values are too large on average."
)

_AT_BOUND = (
    "For {name}, {where} is the {which} end of the range that the policy declares; the true extreme may lie beyond "
    "it."
)

_CHOSEN = (
    "Noisy values determined which rows are shown, so rows near the limit may be wrongly in or out. Values that were "
    "selected as large or small are further off than their intervals show."
)

_WITHHELD = (
    "{what} withheld, because the noisy number of {counted} is below {least:,}, the policy's minimum. Groups near "
    "the minimum may be wrongly in or out."
)

_RULE = (
    "By the policy a privacy unit counts in at most {rule}. Its rows in other groups are left out. {share} No "
    "interval covers that, and no epsilon changes it. The rows are marked clipped."
)
_RULE_SHARE = "A person who is in all {groups:,} groups counts with only {share:.0%} of each value."
_RULE_ANY = "That may have removed any share of a value, even all of it."

_RULE_SHOWN = "To choose which groups to show, Noisegate counted each person in at most {rule}, the policy's limit."

_FOUND = "The groups were selected from private rows. Only groups with enough people are shown; others may exist."

_VOTED = (
    "For that selection, people in several groups counted for less in each. Values count the rows of everybody in "
    "the shown groups."
)

_FULL = (
    "An answer with this many columns has at most {most:,} groups, so other selected groups may be left out. Ask for "
    "fewer columns, or restrict the groups in WHERE."
)

_PAID = "its numbers are charged, and yours: the same question with fewer columns of them is free"

_NOTHING_SHOWN = "The statement asks for no row, so nothing was read and the columns are free."

_NO_GROUP = (
    "There is no group: the statement keeps none of the public groups. Nothing private was read, and nothing was "
    "charged."
)

_COUNTED = (
    "This is the number of groups that an answer shows, by their noisy values. The answer was charged. Asking for"
    " the groups themselves is free."
)

_EPOCH = date(1970, 1, 1).toordinal()

_CONFIDENCE_DIGITS = 12  # 0.9 and not 0.8999999999999999


def response(
    plan: Plan, domain: Domain, noisy: Sequence[NoisyAnswer], budget: Budget, request_id: str
) -> QueryResponse:
    """Assemble the answer of a plan.

    Args:
      domain: the public groups, in the order of the releases' values.
      noisy: one release each of plan.releases.
    Returns: the rows that pass HAVING and LIMIT, in the order of ORDER BY or else of the domain. Counts are rounded
      after the noise. Counts and sums of non-negative values are at least 0; `raw` has what was released. Rows are
      made when they are read.
    Raises: StatementTooComplex for more cells than an answer may have.
    """
    check_cells(len(domain), plan.columns, _PAID)  # of another's answer, since own ones are limited before
    if _is_unclipped(plan, noisy):
        noisy = [replace(one, signal=np.full_like(one.signal, np.inf)) for one in noisy]
    evaluate = Evaluator(plan, domain, noisy)
    if any(isinstance(output.expression, RowCount) for output in plan.display.outputs):
        return _counted(plan, domain, noisy, evaluate, budget, request_id)
    columns = [_column(output, evaluate) for output in plan.display.outputs]
    shown = {output.expression: column for output, column in zip(plan.display.outputs, columns, strict=True)}
    ordered = sorted_groups(plan.display, evaluate.showing(shown), len(domain))
    groups = ordered[plan.display.rows]
    tied = order_note(plan, evaluate.showing(shown), ordered)
    answers = [
        _Answers.of(output, column, plan, domain, noisy, evaluate.texts, groups)
        for output, column in zip(plan.display.outputs, columns, strict=True)
    ]
    certain = [replace(one, signal=np.full_like(one.signal, np.inf)) for one in noisy]
    low_precision = _low_precision(plan, noisy, columns, groups)
    poor = _clipped_rows(plan, evaluate, Evaluator(plan, domain, certain), noisy, groups)
    clipped = any(answer.raw.made is not None for answer in answers)
    own_intervals = any(answer.raw_intervals.made is not None for answer in answers)
    said = plan.bounds.assumed if _is_within_at_most(plan, domain, noisy) else None
    truth = said is not None or _is_unclipped(plan, noisy) or _is_within_policy_bounds(plan, domain, noisy)
    return QueryResponse(
        columns=tuple(ResultColumn(*column) for column in _columns(plan)),
        rows=LazyRows([answer.cells for answer in answers], len(groups)),
        intervals=LazyRows([answer.intervals for answer in answers], len(groups)),
        confidence=_confidence(plan, noisy),
        covers="truth" if truth else _COVERED.get(_covers(noisy), _covers(noisy)),
        mechanism=_mechanisms(plan, noisy),
        epsilon=plan.epsilon,
        delta=plan.delta,
        budget=budget,
        request_id=request_id,
        low_precision=tuple(low_precision.tolist()),
        clipped=(True,) * len(poor) if clipped_by_rule(plan, domain) else tuple(poor.tolist()),
        taus=LazyRows([answer.taus for answer in answers], len(groups)),
        notes=(
            *_notes(plan, domain, noisy, low_precision, poor, tied),
            *_bound_notes(plan, columns, groups),
            *((_CLIPPED,) if clipped else ()),
        ),
        raw=LazyRows([answer.raw for answer in answers], len(groups)) if clipped else (),
        raw_intervals=LazyRows([answer.raw_intervals for answer in answers], len(groups)) if own_intervals else (),
        at_most=said,
    )


def _bound_notes(plan: Plan, columns: Sequence[Column], groups: NDArray[np.int64]) -> Iterator[str]:
    """Notes about extremes that are an end of their declared range, which say nothing about values beyond it."""
    for output, column in zip(plan.display.outputs, columns, strict=True):
        value = output.expression
        ranked = plan.releases[value.release].ranked if isinstance(value, ReleasedValue) else None
        if ranked is None or ranked.rank.quantile is not None:
            continue
        highest = ranked.rank.highest
        end = ranked.grid.ends[highest]
        own = column.value[groups]
        count = int(np.sum(own >= end if highest else own <= end))
        if count:
            where = "it" if len(groups) == 1 else f"in {count:,} of {len(groups):,} rows it"
            which = "upper" if highest else "lower"
            yield Note(_AT_BOUND.format(name=output.name, where=where, which=which), "bound")


def without_rows(plan: Plan, budget: Budget, request_id: str) -> QueryResponse:
    """The answer to a question that asks for no row: its columns; nothing is read or charged."""
    return QueryResponse.exact(_columns(plan), (), budget, request_id, (_NOTHING_SHOWN,))


def _columns(plan: Plan) -> list[tuple[str, ResultType]]:
    return [(output.name, output.type) for output in plan.display.outputs]


def without_groups(plan: Plan, budget: Budget, request_id: str) -> QueryResponse:
    """The answer to a question without any public group. The number of its rows is 0."""
    counts = any(isinstance(output.expression, RowCount) for output in plan.display.outputs)
    rows = ((0,) * len(plan.display.outputs),) if counts else ()
    return replace(
        QueryResponse.exact(_columns(plan), rows, budget, request_id, (_NO_GROUP,)), clipped=(False,) * len(rows)
    )


def _counted(
    plan: Plan, domain: Domain, noisy: Sequence[NoisyAnswer], evaluate: Evaluator, budget: Budget, request_id: str
) -> QueryResponse:
    """The number of rows of an answer. Asking for the rows themselves afterwards is free."""
    count = len(sorted_groups(plan.display, evaluate, len(domain))[plan.display.rows])
    notes = (_COUNTED, *_selection_notes(plan, domain), *((_CHOSEN,) if _chooses(plan) else ()))
    rows = ((count,) * len(plan.display.outputs),)
    return replace(
        QueryResponse.exact(_columns(plan), rows, budget, request_id, notes),
        confidence=_confidence(plan, noisy),
        mechanism=_mechanisms(plan, noisy),
        epsilon=plan.epsilon,
        delta=plan.delta,
        clipped=(False,),
    )


@dataclass(frozen=True)
class _Answers:
    """One column of the answer, with its intervals and thresholds."""

    cells: CellColumn[Cell]
    intervals: CellColumn[Interval | None]
    taus: CellColumn[tuple[float, ...] | None]
    raw: CellColumn[Cell] = NOTHING
    raw_intervals: CellColumn[Interval | None] = NOTHING

    @classmethod
    def of(
        cls,
        output: Output,
        column: Column,
        plan: Plan,
        domain: Domain,
        noisy: Sequence[NoisyAnswer],
        texts: Sequence[str],
        groups: NDArray[np.int64],
    ) -> _Answers:
        """What an output shows for these groups."""
        used = sorted(releases_used(output.expression))
        if isinstance(output.expression, KeyValue):
            values = cells_of(output.type, map(_plain, domain.keys[output.expression.key]))
            places = domain.places(output.expression.key)[groups].astype(np.int32)
            return cls(CellColumn((places,), lambda found: [values[place] for place in found]), NOTHING, NOTHING)
        released, column = column, _not_negative(plan, output, column)
        cells = _cells(output, column, texts, groups)
        if not used:
            return cls(cells, NOTHING, NOTHING)
        taus = np.stack(
            [plan.releases[release].weight_bound * noisy[release].tau[groups] for release in used], axis=1
        )
        intervals = _intervals(column, groups) if output.type in MEASURED else NOTHING
        bounds: CellColumn[tuple[float, ...] | None] = CellColumn((taus,), lambda rows: [tuple(row) for row in rows])
        moved = bool(np.any(released.value[groups] != column.value[groups]))
        raw = _cells(output, released, texts, groups) if moved else NOTHING
        around = NOTHING if column is released else _intervals(released, groups)
        return cls(cells, intervals, bounds, raw, around)


def _column(output: Output, evaluate: Evaluator) -> Column:
    """The values of an output. A count is rounded, and its interval is rounded outwards."""
    column = evaluate(output.expression)
    return whole(column) if output.type == "int8" and releases_used(output.expression) else column


def _not_negative(plan: Plan, output: Output, column: Column) -> Column:
    """Raise negative values of a count or a sum of non-negative values to 0; other columns stay unchanged.

    That the true value is not negative is public, so the interval starts at 0, too. A value below 0 moves the upper
    end with it, since its own end may be negative and would bound nothing.
    """
    value = output.expression
    if not isinstance(value, ReleasedValue) or not plan.releases[value.release].is_not_negative:
        return column
    ends = np.maximum(column.low, 0.0), column.high - np.minimum(column.value, 0.0) + 0.0  # and no -0.0
    low, high = (
        np.where(column.may_be_known, end, own) for end, own in zip(ends, (column.low, column.high), strict=True)
    )
    return replace(column, value=np.maximum(column.value, 0.0), low=low, high=high)


def _cells(output: Output, column: Column, texts: Sequence[str], groups: NDArray[np.int64]) -> CellColumn[Cell]:
    """The values in the output's type."""

    def made(values: list[float], nulls: list[bool]) -> list[Cell]:
        pairs = zip(values, nulls, strict=True)
        return [None if null else _typed(output, value, texts) for value, null in pairs]

    return CellColumn((column.value[groups], column.null[groups]), made)


def _typed(output: Output, value: float, texts: Sequence[str]) -> Cell:
    if output.type == "int8":
        return round(value)
    if output.type == "bool":
        return value != 0.0
    if output.type == "interval":
        return RESULT_TYPES["interval"].cell(value)
    if isinstance(output.expression, ReleasedValue) and output.type not in NUMBERS:
        return RESULT_TYPES[output.type].cell(_moment(value, output.type))
    return value if output.type in NUMBERS else RESULT_TYPES[output.type].cell(texts[int(value)])


def _moment(value: float, kind: ResultType) -> str:
    """A released date (days since 1970) or time (seconds) as the text of group keys."""
    if kind == "date":
        return moment_text(date.fromordinal(_EPOCH + round(value)))
    return moment_text(datetime(1970, 1, 1) + timedelta(seconds=round(value)))


def _intervals(column: Column, groups: NDArray[np.int64]) -> CellColumn[Interval | None]:
    """The intervals; None for cells without a value."""
    low, high = column.low[groups], column.high[groups]
    if not np.any(low <= high):
        return NOTHING

    def made(lows: list[float], highs: list[float]) -> list[Interval | None]:
        pairs = zip(lows, highs, strict=True)
        return [Interval(_bounded(low), _bounded(high)) if low <= high else None for low, high in pairs]

    return CellColumn((low, high), made)


def _low_precision(
    plan: Plan, noisy: Sequence[NoisyAnswer], columns: Sequence[Column], groups: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Per row: is the noise of some column as large as its value, so that its interval is as wide as the value?

    That includes unbounded intervals, as of a quotient whose divisor may be 0. A one-sided interval must separate the
    value from 0. A rank is also marked where its mechanism says so.
    """
    low_precision = np.zeros(len(groups), np.bool_)
    two_sided = _covers(noisy) != "truth_lower"
    for output, column in zip(plan.display.outputs, columns, strict=True):
        used = releases_used(output.expression)
        if any(plan.releases[release].ranked is not None for release in used):
            low_precision |= np.logical_or.reduce([noisy[release].may_be_clipped[groups] for release in used])
        if used and output.type in MEASURED:
            shown, low, high = (
                _not_negative(plan, output, column).value[groups],
                column.low[groups],
                column.high[groups],
            )
            width = high - low if two_sided else np.where(low > 0, 0.0, np.inf)
            low_precision |= (low <= high) & ~((width == 0) | (width < np.abs(shown)))
            low_precision |= _says_nothing(output.expression, low, high)
    return low_precision


def _says_nothing(
    value: ReleasedExpression, low: NDArray[np.float64], high: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Per row: is it a mean that may be any value of its declared range, as of a group with nearly no rows?"""
    within = range_of_mean(value)
    return np.zeros(len(low), np.bool_) if within is None else (low <= within[0]) & (high >= within[1])


def _clipped_rows(
    plan: Plan, evaluate: Evaluator, noise: Evaluator, noisy: Sequence[NoisyAnswer], groups: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Per row: may a large part of some column be missing?

    Args:
      evaluate: the answer, with possible losses in its intervals.
      noise: the answer as if nothing were missing.
    """
    cut = np.zeros(len(groups), np.bool_)
    for output in plan.display.outputs:
        used = releases_used(output.expression)
        if not used or any(plan.releases[release].ranked is not None for release in used):
            continue
        column, alone = evaluate(output.expression), noise(output.expression)
        open_ended = np.isinf(alone.high) | np.isinf(alone.low)  # low precision, whatever may be missing
        with np.errstate(invalid="ignore"):
            lacks = np.where(open_ended, 0.0, (column.high - alone.high) + (alone.low - column.low))
        share = np.where(lacks > (alone.high - alone.low) / 2, _CLIPPED_BEYOND_NOISE, CLIPPED_SHARE)
        cut |= ~(lacks <= share * np.abs(column.value))[groups]
        for release in used:
            cut |= _is_at_cap(plan, release, noisy[release])[groups]
        value = output.expression
        if isinstance(value, ReleasedValue):  # of a value of 0 every part is 0, whatever may be missing
            one = noisy[value.release]
            cut |= ((one.signal <= 0) | ((one.values == 0) & one.may_be_clipped))[groups]
    return cut


def _is_at_cap(plan: Plan, release: int, noisy: NoisyAnswer) -> NDArray[np.bool_]:
    """Per group: did the choice take the largest threshold that the policy allows, so that many may have more?"""
    asked = plan.releases[release]
    if not plan.is_capped(asked) or asked.bound is None or asked.bound.clip is None:
        return np.zeros(len(noisy.tau), np.bool_)
    return noisy.tau * _UP >= float(normalised(asked.bound.clip, asked))


_UP = 1 + 2.0**-40
"""Thresholds are rounded down to fifty bits."""


def _confidence(plan: Plan, noisy: Sequence[NoisyAnswer]) -> float:
    """The confidence of every interval: a value of k releases misses at most k times as often as one.

    A centre counts as known, since its deviations are measured.
    """
    misses = [
        math.fsum(1.0 - noisy[one].confidence for one in used if not isinstance(plan.releases[one].around, Centre))
        for used in _used(plan)
    ]
    return round(1.0 - min(1.0, max(misses, default=0.0)), _CONFIDENCE_DIGITS)


def _used(plan: Plan) -> list[frozenset[int]]:
    """The releases behind each noisy column, with those whose means a sum of products is around."""
    around = {place: one.around for place, one in enumerate(plan.releases) if isinstance(one.around, Products)}
    return [
        used.union(*({one.x, one.y} for place, one in around.items() if place in used))
        for output in plan.display.outputs
        if (used := releases_used(output.expression))
    ]


def _covers(noisy: Sequence[NoisyAnswer]) -> str:
    """What every interval covers. A release without truncation bias covers the true value as well."""
    names = [one.covers for one in noisy]
    return "truth_lower" if "truth_lower" in names else next(iter(names), "exact")


def _mechanisms(plan: Plan, noisy: Sequence[NoisyAnswer]) -> str:
    """The mechanisms of all releases, including partition selection."""
    names = dict.fromkeys(one.mechanism for one in noisy)
    if plan.selection is not None:
        names["vote_threshold" if plan.selection.votes else "group_threshold"] = None
    return ", ".join(names) or "none"


def _notes(
    plan: Plan,
    domain: Domain,
    noisy: Sequence[NoisyAnswer],
    low_precision: NDArray[np.bool_],
    cut: NDArray[np.bool_],
    tied: str | None,
) -> Iterator[str]:
    """The notes about coverage, selection, order and marked rows."""
    yield _coverage_note(plan, domain, noisy)
    yield from _exceeding_notes(plan, noisy)
    yield from plan.notes
    for said in filter(None, dict.fromkeys(key.omitted for key in plan.group_keys)):
        # Other values than NULL may be missing in nearly every answer with a declared domain.
        yield Note(said, "groups" if "NULL" in said else "plain")
    if plan.bounds.rule is not None and _leaves_out(plan, domain, plan.bounds.rule):
        yield from _rule_notes(plan, domain, plan.bounds.rule)
    yield from _selection_notes(plan, domain)
    if _chooses(plan):
        yield _CHOSEN
    if tied is not None:
        yield tied
    for said, name, marked in ((_LOW_PRECISION, "low_precision", low_precision), (_MISSING, "clipped", cut)):
        if marked.any():
            one = len(marked) == 1
            yield said.format(rows="this answer" if one else f"{marked.sum()} of {len(marked)} rows ({name})")


def _coverage_note(plan: Plan, domain: Domain, noisy: Sequence[NoisyAnswer]) -> str:
    """The note about what the intervals cover."""
    if _counts_once(plan, noisy):
        return _COUNTED_ONCE
    if _is_unclipped(plan, noisy):
        most = plan.bounds.tuples
        return _UNCLIPPED.format(rows="one row" if most == 1 else f"{most:,} rows")
    if _is_within_at_most(plan, domain, noisy):
        return _WITHIN_AT_MOST.format(most=plan.bounds.assumed, group=" to a group" if plan.group_keys else "")
    if _is_within_policy_bounds(plan, domain, noisy):
        bounds = [(one.bound.at_most, one) for one in plan.releases if one.bound is not None]
        amounts = [amount_of(most, one) for most, one in bounds if most is not None]
        return _WITHIN_POLICY_BOUNDS.format(most=" and ".join(dict.fromkeys(amounts)))
    named = [_named_amount(*pair) for pair in zip(plan.releases, noisy, strict=True)]
    at_cap = [
        amount_of(one.bound.clip, one)
        for place, one in enumerate(plan.releases)
        if one.bound is not None and one.bound.clip is not None and np.any(_is_at_cap(plan, place, noisy[place]))
    ]
    if at_cap or (named and all(named)):
        either = any(release.less is not None for release in plan.releases)
        either |= any(isinstance(output.expression, Apply) for output in plan.display.outputs)
        lies = "may lie on either side" if either else "may lie above"
        counted = " and ".join(dict.fromkeys(at_cap or map(str, named)))
        return (_CAPPED if at_cap else _CLIPPED_HERE).format(amounts=counted, lies=lies)
    covers = _covers(noisy)
    computed = any(isinstance(output.expression, Apply) for output in plan.display.outputs)
    computed |= any(release.ranked is not None for release in plan.releases)
    derived = {"truth_lower": _TRUTH_WITHIN, "truncated_full": _TRUTH_EITHER_SIDE}
    return derived.get(covers, _NOTES[covers]) if computed else _NOTES[covers]


def _is_unclipped(plan: Plan, noisy: Sequence[NoisyAnswer]) -> bool:
    """Is every threshold at least what keys and declared fan-outs let one unit add? Public, as thresholds are."""
    if _counts_once(plan, noisy):
        return True
    most = plan.bounds.tuples
    if most is None or not noisy or plan.sampling is not None or plan.bounds.rule is not None:
        return False
    scalar = not MECHANISMS[plan.mechanism].bounds_vector
    # Rows of weight 1 at most have no larger norm; what is left around a mean may have.
    normed = plan.mechanism in CLIPPING and all(release.around is None for release in plan.releases)
    if not (scalar or normed) or not all(release.is_sum for release in plan.releases):
        return False
    bounds = [plan.largest_contribution(release) for release in plan.releases]
    return _covers(noisy) == "truncated_full" and all(
        bound is not None and bool(np.all(one.tau >= bound)) for bound, one in zip(bounds, noisy, strict=True)
    )


def _counts_once(plan: Plan, noisy: Sequence[NoisyAnswer]) -> bool:
    """Does it only count values that their owners determine, so that the fixed threshold 1 clips nothing?"""
    fixed = all(one.mechanism == "fixed" and one.covers == "truncated_full" for one in noisy)
    return bool(noisy) and fixed and all(release.determined for release in plan.releases)


def _is_within_at_most(plan: Plan, domain: Domain, noisy: Sequence[NoisyAnswer]) -> bool:
    """Was everything released at the declared `at_most` of the request, and no value clipped by the policy's
    group limit?
    """
    return plan.bounds.assumed is not None and bool(noisy) and not clipped_by_rule(plan, domain)


def _is_within_policy_bounds(plan: Plan, domain: Domain, noisy: Sequence[NoisyAnswer]) -> bool:
    """Do all intervals cover the true value if the policy's `at_most` is right?

    They do if the threshold is at least that bound, or the interval was extended by the possible loss, and no group
    limit or factor of another sum clips anything.
    """
    pairs = list(zip(plan.releases, noisy, strict=True))
    return bool(pairs) and not clipped_by_rule(plan, domain) and all(_holds_truth(*pair) for pair in pairs)


def _holds_truth(release: Release, noisy: NoisyAnswer) -> bool:
    if release.bound is None or release.bound.at_most is None or CENTRED in noisy.mechanism:
        return False
    whole = bool(np.all(noisy.tau >= float(normalised(release.bound.at_most, release))))
    return noisy.covers == "truncated_full" and (whole or noisy.exceeding is not None)


def _named_amount(release: Release, noisy: NoisyAnswer) -> str | None:
    """How much of each person counts, if the policy declares it; None otherwise, and if a factor clips all sums."""
    bound = release.bound
    if bound is None or bound.chosen or CENTRED in noisy.mechanism:
        return None
    most = bound.at_most if bound.clip is None else bound.clip
    return None if most is None else amount_of(most, release)


def _exceeding_notes(plan: Plan, noisy: Sequence[NoisyAnswer]) -> Iterator[str]:
    """How many people exceed the policy's `clip`, one sentence per release that measured it."""
    for release, one in zip(plan.releases, noisy, strict=True):
        if one.exceeding is None or not one.exceeding.at_most or release.bound is None or release.bound.clip is None:
            continue
        people = max(0, one.exceeding.people)
        said = _EXCEEDING.format(
            people="1 person" if people == 1 else f"{people:,} people",
            most=one.exceeding.at_most,
            have="has" if people == 1 else "have",
            amount=amount_of(release.bound.clip, release),
            groups=" in all groups together" if plan.group_keys else "",
            lost="their further rows are" if release.whole else "the excess is",
        )
        yield Note(said, "exceeding")


def _leaves_out(plan: Plan, domain: Domain, rule: int) -> bool:
    """Does the policy's group limit leave rows out? Not if there are no more public groups."""
    found = plan.selection is not None and plan.selection.delta > 0
    return found or len(domain) + domain.withheld > rule


def clipped_by_rule(plan: Plan, domain: Domain) -> bool:
    """Whether the policy's limit of groups per unit may have clipped a value of the answer.

    It does not apply to counts of distinct values, nor to mechanisms that bound a unit over all groups together. For
    their questions it only determines which groups are shown.
    """
    if (
        plan.bounds.rule is None
        or MECHANISMS[plan.mechanism].bounds_vector
        or not _leaves_out(plan, domain, plan.bounds.rule)
    ):
        return False
    return any(plan.is_ruled(plan.releases[release]) for used in _used(plan) for release in used)


def _rule_notes(plan: Plan, domain: Domain, rule: int) -> Iterator[str]:
    """What the policy's group limit leaves out, from public numbers; nothing if units vote and no value is
    limited.
    """
    most = f"{rule:,} group{'' if rule == 1 else 's'}"
    if not clipped_by_rule(plan, domain):
        if plan.selection is None or not plan.selection.votes:
            yield _RULE_SHOWN.format(rule=most)
        return
    found = plan.selection is not None and plan.selection.delta > 0
    groups = len(domain) + domain.withheld
    share = _RULE_ANY if found else _RULE_SHARE.format(groups=groups, share=rule / groups)
    yield _RULE.format(rule=most, share=share)


def _selection_notes(plan: Plan, domain: Domain) -> Iterator[str]:
    """Which groups the answer leaves out; their number only if it is public."""
    if plan.selection is None:
        return
    if plan.selection.delta:
        yield f"{_FOUND} {_VOTED}" if plan.selection.votes else _FOUND
        most = most_groups(plan.columns)
        if len(domain) >= most:  # by what is shown alone: whether there were more is for nobody to keep
            yield _FULL.format(most=most)
    if plan.selection.minimum is not None and (domain.withheld or plan.selection.delta):
        known = f"{domain.withheld} of {domain.withheld + len(domain)} groups are"
        what = "Smaller groups are" if plan.selection.delta else known if plan.group_keys else "The answer is"
        counted = "privacy units' votes" if plan.selection.votes else "privacy units"
        yield _WITHHELD.format(what=what, counted=counted, least=plan.selection.minimum)


def _chooses(plan: Plan) -> bool:
    """Do released values determine which rows are shown?"""
    having = plan.display.having is not None and bool(releases_used(plan.display.having))
    return having or (plan.display.is_limited and any(releases_used(key.expression) for key in plan.display.order))


def _bounded(end: float) -> float | None:
    """An end of an interval; None if it is unbounded."""
    return end if math.isfinite(end) else None


def _plain(value: object) -> Cell:
    """A group key in JSON's types."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return float(value) if isinstance(value, Decimal) else str(value)
