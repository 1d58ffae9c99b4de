"""Worker processes: limits, deaths, and what may cross the pipe."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import pytest

from planner.errors import SchemaChanged
from server.errors import QueryCancelled, TooManyQueries, WorkerFailed
from server.worker_process import NICENESS
from server.workers import WorkerLimits, WorkerPool

_LIMITS = WorkerLimits(workers=1, call_s=20.0, wait_s=0.2, memory_bytes=4 << 30)


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    pool = WorkerPool(_LIMITS, preload="server.query")
    yield pool
    pool.close()


def _add(left: int, right: int) -> int:
    return left + right


def _process() -> int:
    return os.getpid()


def _die() -> None:
    os._exit(3)


def _raise_with_a_secret() -> None:
    raise ValueError("the secret is 4711")


def _raise_chained() -> None:
    try:
        _raise_with_a_secret()
    except ValueError as error:
        raise SchemaChanged("the tables have changed", hint="ask again") from error


def _allocate() -> int:
    return len(bytearray(16 << 30))


def _niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, 0)


def _threads() -> str | None:
    return os.environ.get("OPENBLAS_NUM_THREADS")


def test_a_call_runs_elsewhere(pool: WorkerPool) -> None:
    assert pool.call(_add, 2, 3) == 5
    assert pool.call(_process) != os.getpid()
    assert pool.call(_threads) == "1"


def test_workers_stand_back_behind_the_process_that_clients_wait_for(pool: WorkerPool) -> None:
    assert pool.call(_niceness) == min(19, _niceness() + NICENESS) > _niceness()


def test_our_errors_cross_whole_and_without_their_cause(pool: WorkerPool) -> None:
    with pytest.raises(SchemaChanged, match="the tables have changed") as caught:
        pool.call(_raise_chained)
    assert caught.value.hint == "ask again"
    assert caught.value.__cause__ is None


def test_an_unforeseen_error_loses_its_words(capfd: pytest.CaptureFixture[str]) -> None:
    pool = WorkerPool(_LIMITS, preload="server.query")  # begun here, so that its standard error is the captured one
    with pytest.raises(WorkerFailed) as caught:
        pool.call(_raise_with_a_secret)
    pool.close()
    assert "4711" not in f"{caught.value!r}"
    logged = capfd.readouterr().err
    assert "builtins.ValueError" in logged
    assert "4711" not in logged


def test_a_worker_that_dies_is_replaced(pool: WorkerPool) -> None:
    before = pool.call(_process)
    with pytest.raises(WorkerFailed):
        pool.call(_die)
    assert pool.call(_process) != before


def test_too_much_memory_is_a_refusal(pool: WorkerPool) -> None:
    with pytest.raises(QueryCancelled, match="memory"):
        pool.call(_allocate)


def test_over_the_time_limit_the_worker_is_killed() -> None:
    pool = WorkerPool(WorkerLimits(workers=1, call_s=30.0), preload="server.query")
    try:
        process = pool.call(_process)
        object.__setattr__(pool, "limits", WorkerLimits(workers=1, call_s=0.2))
        with pytest.raises(QueryCancelled, match="longer"):
            pool.call(time.sleep, 60)
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)
    finally:
        pool.close()


def test_a_call_may_have_a_shorter_limit_and_no_longer_one(pool: WorkerPool) -> None:
    pool.call(_add, 1, 1)
    begun = time.monotonic()
    with pytest.raises(QueryCancelled, match="longer"):
        pool.call(time.sleep, 15, limit_s=0.3)
    assert time.monotonic() - begun < 10
    assert pool.call(_add, 1, 1, limit_s=1e6) == 2


def test_a_busy_pool_refuses_after_a_while(pool: WorkerPool) -> None:
    pool.call(_add, 1, 1)
    thread = threading.Thread(target=pool.call, args=(time.sleep, 1.5))
    thread.start()
    time.sleep(0.2)
    with pytest.raises(TooManyQueries):
        pool.call(_add, 1, 1)
    thread.join()


def test_whose_turn_is_next_gets_it_however_long_calls_take() -> None:
    limits = WorkerLimits()
    assert limits.wait_s > limits.call_s
