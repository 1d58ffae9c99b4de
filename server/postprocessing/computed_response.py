"""Build the response of a statement computed from released answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import TypeVar

from planner.errors import PlannerError
from planner.postprocessing.interval_ends import ShownIntervals
from planner.postprocessing.write_outer import Cell
from planner.released_expression import is_noisy, range_of_mean
from planner.reuse.outline import REUSABLE
from planner.sql.sql_types import NUMBERS
from server.backends.public_rows import Computed
from server.errors import CancelledByClient, CancelledEarly, QueryFailed, ServerError
from server.note import Note, kind_of
from server.postprocessing.composition import ComposedPart, Composition, keys_of
from server.query import Budget, Explanation, Interval, QueryResponse, ResultColumn, StatementShape, text_bytes
from server.question import Question
from server.results.notes import confidence_notes
from server.results.public_result import NOTE

Value = TypeVar("Value")
T = TypeVar("T")
ShownCell = str | int | float | bool | None

_PARTS = (
    "{count} noisy answers were released, and the rest was computed from them exactly. Another SELECT around them is "
    "free."
)
_PART = "One noisy answer was released, and the rest was computed from it exactly. Another SELECT around it is free."
"""Notes of the parts' own intervals are left out: intervals of computed values differ."""

_GIVEN = (
    "Where a question reads released values, its intervals hold for these values. Their own noise is not in them."
)

_OF_GROUPS = (
    "An average, an extreme, a rank or a number of groups is one of all groups that the answer lists. Some of them "
    "may have no row, and SQL would leave those out. Write HAVING count(*) > 20 inside to leave most of them out."
)

_CHOSEN = Note(
    "Noise may have chosen which rows are shown: near the limit, the true order may be another one.", "order"
)

_CONFIDENCE_DIGITS = 12  # 0.9 and not 0.8999999999999999

_ARE_CACHED = "its answers were charged and are cached: compute less with them, or ask again; they are free"


def relation_rows(question: Question, response: QueryResponse) -> list[tuple[Cell, ...]]:
    """Return an answer's rows for the SELECT around it: its cells, and the ends of its intervals.

    A mean that may be any value of its range has no ends: it may be of no row.
    """
    outputs = enumerate(question.plan.display.outputs)
    noisy = [(place, range_of_mean(output.expression)) for place, output in outputs if is_noisy(output)]
    return [
        (*row, *(end for place, within in noisy for end in _ends(intervals[place], within)))
        for row, intervals in response.as_released()
    ]


@contextmanager
def after_charges() -> Iterator[list[str]]:
    """Add to errors that earlier parts are charged and cached.

    Yields: a list that receives the answer key of each charged part. While it is empty, errors stay as they are.
    Raises: QueryFailed and CancelledByClient as they are; CancelledByClient for CancelledEarly; other errors with a
      hint.
    """
    charged: list[str] = []
    try:
        yield charged
    except (QueryFailed, CancelledByClient):
        raise
    except CancelledEarly as error:
        if not charged:
            raise
        raise CancelledByClient("the query was cancelled; its answers were charged", hint=_ARE_CACHED) from error
    except (ServerError, PlannerError) as error:
        if charged:
            error.hint = _ARE_CACHED
            if isinstance(error, ServerError):
                error.charged_before = True
        raise


def _ends(interval: Interval | None, within: tuple[float, float] | None) -> tuple[float | None, float | None]:
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    is_any = within is not None and low is not None and high is not None and low <= within[0] and high >= within[1]
    return (None, None) if is_any else (low, high)


def computed_response(
    composition: Composition,
    answers: Sequence[QueryResponse],
    computed: Computed,
    budget: Budget,
    request_id: str,
    values: Mapping[str, str] = MappingProxyType({}),
) -> QueryResponse:
    """Build the response.

    Args:
      answers: of the parts, in order. Values are computed from those that the SELECT reads.
      computed: the rows, with the ends of intervals behind the columns.
      values: the released values that parts read, by the name of their table.
    """
    every = answers
    pairs = [pair for pair in zip(composition.parts, every, strict=True) if composition.shows(pair[0])]
    answers = [answer for _, answer in pairs]
    shown = composition.shown
    columns = _columns(composition, computed)
    width = len(columns)
    released = tuple(row[:width] for row in computed.rows)
    ends = tuple(_intervals(row, columns, shown.places) for row in computed.rows)
    shown = replace(shown, places=tuple(place for place in shown.places if columns[place].type in NUMBERS))
    if not all(_independent(answer) for answer in answers):
        ends = tuple(_without(row, shown.joint) for row in ends)
    rows, intervals = _all_floored(released, ends, shown) if shown.floored else (released, ends)
    is_moved = rows != released
    confidence = _confidence(answers, composition.shown.values)
    covers = list(dict.fromkeys(answer.covers for answer in answers if answer.covers != "exact"))
    return QueryResponse(
        columns=columns,
        rows=rows,
        text_bytes=text_bytes(rows),
        intervals=intervals,
        confidence=confidence,
        covers=covers[0] if len(covers) == 1 else "clipped value" if covers else "exact",
        mechanism=", ".join(dict.fromkeys(answer.mechanism for answer in every)) or "none",
        epsilon=sum(answer.epsilon for answer in _each(composition, every)),
        delta=sum(answer.delta for answer in _each(composition, every)),
        budget=budget,
        request_id=request_id,
        low_precision=(True,) * len(rows)
        if shown.of_groups == "aggregate" and _may_list_nothing(composition, every)
        else _low_precision(shown, answers, rows, intervals),
        clipped=_clipped(composition, pairs, rows),
        taus=((None,) * width,) * len(rows),
        notes=(*_notes(composition, every, values), *confidence_notes(confidence)),
        raw=_differing(released, rows) if is_moved else (),
        raw_intervals=_differing(ends, intervals) if is_moved else (),
        cached=bool(every) and all(answer.cached for answer in every),
        derived_from=tuple(sorted({number for answer in every for number in answer.derived_from})),
        at_most=answers[0].at_most if covers == ["truth"] else None,
    )


def _independent(answer: QueryResponse) -> bool:
    """Is the noise of each of its counts and sums independent of all others?"""
    return all(name in REUSABLE for name in answer.mechanism.split(", ")) or answer.covers == "exact"


def _without(row: tuple[Interval | None, ...], places: Sequence[int]) -> tuple[Interval | None, ...]:
    return tuple(None if place in places else one for place, one in enumerate(row))


def _all_floored(
    rows: Sequence[tuple[ShownCell, ...]], intervals: Sequence[tuple[Interval | None, ...]], shown: ShownIntervals
) -> tuple[tuple[tuple[ShownCell, ...], ...], tuple[tuple[Interval | None, ...], ...]]:
    moved = [
        [_floored(place, *one, shown) for place, one in enumerate(zip(*row, strict=True))]
        for row in zip(rows, intervals, strict=True)
    ]
    return tuple(tuple(cell for cell, _ in row) for row in moved), tuple(
        tuple(one for _, one in row) for row in moved
    )


def _floored(
    place: int, cell: ShownCell, interval: Interval | None, shown: ShownIntervals
) -> tuple[ShownCell, Interval | None]:
    """Show a negative value that cannot be negative as 0, as an answer by itself does."""
    value = _number(cell) if place in shown.floored else None
    if value is None or interval is None:
        return cell, interval
    below = min(value, 0.0)
    low = 0.0 if interval.low is not None or below else None
    found = Interval(
        low if interval.low is None or interval.low < 0 else interval.low,
        None if interval.high is None else interval.high - below,
    )
    nothing: ShownCell = "0" if isinstance(cell, str) else 0 if isinstance(cell, int) else 0.0
    return (nothing if below else cell), found


def _differing(own: Sequence[tuple[T, ...]], shown: Sequence[tuple[T, ...]]) -> tuple[tuple[T | None, ...], ...]:
    """Return what differs from what is shown; None elsewhere."""
    return tuple(
        tuple(one if one != other else None for one, other in zip(*pair, strict=True))
        for pair in zip(own, shown, strict=True)
    )


def _low_precision(
    shown: ShownIntervals,
    answers: Sequence[QueryResponse],
    rows: Sequence[tuple[ShownCell, ...]],
    intervals: Sequence[tuple[Interval | None, ...]],
) -> tuple[bool, ...]:
    """Mark rows whose interval is wider than the value; without intervals, all rows where a source row is marked.

    Values computed over several rows do not mark the values beside them.
    """
    places = [place for place in shown.places if place not in shown.joint] or shown.places
    if not places:
        return (any(any(answer.low_precision) for answer in answers),) * len(rows)
    return tuple(
        any(_is_wide(_number(row[place]), around[place]) for place in places)
        for row, around in zip(rows, intervals, strict=True)
    )


def _is_wide(value: float | None, interval: Interval | None) -> bool:
    if interval is None:
        return False
    if value is None or interval.low is None or interval.high is None:
        return True
    return interval.high - interval.low > abs(value)


def _clipped(
    composition: Composition,
    pairs: Sequence[tuple[ComposedPart, QueryResponse]],
    rows: Sequence[tuple[ShownCell, ...]],
) -> tuple[bool, ...]:
    """Mark rows computed from a clipped row; all of them where keys do not tell which row."""
    everywhere = (any(any(answer.clipped) for _, answer in pairs),) * len(rows)
    if len(pairs) != 1:
        return everywhere
    ((part, answer),) = pairs
    places = {name: place for place, relation, name in composition.shown.keys if relation == part.relation}
    names = [column.name for column in answer.columns]
    keys = keys_of(part.question)
    if not keys or not set(keys) <= places.keys():
        return everywhere
    marks = {
        tuple(str(row[names.index(key)]) for key in keys): mark
        for row, mark in zip(answer.rows, answer.clipped, strict=True)
    }
    found = [marks.get(tuple(str(row[places[key]]) for key in keys)) for row in rows]
    return everywhere if None in found else tuple(mark is True for mark in found)


def computed_shape(described: Composition, computed: Computed) -> StatementShape:
    """Describe the answer before anything is released."""
    columns = _columns(described, computed)
    noisy = tuple(place in described.shown.places for place in range(len(columns)))
    return StatementShape(described.parameters, columns, noisy)


def _columns(composition: Composition, computed: Computed) -> tuple[ResultColumn, ...]:
    """Return the shown columns, without the ends of intervals."""
    width = len(computed.columns) - 2 * len(composition.shown.places)
    return tuple(ResultColumn(name, kind) for name, kind in computed.columns[:width])


def _confidence(answers: Sequence[QueryResponse], values: int) -> float:
    """Return the confidence of an interval computed from several noisy values, by the union bound."""
    one = min((answer.confidence for answer in answers), default=1.0)
    return round(max(0.0, 1 - values * (1 - one)), _CONFIDENCE_DIGITS)


def _intervals(
    row: Sequence[object], columns: Sequence[ResultColumn], ends: Sequence[int]
) -> tuple[Interval | None, ...]:
    """Read the intervals behind the columns; a date that is computed from noisy numbers has none."""
    width = len(columns)
    found: list[Interval | None] = [None] * width
    for number, place in enumerate(ends):
        if columns[place].type not in NUMBERS:
            continue
        low, high = (_number(row[width + 2 * number + end]) for end in (0, 1))
        found[place] = None if row[place] is None else Interval(low, high)
    return tuple(found)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float, str)) else None


def _may_list_nothing(composition: Composition, answers: Sequence[QueryResponse]) -> bool:
    """Is there a group, listed by public data, that may have no row? Noise hides whether it has."""
    parts = zip(composition.parts, answers, strict=True)
    return any(part.question.plan.selection is None and any(answer.low_precision) for part, answer in parts)


def _notes(composition: Composition, answers: Sequence[QueryResponse], values: Mapping[str, str]) -> Iterator[str]:
    if not answers:
        yield NOTE
        return
    if composition.shown.of_groups and _may_list_nothing(composition, answers):
        yield _OF_GROUPS
    count = len(_each(composition, answers))
    yield _PART if count == 1 else _PARTS.format(count=count)
    yield composition.measured(values)
    if composition.shown.chosen:
        yield _CHOSEN
    if composition.tables:
        yield _GIVEN
    yield from dict.fromkeys(note for answer in answers for note in answer.notes if kind_of(note) != "confidence")


def composed_explanation(
    composition: Composition, explanations: Sequence[Explanation], computed: Computed
) -> Explanation:
    """Explain a composed statement: its parts in turn, and the SELECT around them."""
    names = [part.relation for part in composition.parts]
    relations = ", ".join(one.name for one in composition.statement.relations) or "public tables"
    names, explanations = _each(composition, names), _each(composition, explanations)
    statements = [one.rewritten_sql for one in explanations]
    around = f"-- computed from {relations}, exactly\n{composition.statement.sql}"
    reasons = [f"{name}: {one.reason}" for name, one in zip(names, explanations, strict=True)]
    reasons.append(composition.measured())
    released = [
        f"-- {one.released.relation.name}: computed first, exactly\n{one.statement.sql}" for one in composition.tables
    ]
    if composition.tables:
        reasons.append(_GIVEN)
    if not explanations:
        reasons = ["none: it reads only public tables, so the answer is exact and free"]
    return Explanation(
        rewritten_sql=";\n\n".join([*statements, *released, around]),
        privacy_units=_once(one.privacy_units for one in explanations),
        owners=_once(one.owners for one in explanations),
        weight_bounds=tuple(bound for one in explanations for bound in one.weight_bounds),
        mechanism=", ".join(dict.fromkeys(one.mechanism for one in explanations)) or "none",
        reason=" ".join(reasons),
        epsilon=sum(one.epsilon for one in explanations),
        delta=sum(one.delta for one in explanations),
        expected_noise=tuple(noise for one in explanations for noise in one.expected_noise),
        columns=_columns(composition, computed),
        tables=tuple(table for one in explanations for table in one.tables),
        conditions=tuple(condition for one in explanations for condition in one.conditions),
        n_groups=None,
        group_sources=tuple(source for one in explanations for source in one.group_sources),
        groups_reason=f"{len(explanations)} answers are released" if explanations else "",
        mechanisms=tuple(release for one in explanations for release in one.mechanisms),
        selection=" ".join(dict.fromkeys(one.selection for one in explanations if one.selection)) or None,
        reuse=" ".join(f"{name}: {one.reuse}" for name, one in zip(names, explanations, strict=True) if one.reuse)
        or None,
    )


def _each(composition: Composition, values: Sequence[Value]) -> list[Value]:
    """Return one value per question, in order: equal parts are charged once."""
    first = {part.number: value for part, value in reversed(list(zip(composition.parts, values, strict=True)))}
    return [first[number] for number in sorted(first)]


def _once(parts: Iterator[tuple[str, ...]] | Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for part in parts for value in part))
