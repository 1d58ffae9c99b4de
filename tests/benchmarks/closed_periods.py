"""What thirty daily loads of a monthly series cost, with closed periods kept and without."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from statistics import median

from server.pipeline import Pipeline
from server.query import QueryRequest, QueryResponse
from server.workers.pool import WorkerLimits, WorkerPool
from tests.benchmarks.rows import Row
from tests.support.asking import ask
from tests.support.growing_clinic import GrowingClinic, growing_clinic

EPSILON = 0.5
FIRST = date(2026, 11, 20)
"""Of the loads: a month ends among them, and closes a week later."""

_SQL = (
    "SELECT date_trunc('month', admitted_at) AS month, count(*) AS n FROM visit "
    "WHERE admitted_at < DATE '2027-01-01' GROUP BY 1 ORDER BY 1"
)
_PATIENTS = 2_000
_LEAST = 5.0
"""How many times less the loads have to cost."""


def run(quick: bool) -> list[Row]:
    """Epsilon for all loads, either way; the width of the open month's intervals beside that of a whole question."""
    loads = 8 if quick else 30
    pool = WorkerPool(WorkerLimits(workers=1, call_s=120.0), preload="server.pipeline")
    pool.warm()
    try:
        with tempfile.TemporaryDirectory() as folder, growing_clinic(Path(folder), "duckdb", pool) as clinic:
            return _measured(clinic, loads)
    finally:
        pool.close()


def _measured(clinic: GrowingClinic, loads: int) -> list[Row]:
    clinic.run(
        f"INSERT INTO patient SELECT p, CASE WHEN p % 3 = 0 THEN 'Aalen' ELSE 'Berne' END "
        f"FROM generate_series(40, {_PATIENTS - 1}) AS t(p)"
    )
    _visits(clinic, date(2026, 1, 1), (FIRST - date(2026, 1, 1)).days)
    clinic.note(FIRST.isoformat())
    kept: list[float] = []
    anew: list[float] = []
    widths: list[float] = []
    for number in range(loads):
        day = FIRST + timedelta(days=number)
        if number:
            _visits(clinic, day - timedelta(days=1), 1)
            done = clinic.bump(day.isoformat())
            assert done.noted and done.found is not None and not done.found.changed, "rows only grow"
        pipeline = clinic.pipeline()
        divided, whole = _asked(pipeline, "ada"), _asked(_without(pipeline), "bob")
        kept.append(divided.epsilon)
        anew.append(whole.epsilon)
        month = day.month - 1
        widths.append(_width(divided, month) / _width(whole, month))
    assert sum(anew) == loads * EPSILON, "a question without periods is measured again after each load"
    gained = sum(anew) / sum(kept)
    name = f"{loads} daily loads, counts by month at epsilon {EPSILON:g}"
    return [
        Row(name, "epsilon, every load asked as a whole", sum(anew), "1"),
        Row(name, "epsilon, closed months kept", sum(kept), "1"),
        Row(name, "times less", gained, "1", least=_LEAST),
        Row(name, "width of the open month's interval, beside a whole question's", median(widths), "1"),
    ]


def _visits(clinic: GrowingClinic, first: date, days: int) -> None:
    """A twentieth of the patients on each day, others on the next."""
    clinic.run(
        f"INSERT INTO visit SELECT 0, (d * 131 + p * 20) % {_PATIENTS}, 'A', "
        f"CAST(DATE '{first}' + CAST(d AS integer) AS timestamp) + INTERVAL '9' HOUR, 1 "
        f"FROM generate_series(0, {days - 1}) AS a(d) CROSS JOIN generate_series(0, {_PATIENTS // 20 - 1}) AS b(p)"
    )


def _asked(pipeline: Pipeline, analyst: str) -> QueryResponse:
    return ask(pipeline, QueryRequest(analyst, _SQL, epsilon=EPSILON, request_id="r"))


def _without(pipeline: Pipeline) -> Pipeline:
    """The same, which looks for nothing that is kept of closed periods."""
    other = replace(pipeline)
    days = replace(pipeline.deciding.days)
    days.__dict__["append_only"] = False
    other.__dict__["deciding"] = replace(pipeline.deciding, days=days)
    return other


def _width(answer: QueryResponse, row: int) -> float:
    interval = answer.intervals[row][1]
    assert interval is not None and interval.low is not None and interval.high is not None, "two-sided"
    return interval.high - interval.low
