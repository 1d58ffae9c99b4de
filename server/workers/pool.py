"""Worker processes, which read and solve private data apart from the process that serves clients.

A worker runs one call at a time under a memory limit. Beyond its time limit it is killed and replaced. It returns a
NoisyAnswer or one of our own errors, never an unexpected exception.

A start takes seconds of processor time for imports, so at most as many workers start at once as there are processors.
"""

from __future__ import annotations

import math
import os
import queue
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import structlog

from planner.policy.sections import DatabaseLimits
from server.errors import CancelledEarly, TooManyQueries, WorkerFailed
from server.scheduling.fair_shares import FairQueue
from server.workers.worker import NotTaken, Worker

_LOOK_UP_S = 0.1  # the delay of a cancellation


def processors() -> int:
    """The number of processors that this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)  # missing on some systems
    return max(1, len(allowed(0)) if allowed is not None else os.cpu_count() or 1)


_PLACES = threading.BoundedSemaphore(processors())
"""Limits how many workers start at once, in all pools."""


Result = TypeVar("Result")

_TRY_AGAIN_S = 1.0  # after a worker could not be started
_START_S = 300.0  # the time limit of a worker's imports: seconds, but more on a busy machine
_MOST_START_S = 3_600.0  # the longest limit; it doubles after each slow start
_FAILURES = 3  # failed starts in a row
_TAKERS = 3  # how many workers may try one call, because a call may kill a worker

_log = structlog.get_logger("noisegate.workers")


@dataclass(frozen=True)
class WorkerLimits:
    """Public bounds of the pool.

    Attributes:
      workers: questions that run at once. One analyst gets one fewer, so that another one need not wait
        (`FairQueue`).
      public_workers: the same for questions over public tables, which have workers of their own.
      call_s: the time limit of one question, after which its worker is killed.
      wait_s: the longest wait for a worker; longer than a call, so that the next question in line always gets one.
      memory_bytes: address space of one worker.
    """

    workers: int = 3
    public_workers: int = 2
    call_s: float = 120.0
    wait_s: float = 150.0
    memory_bytes: int = 8 << 30

    def beside(self, database_s: float) -> WorkerLimits:
        """These limits, with the time limits raised if the database's own time limit is above its default."""
        more_s = max(0.0, database_s - DatabaseLimits.seconds)
        return replace(self, call_s=self.call_s + more_s, wait_s=self.wait_s + more_s)


class WorkerPool:
    """A fixed number of workers, each lent to one caller at a time.

    There is one worker per turn, starting ones included. A failed start is repeated while the pool is open, with more
    patience each time. A call that costs its worker keeps the turn, in the background, until a new worker is ready.
    So cancelled calls never take a worker from others.

    Args:
      preload: the module that workers import at once, whose functions are called.
      also: modules of their arguments. An import during a call counts against the time to take the call, and could
        make every worker seem dead on a busy machine.
    """

    def __init__(self, limits: WorkerLimits, preload: str, *also: str) -> None:
        self.limits = limits
        self._preload = preload, *also
        self._closed = threading.Event()
        self._failures = 0  # failed starts since the last success
        self._turns = FairQueue(limits.workers)
        self._lock = threading.Lock()  # of `_all`; never held during a wait
        self._all: set[Worker] = set()
        self._free: queue.LifoQueue[Worker] = queue.LifoQueue()  # the last used worker has the warmest caches
        for _ in range(limits.workers):
            self._replace(None)

    def call(
        self,
        function: Callable[..., Result],
        *arguments: Any,
        cancelled: threading.Event | None = None,
        owner: str = "",
        limit_s: float = math.inf,
        begin: Callable[[], None] = lambda: None,
    ) -> Result:
        """Run a module-level function in a worker, and wait for its result.

        Args:
          cancelled: stops the call.
          owner: for fair shares of the workers.
          limit_s: a time limit below the pool's own.
          begin: called when the turn comes; if it raises, nothing runs.
        Raises: TooManyQueries if no worker takes the call in time, and CancelledEarly if it is cancelled before;
          nothing has run then. Otherwise as Worker.call.
        """
        end = time.monotonic() + self.limits.wait_s
        turn, worker = self._turns.turn(owner, self.limits.wait_s, cancelled), None
        try:
            begin()
            for _ in range(_TAKERS):
                worker = self._living(end, cancelled)
                try:
                    return worker.call(function, arguments, min(limit_s, self.limits.call_s), cancelled)
                except NotTaken:
                    self._lost(worker)
                    worker = None
            raise TooManyQueries("no worker can take the query", hint="try again later; nothing was charged")
        finally:
            self._give_back(worker, turn)

    @property
    def n_alive(self) -> int:
        """The number of living workers, starting ones included."""
        with self._lock:
            return sum(worker.alive for worker in self._all)

    def warm(self) -> None:
        """Wait until the workers are ready, so that the first question is not slower.

        On a busy machine some ready workers are enough after a while.
        Raises: WorkerFailed if no worker is ready in time, or several starts failed in a row.
        """
        ready: list[Worker] = []
        try:
            end = time.monotonic() + _START_S
            while len(ready) < self.limits.workers:
                late = time.monotonic() >= end
                if self._failures >= _FAILURES or (late and not ready):
                    hint = "check the memory and the load of this machine"
                    raise WorkerFailed("a worker process does not start", hint=hint)
                if late:
                    _log.warning("some workers are not ready yet", ready=len(ready), workers=self.limits.workers)
                    return
                try:
                    ready.append(self._free.get(timeout=_LOOK_UP_S))
                except queue.Empty:
                    continue
        finally:
            for worker in ready:
                self._free.put(worker)

    def close(self) -> None:
        """Stop every worker; busy ones are killed."""
        self._closed.set()
        with self._lock:
            every = list(self._all)
        for worker in every:
            worker.kill()
        while True:
            try:
                self._free.get_nowait().stop()
            except queue.Empty:
                return

    def _living(self, end: float, cancelled: threading.Event | None) -> Worker:
        """A living worker for a turn; waits only if an idle worker has died."""
        while True:
            if self._closed.is_set():
                raise TooManyQueries("the proxy is stopping", hint="nothing was charged")
            if cancelled is not None and cancelled.is_set():
                raise CancelledEarly("the query was cancelled before it began", hint="nothing was charged")
            try:
                worker = self._free.get(timeout=_LOOK_UP_S)
            except queue.Empty:
                if time.monotonic() >= end:
                    hint = "try again later; nothing was charged"
                    raise TooManyQueries("every worker is being replaced", hint=hint) from None
                continue
            if worker.alive:
                return worker
            self._lost(worker)

    def _lost(self, worker: Worker) -> None:
        if not self._closed.is_set():
            _log.warning("an idle worker died")
        self._forget(worker)
        self._replace(None)

    def _give_back(self, worker: Worker | None, turn: ExitStack) -> None:
        if worker is None or self._closed.is_set():
            turn.close()
        elif worker.alive:
            self._free.put(worker)
            turn.close()
        else:
            self._forget(worker)
            self._replace(turn)

    def _replace(self, turn: ExitStack | None) -> None:
        """Start another worker in the background, and end the turn when it is ready."""
        threading.Thread(target=self._supply, args=(turn,), name="worker-supply", daemon=True).start()

    def _supply(self, turn: ExitStack | None) -> None:
        patience_s = _START_S
        try:
            while not self._closed.is_set():
                worker = self._started(patience_s)
                if worker is not None:
                    self._free.put(worker)
                    return
                patience_s = min(2 * patience_s, _MOST_START_S)
                self._closed.wait(_TRY_AGAIN_S)
        finally:
            if turn is not None:
                turn.close()

    def _started(self, patience_s: float) -> Worker | None:
        """A new, ready worker; None if the start failed, which is logged.

        It catches every error, because a dead supply thread would leave the pool one worker short for good.
        """
        while not _PLACES.acquire(timeout=_LOOK_UP_S):
            if self._closed.is_set():
                return None
        try:
            worker = Worker(self.limits.memory_bytes, *self._preload)
            with self._lock:
                self._all.add(worker)
            if self._closed.is_set():  # else `close` has seen it, or will
                worker.kill()
            try:
                worker.wait_ready(patience_s)
            except BaseException:
                with self._lock:
                    self._all.discard(worker)
                raise
        except Exception as error:
            if not self._closed.is_set():
                _log.error("a worker does not start, and is tried again", kind=type(error).__name__)
                self._failures += 1
            return None
        finally:
            _PLACES.release()
        self._failures = 0
        return worker

    def _forget(self, worker: Worker) -> None:
        worker.stop()
        with self._lock:
            self._all.discard(worker)
