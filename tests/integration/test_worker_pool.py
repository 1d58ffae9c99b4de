"""Worker processes: limits, deaths, and what may cross the pipe."""

from __future__ import annotations

import gc
import multiprocessing.forkserver
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import pytest

import server.workers.pool as pool_module
import server.workers.worker as worker_module
from planner.errors import SchemaChanged
from server.errors import CancelledByClient, CancelledEarly, QueryCancelled, TooManyQueries, WorkerFailed
from server.workers.pool import WorkerLimits, WorkerPool, processors
from server.workers.worker import NICENESS, Worker
from tests.support import reluctant_import, worker_calls
from tests.support.worker_calls import (
    Poison,
    add,
    allocate,
    die,
    keep,
    niceness,
    noise,
    process_id,
    raise_chained,
    raise_with_a_secret,
    shared_noise,
    sleep_from,
    template,
    threads,
)

CALLS = worker_calls.__name__
_LIMITS = WorkerLimits(workers=1, call_s=20.0, wait_s=60.0, memory_bytes=4 << 30)


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    with _pool() as pool:
        yield pool


@contextmanager
def _pool(**limits: Any) -> Iterator[WorkerPool]:
    pool = WorkerPool(replace(_LIMITS, **limits), CALLS)
    try:
        pool.warm()
        yield pool
    finally:
        pool.close()


def test_a_call_runs_elsewhere(pool: WorkerPool) -> None:
    assert pool.call(add, 2, 3) == 5
    assert pool.call(process_id) != os.getpid()
    assert pool.call(threads) == "1"


def test_workers_collect_their_garbage_and_never_walk_over_what_they_share(pool: WorkerPool) -> None:
    assert pool.call(gc.isenabled)
    assert pool.call(gc.get_freeze_count) > 100_000


def test_the_template_has_one_thread_and_no_connection(pool: WorkerPool) -> None:
    process = Path(f"/proc/{pool.call(template)}")
    assert process.name != str(os.getpid())
    assert len(list((process / "task").iterdir())) == 1, "a fork keeps one thread, and the locks of all"
    end = time.monotonic() + _PATIENCE_S
    while len([one for one in _held(process) if one.startswith("socket:")]) > 1:  # it is just asked for a worker
        assert time.monotonic() < end, "it is asked for workers by one"
        time.sleep(0.1)
    assert not [one for one in _held(process) if Path(one).is_file()]


_PATIENCE_S = 60.0


def _held(process: Path) -> list[str]:
    """What a process has open; what it closes meanwhile is left out."""
    held = []
    for one in (process / "fd").iterdir():
        with suppress(FileNotFoundError):
            held.append(str(one.readlink()))
    return held


def _alike(draw: Callable[[], list[Any]]) -> bool:
    """Whether two workers that run at once draw alike."""
    with _pool(workers=2) as pool, ThreadPoolExecutor(2) as threads:
        drawn = list(threads.map(lambda owner: pool.call(_after_a_while, draw, owner=owner), ("ann", "bob")))
    assert drawn[0][0] != drawn[1][0], "in two processes"
    return drawn[0][1] == drawn[1][1]


def _after_a_while(draw: Callable[[], list[Any]]) -> tuple[int, list[Any]]:
    time.sleep(1)
    return os.getpid(), draw()


def test_no_two_workers_draw_the_same_noise() -> None:
    assert not _alike(noise)
    assert _alike(shared_noise), "a source that is seeded before workers are forked is caught"


def test_no_noise_comes_from_a_generator_that_workers_share() -> None:
    sources = [path for folder in ("privacy", "planner", "server") for path in Path(folder).rglob("*.py")]
    used = {name for path in sources for name in re.findall(r"np\.random\.(\w+)", path.read_text())}
    assert used <= {"Generator", "PCG64DXSM", "SeedSequence", "default_rng"}


def test_a_signal_to_the_group_ends_no_worker(pool: WorkerPool) -> None:
    worker, ancestor = pool.call(process_id), pool.call(template)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(ancestor, number)
        os.kill(worker, number)
    assert (pool.call(process_id), pool.call(template)) == (worker, ancestor)


_SERVER = """
from server.workers.pool import WorkerLimits, WorkerPool
from tests.support.worker_calls import process_id, sleep_from, template
from pathlib import Path
import sys
if __name__ == "__main__":
    pool = WorkerPool(WorkerLimits(workers=1), "tests.support.worker_calls")
    print(pool.call(process_id), pool.call(template), flush=True)
    pool.call(sleep_from, Path(sys.argv[1]))
"""


def test_workers_at_work_end_with_the_server(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _SERVER, str(tmp_path / "begun")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        processes = [Path("/proc") / name for name in server.stdout.readline().split()]
        assert len(processes) == 2 and all(process.exists() for process in processes)
        _wait_for(tmp_path / "begun")
        server.kill()
    deadline = time.monotonic() + 120
    while any(process.exists() and "zombie" not in (process / "status").read_text() for process in processes):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_workers_stand_back_behind_the_process_that_clients_wait_for(pool: WorkerPool) -> None:
    assert pool.call(niceness) == min(19, niceness() + NICENESS) > niceness()


def test_our_errors_cross_whole_and_without_their_cause(pool: WorkerPool) -> None:
    with pytest.raises(SchemaChanged, match="the tables have changed") as caught:
        pool.call(raise_chained)
    assert caught.value.hint == "ask again"
    assert caught.value.__cause__ is None


@pytest.fixture
def new_template() -> Iterator[None]:
    """Workers of a new process: it has the environment and the standard error of this moment."""
    stop = multiprocessing.forkserver._forkserver._stop  # type: ignore[attr-defined]
    worker_module._STARTER.submit(stop).result(120)
    yield
    worker_module._STARTER.submit(stop).result(120)


@pytest.mark.usefixtures("new_template")
def test_an_unforeseen_error_loses_its_words(capfd: pytest.CaptureFixture[str]) -> None:
    with _pool() as pool, pytest.raises(WorkerFailed) as caught:
        pool.call(raise_with_a_secret)
    assert "zebra" not in f"{caught.value!r}"
    logged = capfd.readouterr().err
    assert "builtins.ValueError" in logged
    assert "zebra" not in logged


def test_a_worker_that_dies_is_replaced(pool: WorkerPool) -> None:
    before = pool.call(process_id)
    with pytest.raises(WorkerFailed):
        pool.call(die)
    assert pool.call(process_id) != before


def test_too_much_memory_is_a_refusal(pool: WorkerPool) -> None:
    with pytest.raises(QueryCancelled, match="memory"):
        pool.call(allocate)


def test_over_its_time_limit_which_may_be_shorter_the_worker_is_killed(pool: WorkerPool) -> None:
    process = pool.call(process_id)
    with pytest.raises(QueryCancelled, match="longer"):
        pool.call(time.sleep, 15, limit_s=0.2)
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    assert pool.call(add, 1, 1, limit_s=1e6) == 2


def test_a_worker_that_died_while_it_lay_idle_costs_nobody_a_call(pool: WorkerPool) -> None:
    idle = pool.call(process_id)
    os.kill(idle, signal.SIGKILL)
    assert pool.call(process_id) != idle


def test_a_worker_that_dies_between_a_look_and_the_call_costs_nobody_a_call(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look at it is late by as much as can be: it never sees a death."""
    idle = pool.call(process_id)
    monkeypatch.setattr(Worker, "alive", property(lambda _: True))
    os.kill(idle, signal.SIGKILL)
    assert pool.call(process_id) != idle


@pytest.mark.slow
def test_a_worker_that_stops_answering_before_it_begins_costs_nobody_a_call(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle = pool.call(process_id)
    monkeypatch.setattr(worker_module, "_TAKE_S", 3.0)
    os.kill(idle, signal.SIGSTOP)
    assert pool.call(process_id) != idle


@pytest.mark.slow
def test_what_a_call_needs_is_imported_before_it_comes(reluctant: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else each worker, and each that takes its place, is taken for dead where imports take long."""
    (reluctant / "slow").write_text("12")
    monkeypatch.setattr(worker_module, "_TAKE_S", 6.0)
    pool = WorkerPool(_LIMITS, CALLS, reluctant_import.__name__)
    try:
        worker = pool.call(reluctant_import.importer)
    finally:
        pool.close()
    assert [file.name for file in reluctant.glob("begun-*")] == [f"begun-{worker}"], "no other one was given up"


def test_a_call_that_no_worker_can_take_in_has_run_nowhere(pool: WorkerPool) -> None:
    with pytest.raises(TooManyQueries, match="no worker can take"):
        pool.call(die, Poison())
    assert pool.call(add, 1, 2) == 3


def test_a_worker_outlives_the_thread_whose_call_made_it_necessary(pool: WorkerPool) -> None:
    def lose_one() -> None:
        with pytest.raises(WorkerFailed):
            pool.call(die)

    before = _suppliers()
    thread = threading.Thread(target=lose_one)
    thread.start()
    thread.join()
    begun = pool.call(process_id)
    for supplier in _suppliers() - before:
        supplier.join(120)
        assert not supplier.is_alive()
    time.sleep(0.2)  # the kernel takes no longer to kill
    assert pool.call(process_id) == begun


def test_what_ends_a_group_of_processes_leaves_workers_at_their_call(pool: WorkerPool) -> None:
    worker = pool.call(process_id)
    with ThreadPoolExecutor(1) as threads:
        at_work = threads.submit(pool.call, time.sleep, 0.5)
        time.sleep(0.2)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            os.kill(worker, number)
        at_work.result(120)
    assert pool.call(process_id) == worker


def test_a_worker_that_keeps_its_memory_is_replaced(pool: WorkerPool) -> None:
    small = pool.call(keep, 1 << 20)
    assert pool.call(keep, 2 << 30) == small
    assert pool.call(process_id) != small
    assert pool.call(keep, 3 << 30), "another's memory is nobody's loss"


@pytest.mark.slow
def test_who_has_calls_cancelled_pays_for_the_next_worker_with_an_own_turn() -> None:
    """Four threads cancel without pause; somebody else's call never waits for a worker to start."""
    with _pool(workers=2) as pool, ThreadPoolExecutor(4) as threads:
        stop = threading.Event()
        storm = [threads.submit(_cancel_until, pool, stop) for _ in range(4)]
        waits = []
        for _ in range(30):
            begun = time.monotonic()
            assert pool.call(add, 2, 3, owner="ann") == 5
            waits.append(time.monotonic() - begun)
            time.sleep(0.05)
        stop.set()
        cancels = sum(one.result(60) for one in storm)
    assert cancels > 1
    assert median(waits) < 0.05


def _cancel_until(pool: WorkerPool, stop: threading.Event) -> int:
    """Have calls cancelled as soon as they have begun; how many were."""
    count = 0
    while not stop.is_set():
        cancelled = threading.Event()
        threading.Timer(0.05, cancelled.set).start()
        with pytest.raises((CancelledByClient, CancelledEarly)) as ended:
            pool.call(time.sleep, 30, cancelled=cancelled, owner="eve")
        count += ended.type is CancelledByClient
    return count


@pytest.mark.slow
def test_a_pool_that_cannot_start_says_so() -> None:
    pool = WorkerPool(_LIMITS, "server.no_such_module")
    try:
        with pytest.raises(WorkerFailed, match="does not start"):
            pool.warm()
    finally:
        pool.close()


@pytest.fixture
def reluctant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """The folder whose files say what `tests.support.reluctant_import` does in a worker that preloads it."""
    monkeypatch.setenv(reluctant_import.FOLDER, str(tmp_path))
    request.getfixturevalue("new_template")
    return tmp_path


@pytest.mark.slow
def test_no_more_workers_start_at_once_than_there_are_processors(reluctant: Path) -> None:
    (reluctant / "slow").write_text("0.5")
    limits = replace(_LIMITS, workers=processors() + 3)
    pools = [WorkerPool(limits, reluctant_import.__name__, CALLS) for _ in range(2)]
    try:
        for pool in pools:
            pool.warm()
    finally:
        for pool in pools:
            pool.close()
    begun = [(float(file.read_text()), 1) for file in reluctant.glob("begun-*")]
    ended = [(float(file.read_text()), -1) for file in reluctant.glob("ended-*")]
    assert len(begun) == len(ended) == 2 * limits.workers
    at_once, most = 0, 0
    for _, change in sorted(begun + ended):
        at_once += change
        most = max(most, at_once)
    assert 1 <= most <= processors()


@pytest.mark.slow
def test_a_worker_that_does_not_start_is_tried_again(reluctant: Path) -> None:
    for number in range(2):
        (reluctant / f"fail-{number}").touch()
    pool = WorkerPool(_LIMITS, reluctant_import.__name__, CALLS)
    try:
        pool.warm()
        assert pool.call(add, 2, 3) == 5
    finally:
        pool.close()
    assert len(list(reluctant.glob("begun-*"))) == 3 and len(list(reluctant.glob("ended-*"))) == 1


@pytest.mark.slow
def test_a_worker_that_starts_too_slowly_is_given_more_time(reluctant: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine under load: with the same time again and again, no question would ever be answered."""
    (reluctant / "slow").write_text("3")
    monkeypatch.setattr(pool_module, "_START_S", 1.5)
    pool = WorkerPool(_LIMITS, reluctant_import.__name__, CALLS)
    try:
        assert pool.call(add, 2, 3) == 5
    finally:
        pool.close()
    assert len(list(reluctant.glob("begun-*"))) >= 2, "the first had less time than it needs"


@pytest.mark.slow
def test_who_warms_a_pool_waits_for_one_worker_and_not_for_the_last(
    reluctant: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (reluctant / "slow").write_text("600")
    (reluctant / "quick-0").touch()
    pool = WorkerPool(replace(_LIMITS, workers=2), reluctant_import.__name__, CALLS)
    try:
        assert pool.call(add, 2, 3) == 5
        monkeypatch.setattr(pool_module, "_START_S", 1.0)
        pool.warm()
        assert pool.call(add, 2, 3) == 5
    finally:
        pool.close()
    assert len(list(reluctant.glob("ended-*"))) == 1


def test_closing_ends_those_at_work_and_those_that_start(tmp_path: Path) -> None:
    before = _suppliers()  # other pools of this process may be replacing workers of theirs
    with _pool(workers=2) as pool, ThreadPoolExecutor(1) as threads:
        at_work = threads.submit(pool.call, sleep_from, tmp_path / "begun")
        _wait_for(tmp_path / "begun")
        pool.close()
        with pytest.raises(WorkerFailed):
            at_work.result(120)
        with pytest.raises(TooManyQueries, match="stopping"):
            pool.call(add, 1, 1)
    starting = WorkerPool(_LIMITS, CALLS)
    starting.close()
    for supplier in _suppliers() - before:
        supplier.join(120)
        assert not supplier.is_alive()
    assert len(pool._all) == 2 and len(starting._all) <= 1
    assert not any(worker.alive for one in (pool, starting) for worker in one._all)


def _suppliers() -> set[threading.Thread]:
    """The threads that start workers, of every pool of this process."""
    return {thread for thread in threading.enumerate() if thread.name == "worker-supply"}


def test_a_busy_pool_refuses_after_a_while(tmp_path: Path) -> None:
    cancelled = threading.Event()
    with _pool(wait_s=0.2, call_s=600.0) as pool, ThreadPoolExecutor(1) as threads:
        at_work = threads.submit(pool.call, sleep_from, tmp_path / "begun", cancelled=cancelled)
        _wait_for(tmp_path / "begun")
        with pytest.raises(TooManyQueries):
            pool.call(add, 1, 1)
        cancelled.set()
        assert isinstance(at_work.exception(120), CancelledByClient)


def _wait_for(file: Path) -> None:
    deadline = time.monotonic() + 120
    while not file.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_whose_turn_is_next_gets_it_however_long_calls_take() -> None:
    limits = WorkerLimits()
    assert limits.wait_s > limits.call_s
    longer = limits.beside(600)
    assert longer.call_s == limits.call_s + 540
    assert longer.wait_s > longer.call_s
    assert limits.beside(10) == limits


@pytest.mark.slow
def test_a_call_may_be_shorter_than_a_worker_takes_to_start() -> None:
    with _pool(call_s=0.05) as pool, pytest.raises(QueryCancelled, match="longer"):
        pool.call(time.sleep, 5)
