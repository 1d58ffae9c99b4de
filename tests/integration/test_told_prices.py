"""EXPLAIN's price is the charge, of generated requests: plain, by accuracy, composed, several at once, over loads."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest

from planner.errors import PlannerError
from server.answers.workload.workload import WorkloadItem, WorkloadRequest
from server.errors import NotDerivable, ServerError
from server.pipeline import Pipeline
from server.query import Explanation, QueryRequest
from server.workers.pool import WorkerPool
from tests.support.asking import ask
from tests.support.growing_clinic import GrowingClinic, growing_clinic

REQUESTS, ALL_REQUESTS = 40, 2_000
BETWEEN_LOADS = 8
FIRST_LOAD = date(2026, 4, 20)

AGGREGATES = ("count(*) AS n", "sum(cost) AS n", "avg(cost) AS n", "count(*) AS n, sum(cost) AS s")
KEYS = ("", "ward", "date_trunc('month', admitted_at)", "extract(year FROM admitted_at)", "town")
ENDS = ("2026-02-01", "2026-03-01", "2026-04-01", "2026-05-01", "2026-07-01")
WARDS = ("", " AND ward = 'A'", " AND ward IN ('A', 'B')")


@pytest.fixture
def clinic(tmp_path: Path, workers: WorkerPool) -> Iterator[GrowingClinic]:
    """Visits from January to the middle of April, and a ledger that lasts."""
    with growing_clinic(tmp_path, "duckdb", workers) as made:
        made.ledger.add_analyst("eve", "7" * 64, epsilon=1e6, delta=0.1)
        made.admit("2026-01-01", 105)
        assert made.note(str(FIRST_LOAD))
        yield made


def _question(draw: random.Random) -> str:
    key = draw.choice(KEYS)
    source = "visit v JOIN patient p ON p.id = v.patient_id" if key == "town" else "visit"
    begin = draw.choice(("", "admitted_at >= DATE '2026-01-01' AND "))
    where = f"{begin}admitted_at < DATE '{draw.choice(ENDS)}'{draw.choice(WARDS)}"
    shown, grouped = (f"{key} AS k, ", f" GROUP BY {key}") if key else ("", "")
    return f"SELECT {shown}{draw.choice(AGGREGATES)} FROM {source} WHERE {where}{grouped}"


def _composed(draw: random.Random) -> str:
    one, other = _question(draw), _question(draw)
    return draw.choice(
        (
            f"SELECT max(q.n) AS most FROM ({one}) AS q",
            f"SELECT (SELECT max(q.n) FROM ({one}) AS q) - (SELECT min(r.n) FROM ({other}) AS r) AS between",
            f"SELECT count(*) AS n FROM visit WHERE cost > (SELECT max(q.n) FROM ({one}) AS q)",
        )
    )


def _left(clinic: GrowingClinic) -> float:
    return clinic.left("eve")


def _check_one(clinic: GrowingClinic, pipeline: Pipeline, request: QueryRequest) -> str:
    """Ask what was explained; which kind of price it had."""
    told: Explanation | BaseException
    try:
        told = pipeline.explain(request)
    except (PlannerError, ServerError) as error:
        told = error
    before = _left(clinic)
    try:
        answer = ask(pipeline, request)
    except (PlannerError, ServerError) as error:
        charged = before - _left(clinic)
        if isinstance(told, BaseException):
            assert (type(error), charged) == (type(told), 0.0), request
            return "refused"
        if isinstance(error, NotDerivable):
            assert told.charge_epsilon and charged == 0.0, request
            return "not free"
        assert told.most_epsilon is not None and charged <= told.most_epsilon + 1e-9, (request, error)
        return "refused after a part"
    assert not isinstance(told, BaseException), (request, told)
    charged = before - _left(clinic)
    assert answer.epsilon == pytest.approx(charged, abs=1e-9), request
    if told.most_epsilon is not None:
        assert told.charge_epsilon is not None
        assert told.charge_epsilon - 1e-9 <= charged <= told.most_epsilon + 1e-9, request
        return "found out"
    assert told.charge_epsilon == pytest.approx(charged, abs=1e-9), request
    assert (told.paid or told.derived) <= (charged == 0.0), request
    if charged == 0.0:
        return "free"
    return "in part" if charged < told.epsilon - 1e-6 else "measured"


def _check_workload(clinic: GrowingClinic, pipeline: Pipeline, draw: random.Random) -> str:
    statements = [_question(draw) for _ in range(draw.randint(2, 4))]
    items = tuple(WorkloadItem(sql) for sql in statements)
    request = WorkloadRequest("eve", items, epsilon=draw.choice((8.0, 20.0)), request_id="r")
    told = pipeline.explain_workload(request)
    before = _left(clinic)
    answered = pipeline.workload(request)
    charged = before - _left(clinic)
    assert told.charge_epsilon == pytest.approx(charged, abs=1e-9), statements
    assert answered.epsilon == pytest.approx(charged, abs=1e-9), statements
    return "workload" if charged else "free workload"


def _requests(draw: random.Random) -> QueryRequest:
    kind = draw.random()
    sql = _composed(draw) if kind < 0.2 else _question(draw)
    epsilon = draw.choice((2.0, 6.0, 40.0))
    if 0.2 <= kind < 0.4:
        error = draw.choice((0.05, 0.2))
        return QueryRequest("eve", sql, epsilon=epsilon, request_id="r", max_relative_error=error)
    reuse = draw.choices(("auto", "never", "only"), (8, 1, 1))[0]
    return QueryRequest("eve", sql, epsilon=epsilon, request_id="r", reuse=reuse)  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [REQUESTS, pytest.param(ALL_REQUESTS, marks=pytest.mark.slow)])
def test_what_explain_tells_is_what_is_charged(clinic: GrowingClinic, count: int) -> None:
    draw, found = random.Random(5), Counter[str]()
    pipeline, loads = clinic.pipeline(), 0
    for number in range(count):
        if number % BETWEEN_LOADS == BETWEEN_LOADS - 1 and loads < 60:
            day = FIRST_LOAD + timedelta(days=loads)
            clinic.admit(str(day), 1, start=1_000_000 + 1_000 * loads)
            loads += 1
            assert clinic.bump(str(day + timedelta(days=1))).version == loads + 1
            pipeline = clinic.pipeline()
        if draw.random() < 0.15:
            found[_check_workload(clinic, pipeline, draw)] += 1
        else:
            found[_check_one(clinic, pipeline, _requests(draw))] += 1
    assert {"free", "in part", "measured", "workload", "found out"} <= found.keys(), found
