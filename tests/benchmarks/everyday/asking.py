"""One question of a table, planned as the proxy plans it, read once, and released again and again in this process."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import cast

import duckdb
import numpy as np
from numpy.typing import NDArray

from planner.plan import BackendQuery
from planner.policy.declared import with_declared_keys
from planner.policy.policy import parse_policy
from planner.policy.validate import validate
from server.answers.encoding import encoded
from server.answers.released import Released as Kept
from server.backends.backend import Backend
from server.backends.columns import Domain
from server.backends.duckdb import DuckdbBackend
from server.backends.query_tuples import QueryTuples
from server.ledger.charge import CachedAnswer, ChargeRecord
from server.ledger.ledger import Ledger
from server.pipeline import Pipeline
from server.query import Budget, Cell, Interval, QueryRequest
from server.question import Question
from server.results.response import response
from server.workers.measure import measure
from server.workers.pool import WorkerPool
from tests.benchmarks.everyday.oracle import Entries
from tests.benchmarks.everyday.tables import NAMESPACE, Everyday
from tests.support.memory_ledger import MemoryLedger

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Released:
    """(R, G) what was released, in the order of the keys of the truth; the threshold at the median; seconds each."""

    values: Values
    tau: float
    seconds: float


@dataclass(frozen=True)
class _ReadOnce:
    """A backend that has read already: all releases are of the same rows."""

    found: tuple[Domain, QueryTuples]

    def read(self, query: BackendQuery) -> tuple[Domain, QueryTuples]:
        """What was read. The question is always the same."""
        return self.found


@dataclass(frozen=True)
class _OneAnswer:
    """The part of a ledger that forecasts read, of an analyst with one answer."""

    question: Question
    kept: Kept

    def answers_to(self, analyst: str, plan_hash: str, limit: int) -> list[ChargeRecord]:
        """Its charge."""
        charge = self.question.charge(QueryRequest(analyst, "", request_id="benchmark"))
        return [ChargeRecord(1, charge, "committed", (), 0, 0)]

    def cached_answer(self, answer_key: str, analyst: str) -> CachedAnswer:
        """It."""
        (record,) = self.answers_to(analyst, "", 1)
        return CachedAnswer(1, encoded(self.kept), record.charge, paid=True)


@dataclass(frozen=True, eq=False)
class Asking:
    """A table behind its policy.

    Attributes:
      table: what is asked.
      folder: where its file is, or is written.
    """

    table: Everyday
    folder: Path

    @cache  # noqa: B019  # as long as the process
    def truth(self, aggregate: str, key: str) -> dict[str, float]:
        """By group, what is true; of one group where there is no key."""
        return {_text(row[0]): float(str(row[1])) for row in self._exact(self._sql(aggregate, key, "''"))}

    @cache  # noqa: B019  # as long as the process
    def entries(self, aggregate: str, key: str, groups: tuple[str, ...]) -> Entries:
        """What each person adds to each of these groups, as the aggregate of that person's own rows there."""
        keyed = key or "''"
        sql = f"SELECT owner, {keyed}, {aggregate} FROM {self.table.source} GROUP BY 1, 2"
        place = {name: index for index, name in enumerate(groups)}
        found = self._exact(sql)
        unit = np.array([row[0] for row in found], np.int64)
        group = np.array([place[_text(row[1])] for row in found], np.int64)
        return Entries(unit, group, np.array([float(str(row[2])) for row in found]), len(groups))

    def released(self, aggregate: str, key: str, groups: Sequence[str], epsilon: float, releases: int) -> Released:
        """Plan and read once, then release so often. Raises: PlannerError for what is refused."""
        request = QueryRequest("ada", self._sql(aggregate, key), epsilon=epsilon, request_id="benchmark")
        question = self._pipeline.planning.question(request)
        backend = cast("Backend", _ReadOnce(self._backend.read(question.query)))
        budget = MemoryLedger({"ada": 1e6}).budget("ada")
        values, taus = np.full((releases, len(groups)), np.nan), []
        started = time.perf_counter()
        for run in range(releases):
            domain, noisy = measure(backend, question.query, question.measuring)
            taus.append(float(np.median(noisy[0].tau)) * question.plan.releases[0].weight_bound)
            found = response(question.plan, domain, noisy, budget, "benchmark").rows
            by_key = {_text(row[0]): row[-1] for row in found} if key else {"": found[0][0]}
            values[run] = [_number(by_key.get(name)) for name in groups]
        return Released(values, float(np.median(taus)), (time.perf_counter() - started) / releases)

    def rows_as_read(
        self, aggregate: str, key: str, truth: Mapping[str, float], epsilon: float, releases: int
    ) -> Values:
        """(5, N) of all rows of so many answers: value, lower and upper end, what is true, and is it marked?"""
        request = QueryRequest("ada", self._sql(aggregate, key), epsilon=epsilon, request_id="benchmark")
        question = self._pipeline.planning.question(request)
        backend = cast("Backend", _ReadOnce(self._backend.read(question.query)))
        budget = MemoryLedger({"ada": 1e6}).budget("ada")
        found = []
        for _ in range(releases):
            answer = response(
                question.plan, *measure(backend, question.query, question.measuring), budget, "benchmark"
            )
            for row, intervals, cut in zip(answer.rows, answer.intervals, answer.clipped, strict=True):
                true = truth.get(_text(row[0]) if key else "")
                around = intervals[-1] or Interval(None, None)
                low = -np.inf if around.low is None else around.low
                high = np.inf if around.high is None else around.high
                if true is not None:
                    found.append((_number(row[-1]), low, high, true, float(cut)))
        return np.array(found).T

    def answered(self, aggregate: str, key: str, epsilon: float) -> tuple[Question, Kept]:
        """A question, and one answer to it."""
        request = QueryRequest("ada", self._sql(aggregate, key), epsilon=epsilon, request_id="benchmark")
        question = self._pipeline.planning.question(request)
        return question, Kept(*measure(self._backend, question.query, question.measuring))

    @staticmethod
    def telling(question: Question, kept: Kept) -> _OneAnswer:
        """A ledger that knows this one answer."""
        return _OneAnswer(question, kept)

    def _sql(self, aggregate: str, key: str, plain: str = "") -> str:
        shown = ", ".join(part for part in (key or plain, aggregate) if part)
        return f"SELECT {shown} FROM {self.table.source}" + (" GROUP BY 1" if key else "")

    def _exact(self, sql: str) -> list[tuple[object, ...]]:
        with duckdb.connect(str(self._file), read_only=True) as connection:
            connection.execute(f"USE {NAMESPACE}")
            return connection.execute(sql).fetchall()

    @cached_property
    def budget(self) -> Budget:
        """Of whoever asks."""
        return MemoryLedger({"ada": 1e6}).budget("ada")

    @cached_property
    def _file(self) -> Path:
        return self.table.load(self.folder)

    @cached_property
    def _backend(self) -> DuckdbBackend:
        return DuckdbBackend(self._file, NAMESPACE)

    @cached_property
    def _pipeline(self) -> Pipeline:
        policy = parse_policy(self.table.policy)
        schema = with_declared_keys(self._backend.schema(), policy)
        validate(policy, schema)
        ledger = cast("Ledger", MemoryLedger({"ada": 1e6}))  # plans ask it for the version of the data
        workers = cast("WorkerPool", None)  # measured in this process
        return Pipeline(policy, schema, self._backend, ledger, workers)


def _text(key: object) -> str:
    """A group key as text that is the same in an answer and in the truth: numbers without places, days alone."""
    text = str(key)
    try:
        return f"{float(text):g}"
    except ValueError:
        return text[:10] if text[:2] == "20" else text


def _number(cell: Cell) -> float:
    return float("nan") if cell is None else float(cell)
