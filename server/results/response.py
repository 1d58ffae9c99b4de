"""From noisy releases to the answer: post-processing only, so nothing here can cost privacy."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from planner.limits import check_cells, most_groups
from planner.plan import Centre, Plan, Release, normalised
from planner.planning.contribution_bounds import amount_of
from planner.planning.mechanism_choice import CENTRED
from planner.released_expression import Apply, KeyValue, Output, ReleasedValue, RowCount
from planner.sql.datetimes import moment_text
from planner.sql.sql_types import NUMBERS, ResultType
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
    "truncated_full": "An interval covers the noise, at the given confidence, around the answer after cutting what "
    "each person adds to tau. It reaches further up by what people usually have beyond tau. A few people with far "
    "more than tau may still be missing: the true answer may lie above.",
    "smoothed": "Values are smoothed: groups have a say in those of others. An interval covers noise and smoothing, "
    "at the given confidence for each group: how far smoothing moves a value was measured where it moves one most, "
    "so most intervals are wider than they need be. Groups in which a person does not count are outside of it.",
    "truth_lower": "An interval is one-sided: at the given confidence the true answer is not below its lower end.",
    "truncated_sample": "The answer is scaled up from the sample to the whole. An interval covers the noise alone; "
    "the sampling error, and the bias of cutting contributions at tau, are outside of it.",
    "released_sample": "The answer is scaled up from the sample to the whole. An interval covers the noise and the "
    "sampling error of the truncated answer; the bias of cutting contributions at tau is outside of it.",
    "exact": "These groups may be: which there are is public. No private row was read, and the answer is free.",
}

_COVERED = {
    "truncated_full": "clipped value",
    "released_sample": "clipped value",
    "truncated_sample": "clipped sample",
    "smoothed": "smoothed value",
    "truth_lower": "truth from below",
}
"""What an interval covers, as people read it."""

_TRUTH_EITHER_SIDE = (
    "An interval covers the noise, at the given confidence, around the answer after cutting what each person adds to "
    "tau. It is wider by what people usually have beyond tau. A few people with far more than tau may still be "
    "missing. The true answer of a count, or a sum of what is not negative, may lie above; that of an average, a "
    "ratio, a difference or a rank on either side."
)
_TRUTH_WITHIN = (
    "At the given confidence the true answer lies within its interval; an end that is missing is not bounded."
)

_UNCUT = (
    "Nothing was cut to tau: by keys and declared fan-outs one person has {rows} at most. If that is true, an "
    "interval is one for the true answer, at the given confidence, of rows that are somebody's, with values clamped "
    "to their declared ranges."
)

_SAID = (
    "If nobody adds more than {most:g}{group}, as was said with the question, nothing was cut, and an interval is "
    "one for the true answer, at the given confidence, of rows that are somebody's, with values clamped to their "
    "declared ranges. If that is not true, people are as well protected, and the true answer may lie above."
)

_PROMISED = (
    "If nobody has more than {most}, as the policy says, an interval is one for the true answer, at the given "
    "confidence, of rows that are somebody's, with values clamped to their declared ranges. If that is not true, "
    "people are as well protected, and the true answer may lie outside."
)

_CUT_HERE = (
    "An interval covers the noise, at the given confidence, around the answer after counting {amounts} of each "
    "person at most, as the policy says. What people have beyond that is outside of it: the true answer {lies}."
)

_EXCEED = "About {people} (at most {most:,}) {have} more than {amount}{groups}; {lost} not counted."

_WEAK = (
    "The noise of {rows} may be larger than half of the value: its interval is wider than the value. "
    "Ask with a larger epsilon, fewer groups or fewer predicates."
)

_CUT = (
    "Some of the value may be missing in {rows}: people with many rows are counted in part. "
    "Ask with a larger epsilon or fewer groups, or say what nobody adds more than."
)

_CUT_BEYOND_NOISE = 1 / 12
"""A row is marked where `CLIPPED_SHARE` of it may be missing by its own interval; or so much, and more than noise."""

_CLIPPED = (
    "What is below 0 by its noise alone is shown as 0, and intervals begin at 0. Whoever adds up groups takes the "
    "values as they were released (`raw`): the sum of what is shown leans upwards."
)

_AT_BOUND = (
    "Of {name}: {where} is the {which} end of the range that the policy declares; the true one may lie beyond."
)

_CHOSEN = (
    "Which rows are shown was decided by noisy values: rows at the edge may be wrongly in or out, and values that "
    "were chosen for being large or small are further off than their intervals say."
)

_WITHHELD = (
    "{what} withheld: the noisy number of {counted} is below {least:,}, which the policy asks for. The decision "
    "is by noise, too: a group at the edge may be wrongly in or out."
)

_RULE = (
    "One privacy unit counts in {rule:,} of the groups at most, as the policy says; its rows in others are left out, "
    "which no interval covers, and against which no epsilon helps: {share}. The rows are marked cut."
)
_RULE_SHARE = "of units that are in all {groups:,} groups only {share:.2g} of each value is left"
_RULE_ANY = "what is left of a value may be any part of it"

_RULE_SHOWN = (
    "Which groups are shown was decided with each privacy unit counted in {rule:,} of the groups at most, as the "
    "policy says."
)

_FOUND = (
    "Group keys were found among private rows: only those that enough privacy units share are shown, and nothing is "
    "said of others."
)

_VOTED = (
    "Who is in several groups counted for less in each of them when it was decided which are shown. Values count the "
    "rows of everybody in the groups that are."
)

_FULL = (
    "These are as many groups as an answer of so many columns may have, {most:,}: others that enough privacy units "
    "share may have been left out. Ask for fewer columns, or for some of the groups in WHERE."
)

_NOTHING_SHOWN = "No row is asked for: nothing was read, and the columns are free."

_NO_GROUP = (
    "There is no group: the public tables, or the values that the policy declares, have none that the statement "
    "keeps. So nothing private was read, and nothing was charged."
)

_COUNTED = "This is the number of rows of an answer, which was charged; to ask for these rows themselves is free."

_EPOCH = date(1970, 1, 1).toordinal()

_CONFIDENCE_DIGITS = 12  # 0.9 and not 0.8999999999999999


def response(
    plan: Plan, domain: Domain, noisy: Sequence[NoisyAnswer], budget: Budget, request_id: str
) -> QueryResponse:
    """Assemble the answer of a plan.

    Args:
      domain: the public groups, in the order of the releases' values.
      noisy: one release each of plan.releases.
    Returns: the rows that HAVING and LIMIT leave, as ORDER BY sorts them, else in the order of the domain;
      counts are rounded after the noise; counts and sums of what is not negative are shown as 0 at the least, with
      what was released beside them. Rows are made when they are read.
    Raises: StatementTooComplex for more cells than an answer may have.
    """
    check_cells(len(domain), plan.columns)
    if _is_uncut(plan, noisy):
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
    poor = _cut(plan, evaluate, Evaluator(plan, domain, certain), noisy, groups)
    clipped = any(answer.raw.made is not None for answer in answers)
    own_intervals = any(answer.raw_intervals.made is not None for answer in answers)
    said = plan.bounds.assumed if _is_as_said(plan, domain, noisy) else None
    truth = said is not None or _is_uncut(plan, noisy) or _is_promised(plan, domain, noisy)
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
    """Which extremes are an end of the range that the policy declares, and so say nothing of what lies beyond it."""
    for output, column in zip(plan.display.outputs, columns, strict=True):
        value = output.expression
        ranked = plan.releases[value.release].ranked if isinstance(value, ReleasedValue) else None
        if ranked is None or ranked.rank.quantile is not None:
            continue
        grid, highest = ranked.grid, ranked.rank.highest
        end = grid.low + grid.step * (grid.n_codes - 1) if highest else grid.low
        own = column.value[groups]
        count = int(np.sum(own >= end if highest else own <= end))
        if count:
            where = "it" if len(groups) == 1 else f"in {count:,} of {len(groups):,} rows it"
            which = "upper" if highest else "lower"
            yield Note(_AT_BOUND.format(name=output.name, where=where, which=which), "bound")


def without_rows(plan: Plan, budget: Budget, request_id: str) -> QueryResponse:
    """The answer to a question that wants no row: its columns, for which nothing is read or charged."""
    return QueryResponse.exact(_columns(plan), (), budget, request_id, (_NOTHING_SHOWN,))


def _columns(plan: Plan) -> list[tuple[str, ResultType]]:
    return [(output.name, output.type) for output in plan.display.outputs]


def without_groups(plan: Plan, budget: Budget, request_id: str) -> QueryResponse:
    """The answer to a question of which public lists say that it has no group; the number of its rows is 0."""
    counts = any(isinstance(output.expression, RowCount) for output in plan.display.outputs)
    rows = ((0,) * len(plan.display.outputs),) if counts else ()
    return replace(
        QueryResponse.exact(_columns(plan), rows, budget, request_id, (_NO_GROUP,)), clipped=(False,) * len(rows)
    )


def _counted(
    plan: Plan, domain: Domain, noisy: Sequence[NoisyAnswer], evaluate: Evaluator, budget: Budget, request_id: str
) -> QueryResponse:
    """How many rows the answer has; asked for themselves afterwards they are free."""
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
    """One column of the answer, with its intervals and bounds."""

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
        """What an output shows of these groups."""
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
        intervals = _intervals(column, groups) if output.type in NUMBERS else NOTHING
        bounds: CellColumn[tuple[float, ...] | None] = CellColumn((taus,), lambda rows: [tuple(row) for row in rows])
        moved = bool(np.any(released.value[groups] != column.value[groups]))
        raw = _cells(output, released, texts, groups) if moved else NOTHING
        around = NOTHING if column is released else _intervals(released, groups)
        return cls(cells, intervals, bounds, raw, around)


def _column(output: Output, evaluate: Evaluator) -> Column:
    """The values of an output; a count is a whole number, its interval rounded away from the value."""
    column = evaluate(output.expression)
    return whole(column) if output.type == "int8" and releases_used(output.expression) else column


def _not_negative(plan: Plan, output: Output, column: Column) -> Column:
    """A count or a sum of what is not negative, which only its noise puts below 0; anything else as it is.

    Post-processing of what was released: that the truth is not negative is public, so its interval begins at 0, too.
    The upper end is that around what is shown: of a value below 0 its own may lie below 0, and would bound nothing.
    """
    value = output.expression
    if not isinstance(value, ReleasedValue):
        return column
    release = plan.releases[value.release]
    if release.ranked is not None or release.less is not None or release.around is not None:
        return column
    ends = np.maximum(column.low, 0.0), column.high - np.minimum(column.value, 0.0)
    low, high = (
        np.where(column.may_be_known, end, own) for end, own in zip(ends, (column.low, column.high), strict=True)
    )
    return replace(column, value=np.maximum(column.value, 0.0), low=low, high=high)


def _cells(output: Output, column: Column, texts: Sequence[str], groups: NDArray[np.int64]) -> CellColumn[Cell]:
    """The values as the output's type."""

    def made(values: list[float], nulls: list[bool]) -> list[Cell]:
        pairs = zip(values, nulls, strict=True)
        return [None if null else _typed(output, value, texts) for value, null in pairs]

    return CellColumn((column.value[groups], column.null[groups]), made)


def _typed(output: Output, value: float, texts: Sequence[str]) -> Cell:
    if output.type == "int8":
        return round(value)
    if output.type == "bool":
        return value != 0.0
    if isinstance(output.expression, ReleasedValue) and output.type not in NUMBERS:
        return RESULT_TYPES[output.type].cell(_moment(value, output.type))
    return value if output.type in NUMBERS else RESULT_TYPES[output.type].cell(texts[int(value)])


def _moment(value: float, kind: ResultType) -> str:
    """A released date, a number of days since 1970, or time, of seconds, as the text that group keys have of it."""
    if kind == "date":
        return moment_text(date.fromordinal(_EPOCH + round(value)))
    return moment_text(datetime(1970, 1, 1) + timedelta(seconds=round(value)))


def _intervals(column: Column, groups: NDArray[np.int64]) -> CellColumn[Interval | None]:
    """Intervals; None where there is no value."""
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
    """Per row: is the noise of some column of the order of its value? Its interval is then wider than the value.

    So it is where an interval is not bounded, as that of a quotient whose divisor may be 0 for all that is known. Of
    an interval with one end it is so where that end does not tell the value from 0, of a rank where its mechanism
    says so.
    """
    low_precision = np.zeros(len(groups), np.bool_)
    two_sided = _covers(noisy) != "truth_lower"
    for output, column in zip(plan.display.outputs, columns, strict=True):
        used = releases_used(output.expression)
        if any(plan.releases[release].ranked is not None for release in used):
            low_precision |= np.logical_or.reduce([noisy[release].may_be_clipped[groups] for release in used])
        elif used and output.type in NUMBERS:
            value, low, high = column.value[groups], column.low[groups], column.high[groups]
            width = high - low if two_sided else np.where(low > 0, 0.0, np.inf)
            low_precision |= (low <= high) & ~(width <= np.abs(value))
    return low_precision


def _cut(
    plan: Plan, evaluate: Evaluator, noise: Evaluator, noisy: Sequence[NoisyAnswer], groups: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Per row: may much of some column be missing: a part of its value by its interval, or of what is not known?

    Args:
      evaluate: the answer, with what may be missing in its intervals.
      noise: the answer as if nothing were missing.
    """
    cut = np.zeros(len(groups), np.bool_)
    for output in plan.display.outputs:
        used = releases_used(output.expression)
        if not used or any(plan.releases[release].ranked is not None for release in used):
            continue
        column, alone = evaluate(output.expression), noise(output.expression)
        open_ended = np.isinf(alone.high) | np.isinf(alone.low)  # which is weak, whatever may be missing
        with np.errstate(invalid="ignore"):
            lacks = np.where(open_ended, 0.0, (column.high - alone.high) + (alone.low - column.low))
        share = np.where(lacks > (alone.high - alone.low) / 2, _CUT_BEYOND_NOISE, CLIPPED_SHARE)
        cut |= ~(lacks <= share * np.abs(column.value))[groups]
        value = output.expression
        if isinstance(value, ReleasedValue):
            cut |= noisy[value.release].signal[groups] <= 0
    return cut


def _confidence(plan: Plan, noisy: Sequence[NoisyAnswer]) -> float:
    """The confidence that every interval has: a value of k releases misses at most k times as often as one.

    A centre is known: what it leaves is measured.
    """
    misses = [
        math.fsum(1.0 - noisy[one].confidence for one in used if not isinstance(plan.releases[one].around, Centre))
        for used in _used(plan)
    ]
    return round(1.0 - min(1.0, max(misses, default=0.0)), _CONFIDENCE_DIGITS)


def _used(plan: Plan) -> list[frozenset[int]]:
    """The releases behind each column that has some."""
    return [used for output in plan.display.outputs if (used := releases_used(output.expression))]


def _covers(noisy: Sequence[NoisyAnswer]) -> str:
    """What every interval covers. A release without truncation bias covers the truth as well as its own answer."""
    names = [one.covers for one in noisy]
    return "truth_lower" if "truth_lower" in names else next(iter(names), "exact")


def _mechanisms(plan: Plan, noisy: Sequence[NoisyAnswer]) -> str:
    """Everything that released a part of the answer, which groups it has included."""
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
    """What the intervals cover, how rows were chosen and sorted, and which rows say next to nothing."""
    yield _coverage_note(plan, domain, noisy)
    yield from _exceeding_notes(plan, noisy)
    yield from plan.notes
    yield from dict.fromkeys(key.omitted for key in plan.group_keys if key.omitted is not None)
    if plan.bounds.rule is not None and _leaves_out(plan, domain, plan.bounds.rule):
        yield from _rule_notes(plan, domain, plan.bounds.rule)
    yield from _selection_notes(plan, domain)
    if _chooses(plan):
        yield _CHOSEN
    if tied is not None:
        yield tied
    for said, name, marked in ((_WEAK, "low_precision", low_precision), (_CUT, "clipped", cut)):
        if marked.any():
            one = len(marked) == 1
            yield said.format(rows="this answer" if one else f"{marked.sum()} of {len(marked)} rows ({name})")


def _coverage_note(plan: Plan, domain: Domain, noisy: Sequence[NoisyAnswer]) -> str:
    """What the intervals cover."""
    if _is_uncut(plan, noisy):
        most = plan.bounds.tuples
        return _UNCUT.format(rows="one row" if most == 1 else f"{most:,} rows")
    if _is_as_said(plan, domain, noisy):
        return _SAID.format(most=plan.bounds.assumed, group=" to a group" if plan.group_keys else "")
    if _is_promised(plan, domain, noisy):
        bounds = [(one.bound.at_most, one) for one in plan.releases if one.bound is not None]
        amounts = [amount_of(most, one) for most, one in bounds if most is not None]
        return _PROMISED.format(most=" and ".join(dict.fromkeys(amounts)))
    named = [_named_amount(*pair) for pair in zip(plan.releases, noisy, strict=True)]
    if named and all(named):
        either = any(release.less is not None for release in plan.releases)
        either |= any(isinstance(output.expression, Apply) for output in plan.display.outputs)
        lies = "may lie on either side" if either else "may lie above"
        return _CUT_HERE.format(amounts=" and ".join(dict.fromkeys(map(str, named))), lies=lies)
    covers = _covers(noisy)
    computed = any(isinstance(output.expression, Apply) for output in plan.display.outputs)
    computed |= any(release.ranked is not None for release in plan.releases)
    derived = {"truth_lower": _TRUTH_WITHIN, "truncated_full": _TRUTH_EITHER_SIDE}
    return derived.get(covers, _NOTES[covers]) if computed else _NOTES[covers]


def _is_uncut(plan: Plan, noisy: Sequence[NoisyAnswer]) -> bool:
    """Is every threshold at least what keys and declared fan-outs let one unit add? Public, as thresholds are."""
    most = plan.bounds.tuples
    if most is None or not noisy or plan.sampling is not None or plan.bounds.rule is not None:
        return False
    scalar = not MECHANISMS[plan.mechanism].bounds_vector and all(release.is_sum for release in plan.releases)
    return scalar and _covers(noisy) == "truncated_full" and all(bool(np.all(one.tau >= most)) for one in noisy)


def _is_as_said(plan: Plan, domain: Domain, noisy: Sequence[NoisyAnswer]) -> bool:
    """Was everything released at the threshold that nobody exceeds, as whoever asked says, and no rule cut more?"""
    return plan.bounds.assumed is not None and bool(noisy) and not clipped_by_rule(plan, domain)


def _is_promised(plan: Plan, domain: Domain, noisy: Sequence[NoisyAnswer]) -> bool:
    """Do all intervals cover the truth if nobody exceeds what the policy says?

    So they do where a threshold is no less than that, or where an interval was raised by what those may lose who have
    more; and where no rule and no factor of another sum cut anything.
    """
    pairs = list(zip(plan.releases, noisy, strict=True))
    return bool(pairs) and not clipped_by_rule(plan, domain) and all(_holds_truth(*pair) for pair in pairs)


def _holds_truth(release: Release, noisy: NoisyAnswer) -> bool:
    if release.bound is None or release.bound.at_most is None or CENTRED in noisy.mechanism:
        return False
    whole = bool(np.all(noisy.tau >= float(normalised(release.bound.at_most, release))))
    return noisy.covers == "truncated_full" and (whole or noisy.exceeding is not None)


def _named_amount(release: Release, noisy: NoisyAnswer) -> str | None:
    """How much of each person counts, where the policy says it; None elsewhere, and where a factor cuts all."""
    bound = release.bound
    if bound is None or CENTRED in noisy.mechanism:
        return None
    most = bound.at_most if bound.clip is None else bound.clip
    return None if most is None else amount_of(most, release)


def _exceeding_notes(plan: Plan, noisy: Sequence[NoisyAnswer]) -> Iterator[str]:
    """How many people have more than the policy lets count, a sentence for each release that measured it."""
    for release, one in zip(plan.releases, noisy, strict=True):
        if one.exceeding is None or not one.exceeding.at_most or release.bound is None or release.bound.clip is None:
            continue
        people = max(0, one.exceeding.people)
        yield _EXCEED.format(
            people="1 person" if people == 1 else f"{people:,} people",
            most=one.exceeding.at_most,
            have="has" if people == 1 else "have",
            amount=amount_of(release.bound.clip, release),
            groups=" in all groups together" if plan.group_keys else "",
            lost="their further rows are" if release.whole else "what they have beyond is",
        )


def _leaves_out(plan: Plan, domain: Domain, rule: int) -> bool:
    """Does the rule leave rows out? Not where there are no more public groups than it allows."""
    found = plan.selection is not None and plan.selection.delta > 0
    return found or len(domain) + domain.withheld > rule


def clipped_by_rule(plan: Plan, domain: Domain) -> bool:
    """May the policy's rule have cut any value of the answer?

    Counts of distinct values are not under it, nor are mechanisms that bound a unit in all groups together: of their
    questions it decides which groups are shown, if that is decided at all.
    """
    if (
        plan.bounds.rule is None
        or MECHANISMS[plan.mechanism].bounds_vector
        or not _leaves_out(plan, domain, plan.bounds.rule)
    ):
        return False
    return any(plan.is_ruled(plan.releases[release]) for used in _used(plan) for release in used)


def _rule_notes(plan: Plan, domain: Domain, rule: int) -> Iterator[str]:
    """What the policy's rule leaves out, by public numbers; nothing where units vote and no value is under it."""
    if not clipped_by_rule(plan, domain):
        if plan.selection is None or not plan.selection.votes:
            yield _RULE_SHOWN.format(rule=rule)
        return
    found = plan.selection is not None and plan.selection.delta > 0
    groups = len(domain) + domain.withheld
    share = _RULE_ANY if found else _RULE_SHARE.format(groups=groups, share=rule / groups)
    yield _RULE.format(rule=rule, share=share)


def _selection_notes(plan: Plan, domain: Domain) -> Iterator[str]:
    """Which groups the answer leaves out; how many only where the public knows the others."""
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
    """Do released values decide which rows are shown?"""
    having = plan.display.having is not None and bool(releases_used(plan.display.having))
    return having or (plan.display.is_limited and any(releases_used(key.expression) for key in plan.display.order))


def _bounded(end: float) -> float | None:
    """An end of an interval; None when it is unbounded."""
    return end if math.isfinite(end) else None


def _plain(value: object) -> Cell:
    """A group key as JSON can carry it."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return float(value) if isinstance(value, Decimal) else str(value)
