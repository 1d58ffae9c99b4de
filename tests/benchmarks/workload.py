"""Many questions at once against each asked alone, at the same total epsilon: errors over generated patients.

Through the pipeline over a DuckDB file, with a new ledger for every run, so that nothing is kept. `expected` is what
public noise says (the root mean square over the questions, and the worst of them); `measured` is the root of the mean
squared error over all runs and groups, in multiples of that of questions asked alone. `least` is what no division of
the epsilon among marginals can beat (`marginal_optimum.py`): where it is above a bar, the bar is out of reach.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from server.answers.workload.workload import WorkloadItem, WorkloadRequest
from server.pipeline import Pipeline
from server.query import QueryRequest, QueryResponse
from server.workers.pool import WorkerLimits, WorkerPool
from tests.benchmarks.marginal_optimum import least_error
from tests.benchmarks.rows import Row
from tests.support.asking import ask
from tests.support.memory_ledger import MemoryLedger
from tests.support.ward_grid import MONTHS, SEXES, WARDS, exact, load_wards, ward_pipeline

_EPSILON = 1.0
_RUNS, _QUICK_RUNS = 7, 2
_PATIENTS = 20_000
_MOST, _WORSE = 0.7, 1.02
"""The bars: of all errors in grids by two and three keys; in other workloads, and of any one question."""


def _by(*keys: str) -> str:
    columns = ", ".join(keys)
    return f"SELECT {columns}, count(*) AS n FROM patient GROUP BY {columns}" if keys else _TOTAL


_TOTAL = "SELECT count(*) AS n FROM patient"
_WARD, _MONTH, _SEX = "ward", "month", "sex"

_SIZES = {_WARD: len(WARDS), _MONTH: MONTHS, _SEX: len(SEXES)}

_GRIDS: dict[str, list[str]] = {
    "ward x month, all marginals": [_by(), _by(_WARD), _by(_MONTH), _by(_WARD, _MONTH)],
    "ward x month, no total": [_by(_WARD), _by(_MONTH), _by(_WARD, _MONTH)],
    "ward x month x sex, all marginals": [
        _by(), _by(_WARD), _by(_MONTH), _by(_SEX), _by(_WARD, _MONTH), _by(_WARD, _SEX), _by(_MONTH, _SEX),
        _by(_WARD, _MONTH, _SEX),
    ],
    "ward x month x sex, one and two keys and the total": [
        _by(), _by(_WARD), _by(_MONTH), _by(_SEX), _by(_WARD, _MONTH), _by(_WARD, _SEX), _by(_MONTH, _SEX),
    ],
    "ward x month x sex, two keys": [_by(_WARD, _MONTH), _by(_WARD, _SEX), _by(_MONTH, _SEX)],
}  # fmt: skip

_MIXED = "a grid and others"

_OTHERS: dict[str, list[str]] = {
    "one question": [_by(_WARD)],
    "unrelated counts": [
        "SELECT count(*) AS n FROM patient WHERE age > 60",
        "SELECT ward, count(*) AS n FROM patient WHERE age < 20 GROUP BY ward",
        "SELECT sex, count(*) AS n FROM patient WHERE month = 3 GROUP BY sex",
    ],
    "prefixes": [f"SELECT count(*) AS n FROM patient WHERE age <= {age}" for age in range(10, 100, 10)],
    "many rows of each": [
        "SELECT place, count(*) AS n FROM visit GROUP BY place",
        "SELECT kind, count(*) AS n FROM visit GROUP BY kind",
        "SELECT count(*) AS n FROM visit",
    ],
    "one key each": [_by(_WARD), _by(_MONTH), _by(_SEX)],
    _MIXED: [
        _by(_WARD), _by(_MONTH), _by(_WARD, _MONTH), "SELECT count(*) AS n FROM patient WHERE age > 60",
        "SELECT kind, count(*) AS n FROM visit GROUP BY kind",
    ],
}  # fmt: skip


def run(quick: bool) -> list[Row]:
    """Every workload. A quick run measures grids alone, and each hardly: its bars are those of expected errors."""
    runs = _QUICK_RUNS if quick else _RUNS
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        file = load_wards(Path(folder) / "wards.duckdb", _PATIENTS)
        workers = WorkerPool(WorkerLimits(workers=1, call_s=60.0), preload="server.pipeline")
        workers.warm()
        try:
            for name, statements in (_GRIDS | _OTHERS).items():
                rows += _rows(file, workers, name, statements, runs, quick)
        finally:
            workers.close()
    return rows


def _rows(file: Path, workers: WorkerPool, name: str, statements: Sequence[str], runs: int, quick: bool) -> list[Row]:
    most = _MOST if name in _GRIDS else _WORSE
    plain = all("visit" not in sql for sql in statements)
    together, alone = np.zeros(len(statements)), np.zeros(len(statements))
    took = 0.0
    summary = _pipeline(file, workers).explain_workload(_request(statements)).summary
    told = [
        Row(name, "expected error, of alone", summary.error_of_alone or 0.0, "1", most=most),
        Row(name, "expected error of the worst question, of alone", summary.worst_of_alone or 0.0, "1", most=_WORSE),
    ]
    if name in _GRIDS:
        keys = [frozenset(place for place, key in enumerate(_SIZES) if key in sql) for sql in statements]
        used = sorted(frozenset().union(*keys))
        least = least_error([list(_SIZES.values())[place] for place in used], keys, _WORSE)
        told.append(Row(name, "least expected error of any shares, no question above 1.02", least, "1"))
    if quick and name not in _GRIDS:
        return told
    for _ in range(runs):
        start = time.perf_counter()
        answered = _pipeline(file, workers).workload(_request(statements))
        took += time.perf_counter() - start
        together += [_squared(file, sql, one) for sql, one in zip(statements, answered.answers, strict=True)]
        one_by_one = _pipeline(file, workers)
        for place, sql in enumerate(statements):
            share = math.floor(_EPSILON / len(statements) * 1e9) / 1e9
            answer = ask(one_by_one, QueryRequest("ada", sql, epsilon=share, request_id="alone"))
            alone[place] += _squared(file, sql, answer)
    groups = np.array([float(len(exact(file, sql))) for sql in statements])
    measured = float(np.sqrt((groups * together).sum() / (groups * alone).sum()))
    bar = None if quick or not plain else most  # of so few draws anything may come, and thresholds vary
    return [
        *told,
        Row(name, "measured error, of alone", measured, "1", most=bar if name in _GRIDS else None),
        Row(name, "time of the workload", took / runs, "s"),
    ]


def _pipeline(file: Path, workers: WorkerPool) -> Pipeline:
    return ward_pipeline(file, MemoryLedger({"ada": 1e6}), workers)  # type: ignore[arg-type]


def _request(statements: Sequence[str]) -> WorkloadRequest:
    return WorkloadRequest("ada", tuple(map(WorkloadItem, statements)), _EPSILON, request_id="together")


def _squared(file: Path, sql: str, answer: QueryResponse) -> float:
    """The mean squared error of an answer's groups."""
    truth = {row[:-1]: float(row[-1]) for row in exact(file, sql)}  # type: ignore[arg-type]
    rows = (row for row, _ in answer.as_released())
    return float(np.mean([(float(row[-1]) - truth.get(row[:-1], 0.0)) ** 2 for row in rows]))  # type: ignore[arg-type]
