"""Answers without truncation and noise: of measured questions, of what is computed from them, of free rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

from planner.postprocessing.write_outer import Cell
from planner.public.relation import PublicStatement
from planner.released_expression import is_noisy
from planner.sql.sql_types import ResultType
from server.answers.work import Compose, ListGroups, Measure, Work
from server.backends.backend import Backend
from server.postprocessing.composition import Composition
from server.question import Question
from tests.golden.released_arithmetic import Value
from tests.golden.untruncated import Run, untruncated

Row = tuple[object, ...]

_RELATIVE, _ABSOLUTE = 1e-5, 1e-4


def answered(found: Work, run: Run, backend: Backend, *, empty: bool = False) -> list[Row]:
    """What the analyst would be shown.

    Args:
      found: by a look-up for this database.
      run: statements on the database.
      backend: the same database, for what is free.
      empty: with the groups that nothing falls into, which the database shows by a LEFT JOIN alone.
    """
    match found:
        case Measure(question, _):
            return [tuple(row) for row in _released(question, run, empty=empty)]
        case ListGroups(question):
            return [tuple(row) for row in backend.domain(question.query).groups]
        case PublicStatement():
            return list(backend.public(found))
        case Compose(composition):
            return _computed(composition, run, backend)
    raise AssertionError(found)


def _computed(composition: Composition, run: Run, backend: Backend) -> list[Row]:
    rows: dict[str, list[tuple[Cell, ...]]] = {}
    for part in composition.parts:
        tables = []
        for table in part.tables:
            computed = backend.compute(table.statement.with_rows(rows), rows=True)
            tables.append(table.released.with_rows(computed.rows))
        question = part.question.over(tables, backend.dialect) if tables else part.question
        rows[part.relation] = list(_relation_rows(question, run))
    computed = backend.compute(composition.statement.with_rows(rows), rows=True)
    width = len(computed.columns) - 2 * len(composition.shown.places)
    return [row[:width] for row in computed.rows]


def _released(question: Question, run: Run, *, empty: bool) -> list[tuple[Value, ...]]:
    answer = untruncated(question.plan, run, question.query)
    empty = empty or not question.plan.group_keys or not question.plan.releases
    return [row for group, row in answer.rows.items() if empty or group not in answer.empty]


def _relation_rows(question: Question, run: Run) -> Iterator[tuple[Cell, ...]]:
    """As `relation_rows` of the server, of an answer without intervals."""
    outputs = question.plan.display.outputs
    ends = (None,) * (2 * sum(map(is_noisy, outputs)))
    for row in _released(question, run, empty=False):
        yield (*(_cell(value, output.type) for value, output in zip(row, outputs, strict=True)), *ends)


def _cell(value: Value, kind: ResultType) -> Cell:
    """A rank's date is a number of days here, and its timestamp one of seconds."""
    if isinstance(value, Fraction) and kind in ("date", "timestamp"):
        seconds = value * 86_400 if kind == "date" else value
        moment = datetime(1970, 1, 1) + timedelta(seconds=int(seconds))
        return str(moment.date() if kind == "date" else moment)
    if not isinstance(value, Fraction):
        return value if isinstance(value, bool) or value is None else str(value)
    return int(value) if value.denominator == 1 else float(value)


def differences(shown: Sequence[Row], true: Sequence[Row]) -> Iterator[str]:
    """Where an answer is not what the database says: rows in any order, numbers up to the rounding of weights."""
    if len(shown) != len(true):
        yield f"{len(shown)} rows instead of {len(true)}: {list(shown)[:5]} instead of {list(true)[:5]}"
        return
    for one, other in zip(_sorted(shown), _sorted(true), strict=True):
        if len(one) != len(other) or not all(map(_same, one, other)):
            yield f"{one} instead of {other}"


def _sorted(rows: Sequence[Row]) -> list[Row]:
    found = [tuple(map(plain, row)) for row in rows]
    return sorted(found, key=lambda row: [_rough(value) for value in row])


def plain(value: object) -> object:
    """Numbers and seconds as floats, moments and texts as text; a number that was sent as text is the number."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float | Decimal | Fraction):
        return float(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(" ")
    if isinstance(value, date):
        return value.isoformat()
    text = str(value).rstrip()
    try:
        return float(text)
    except ValueError:
        return text.removesuffix("+00:00").removesuffix("+00")


def _rough(value: object) -> str:
    """What rows are sorted by: a sum over no rows is zero here and NULL there, so both sort alike."""
    return f"{value or 0.0:.4g}" if value is None or isinstance(value, float) else repr(value)


def _same(shown: object, true: object) -> bool:
    if isinstance(shown, float) and isinstance(true, float):
        return math.isclose(shown, true, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)
    return shown == true or (shown == 0.0 and true is None)
