"""Noisegate's side: each question through the whole way of a query, again and again, over a DuckDB file."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import cast

from planner.policy.declared import with_declared_keys
from planner.policy.policy import Policy, parse_policy
from planner.policy.validate import validate
from planner.schema import Schema
from server.backends.duckdb import DuckdbBackend
from server.ledger.ledger import Ledger
from server.pipeline import Pipeline
from server.query import QueryRequest
from server.workers.pool import WorkerLimits, WorkerPool
from tests.benchmarks.comparison.data import NAMESPACE, DataSet
from tests.benchmarks.comparison.verdicts import Answer, Answered, as_answer
from tests.support.asking import ask
from tests.support.memory_ledger import MemoryLedger

_WORKER_S = 300.0

Read = Callable[[Iterable[Sequence[object]]], Answer]


@contextmanager
def one_worker() -> Iterator[WorkerPool]:
    """Where rows are read and solved; warm, as that of a proxy that runs."""
    pool = WorkerPool(WorkerLimits(workers=1, call_s=_WORKER_S), preload="server.pipeline")
    try:
        pool.warm()
        yield pool
    finally:
        pool.close()


@dataclass(frozen=True)
class Noisegate:
    """A proxy's way of a query over one data set, with the policy as it is declared and nothing besides."""

    data: DataSet
    file: Path
    workers: WorkerPool

    def answered(self, sql: str, epsilon: float, draws: int, read: Read = as_answer) -> Answered:
        """Releases of one question, each of another version of the data, as an answer is kept for one.

        Args:
          read: makes numbers of an answer's rows.
        """
        ledger = MemoryLedger({"ada": 1e6})
        pipeline = self._pipeline(ledger)
        found: list[Answer] = []
        seconds: list[float] = []
        for _ in range(draws):
            ledger.version += 1
            started = time.perf_counter()
            response = ask(pipeline, QueryRequest("ada", sql, epsilon=epsilon, request_id="benchmark"))
            seconds.append(time.perf_counter() - started)
            found.append(read(response.rows))
        return Answered("", tuple(found), tuple(seconds))

    def _pipeline(self, ledger: MemoryLedger) -> Pipeline:
        policy, schema = self._contract
        backend = DuckdbBackend(self.file, NAMESPACE)
        return Pipeline(policy, schema, backend, cast("Ledger", ledger), self.workers)

    @cached_property
    def _contract(self) -> tuple[Policy, Schema]:
        policy = parse_policy(self.data.policy_text)
        schema = with_declared_keys(DuckdbBackend(self.file, NAMESPACE).schema(), policy)
        validate(policy, schema)
        return policy, schema
