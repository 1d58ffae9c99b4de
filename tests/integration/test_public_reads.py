"""Reads of public tables: what counts as a failure, who has to wait. Real workers, a database that sleeps."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from planner.plan import BackendQuery
from planner.public.relation import PublicStatement
from server.backends.columns import Domain
from server.backends.public_rows import Rows
from server.errors import (
    BackendConnectionLost,
    BackendFailed,
    BackendUnavailable,
    CancelledEarly,
    PublicQueryFailed,
    QueryCancelled,
    ServerError,
    TooManyFailures,
)
from server.workers import public_reads
from server.workers.pool import WorkerLimits, WorkerPool
from server.workers.public_reads import MAX_UNANSWERED, PublicReads, public_limits
from tests.support.backends import FailingBackend

STATEMENT = cast(PublicStatement, None)


@dataclass(frozen=True)
class SleepingBackend(FailingBackend):
    """Takes its time, then fails or answers.

    Attributes:
      seconds: how long a read takes.
      failure: how each ends; None: with a row.
    """

    log: Path = Path("/dev/null")
    seconds: float = 0.0
    failure: ServerError | None = None

    def public(self, statement: PublicStatement) -> Rows:
        self.log.touch()
        time.sleep(self.seconds)
        if self.failure is not None:
            raise self.failure
        return ((1,),)

    def domain(self, query: BackendQuery) -> Domain:
        return Domain((self.public(STATEMENT),))


@pytest.fixture(scope="module")
def workers() -> Iterator[WorkerPool]:
    pool = WorkerPool(public_limits(WorkerLimits()), preload="server.workers.public_reads")
    pool.warm()
    yield pool
    pool.close()


def _failed(reads: PublicReads, failure: ServerError, seconds: float = 0.0) -> type[BaseException]:
    with pytest.raises(ServerError) as failed:
        reads.rows(SleepingBackend(seconds=seconds, failure=failure), STATEMENT, "eve")
    return failed.type


@pytest.mark.slow
def test_what_goes_over_its_limits_is_limited_in_number(workers: WorkerPool) -> None:
    reads = PublicReads(workers)
    for _ in range(MAX_UNANSWERED):
        assert _failed(reads, QueryCancelled("too long")) is PublicQueryFailed
    with pytest.raises(TooManyFailures, match="public tables"):
        reads.rows(SleepingBackend(), STATEMENT, "eve")
    with pytest.raises(TooManyFailures, match="public tables"):
        reads.domain(SleepingBackend(), _by_statement(), "eve")
    assert reads.rows(SleepingBackend(), STATEMENT, "ann") == ((1,),)


def test_those_that_wait_are_refused_when_their_turn_comes(workers: WorkerPool) -> None:
    reads = PublicReads(workers)
    with ThreadPoolExecutor(2 * MAX_UNANSWERED) as threads:
        failure = QueryCancelled("too long")
        kinds = list(threads.map(lambda _: _failed(reads, failure, 0.02), range(2 * MAX_UNANSWERED)))
    assert kinds.count(PublicQueryFailed) == MAX_UNANSWERED
    assert kinds.count(TooManyFailures) == MAX_UNANSWERED


@pytest.mark.slow
def test_what_is_quick_or_the_databases_fault_is_not_counted(
    workers: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(public_reads, "_SHORT_S", 30.0)  # a busy machine may take a second
    reads = PublicReads(workers)
    for _ in range(MAX_UNANSWERED):
        assert _failed(reads, BackendFailed("refused")) is BackendFailed
        assert _failed(reads, BackendUnavailable("away")) is BackendUnavailable
        assert _failed(reads, BackendConnectionLost("lost")) is BackendUnavailable
    assert reads.rows(SleepingBackend(), STATEMENT, "eve") == ((1,),)
    assert reads._unanswered._times == {}
    monkeypatch.undo()
    _failed(reads, BackendFailed("refused, late"), seconds=1.1)
    assert len(reads._unanswered._times["eve"]) == 1


@pytest.mark.slow
def test_a_cancellation_counts_once_it_has_kept_a_worker(
    workers: WorkerPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = PublicReads(workers)
    for short_s, counted in ((1e6, 0), (0.0, 1)):
        monkeypatch.setattr(public_reads, "_SHORT_S", short_s)
        workers.warm()  # none is being replaced
        begun, cancelled = tmp_path / f"begun-{counted}", threading.Event()
        with ThreadPoolExecutor(1) as threads:
            asked = threads.submit(reads.rows, SleepingBackend(begun, seconds=600), STATEMENT, "eve", cancelled)
            while not begun.exists() and not asked.done():
                time.sleep(0.01)
            cancelled.set()
            assert isinstance(asked.exception(120), CancelledEarly)
        assert len(reads._unanswered._times.get("eve", ())) == counted


@pytest.mark.slow
def test_one_who_asks_what_does_not_end_keeps_nobody_else_waiting(workers: WorkerPool) -> None:
    reads, stop = PublicReads(workers), threading.Event()
    with ThreadPoolExecutor(4) as threads:
        endless = [threads.submit(reads.rows, SleepingBackend(seconds=600), STATEMENT, "eve", stop) for _ in range(4)]
        time.sleep(0.2)
        for _ in range(5):
            assert reads.rows(SleepingBackend(), STATEMENT, "ann") == ((1,),)
        assert not any(one.done() for one in endless)
        stop.set()
        for one in endless:
            assert isinstance(one.exception(120), CancelledEarly)


@pytest.mark.slow
def test_declared_groups_need_no_worker() -> None:
    reads = PublicReads(cast(WorkerPool, None))
    declared = BackendQuery(None, (), (), (None,), (("a", "b"),), 0, "")
    assert len(reads.domain(SleepingBackend(), declared, "ann")) == 2


def _by_statement() -> BackendQuery:
    return BackendQuery(None, (), (), ("SELECT 1",), (None,), 0, "")
