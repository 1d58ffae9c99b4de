"""A study's questions through the whole way of a query, again and again, over its DuckDB file and its policy."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import cast

import duckdb
import numpy as np

from planner.policy.declared import with_declared_keys
from planner.policy.policy import parse_policy
from planner.policy.validate import validate
from server.backends.duckdb import DuckdbBackend
from server.ledger.ledger import Ledger
from server.pipeline import Pipeline
from server.query import QueryRequest, QueryResponse
from server.workers.pool import WorkerPool
from tests.benchmarks.case_studies.study import Asked, Study
from tests.support.asking import ask
from tests.support.memory_ledger import MemoryLedger

Table = dict[tuple[str, ...], tuple[float, ...]]
"""By group keys, the values of a row; NULL is no number."""

_NAMESPACE = "public"


@dataclass(frozen=True)
class Release:
    """One answer, and how long it took."""

    response: QueryResponse
    seconds: float


class StudyProxy:
    """The way of a query over one study."""

    def __init__(self, study: Study, file: Path, workers: WorkerPool) -> None:
        self._file = file
        policy = parse_policy(study.policy)
        backend = DuckdbBackend(file, _NAMESPACE)
        schema = with_declared_keys(backend.schema().declaring(policy.tables), policy)
        validate(policy, schema)
        self.ledger = MemoryLedger({"ada": 1e6})
        self._pipeline = Pipeline(policy, schema, backend, cast("Ledger", self.ledger), workers)

    def released(self, question: Asked) -> Release:
        """The question asked of another version of the data, as an answer is kept for one."""
        self.ledger.version += 1
        request = QueryRequest("ada", question.sql, epsilon=question.epsilon, request_id="study", reuse="never")
        begun = time.perf_counter()
        response = ask(self._pipeline, request)
        return Release(response, time.perf_counter() - begun)

    def truth(self, question: Asked) -> Table:
        """What the rows say."""
        with duckdb.connect(self._file, read_only=True) as connection:
            connection.execute(f"USE {_NAMESPACE}")
            return as_table(connection.execute(question.sql).fetchall(), question.keys)


def as_table(rows: Sequence[Sequence[object]], keys: int) -> Table:
    """Rows by their leftmost keys, as texts: a whole number without a fraction, a moment at midnight as its day."""
    found: Table = {}
    for row in rows:
        values = tuple(float("nan") if value is None else float(str(value)) for value in row[keys:])
        found[tuple(map(_text, row[:keys]))] = values
    return found


def _text(key: object) -> str:
    if isinstance(key, int | float) and not isinstance(key, bool):
        return f"{key:g}"
    return re.sub(r"[ T]00:00:00$", "", str(key))


def measured(releases: Sequence[Release], truth: Table, question: Asked) -> Mapping[str, tuple[float, str]]:
    """What the page says of a question: by metric, the value and its unit.

    Errors are of all groups together, relative to the sum of the true values; of several columns, the worst.
    """
    tables = [as_table(release.response.rows, question.keys) for release in releases]
    errors = [max(relative_errors(table, truth)) for table in tables]
    rows = [len(table) for table in tables]
    inside = [held for release in releases for held in _held(release.response, truth, question.keys)]
    clipped = [mark for release in releases for mark in release.response.clipped]
    low_precision = [mark for release in releases for mark in release.response.low_precision]
    found: dict[str, tuple[float, str]] = {
        "releases": (len(releases), "1"),
        "epsilon": (releases[0].response.epsilon, "1"),
        "delta": (releases[0].response.delta, "1"),
        "rows": (median(rows), "1"),
        "error, median": (100 * median(errors), "%"),
        "error, 95th percentile": (100 * float(np.quantile(errors, 0.95)), "%"),
        "rows marked clipped": (100 * float(np.mean(clipped)), "%"),
        "rows marked low_precision": (100 * float(np.mean(low_precision)), "%"),
        "time, median": (median(release.seconds for release in releases), "s"),
    }
    if inside:
        found["values whose interval holds the truth"] = (100 * float(np.mean(inside)), "%")
    if question.keys == 0 and len(releases[0].response.columns) == 1:
        interval = releases[0].response.intervals[0][0]
        found["one answer"] = (tables[0][()][0], "1")
        found["the truth"] = (truth[()][0], "1")
        if interval is not None and interval.low is not None and interval.high is not None:
            found |= {"its interval, low": (interval.low, "1"), "its interval, high": (interval.high, "1")}
    return found


def relative_errors(answer: Table, truth: Table) -> list[float]:
    """By column: all absolute errors, of the sum of what is true. A group that is missing on one side counts as 0."""
    columns = len(next(iter(truth.values())))
    nothing = (0.0,) * columns
    pairs = [(answer.get(key, nothing), truth.get(key, nothing)) for key in answer.keys() | truth.keys()]
    return [
        sum(abs(said[column] - true[column]) for said, true in pairs) / sum(abs(true[column]) for _, true in pairs)
        for column in range(columns)
    ]


def _held(response: QueryResponse, truth: Table, keys: int) -> list[bool]:
    """Of each value with an interval, whether what is true lies in it; of a group that is not there, 0 is."""
    found = []
    for row, intervals in zip(response.rows, response.intervals, strict=True):
        (key,) = as_table([row], keys)
        for column, interval in enumerate(intervals[keys:]):
            if interval is not None:
                value = truth[key][column] if key in truth else 0.0
                above = interval.low is None or interval.low <= value
                found.append(above and (interval.high is None or value <= interval.high))
    return found
