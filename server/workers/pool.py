"""Worker processes: private rows are read and solved here, never in the process that talks to clients.

A worker runs one call at a time under a memory limit; over its time limit it is killed and replaced. What comes
back is a NoisyAnswer or one of our own errors: a worker never sends an exception it did not expect.

A start is seconds of computing, in which libraries are imported. Where more of them start at once than the machine
has processors, each takes as many times longer, and none may be ready when the first is waited for.
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

_LOOK_UP_S = 0.1  # how soon it is noticed that nobody wants the worker any more


def processors() -> int:
    """How many processors this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)  # not on every system
    return max(1, len(allowed(0)) if allowed is not None else os.cpu_count() or 1)


_PLACES = threading.BoundedSemaphore(processors())
"""For workers that start, from before the process is there until it is ready."""


Result = TypeVar("Result")

_TRY_AGAIN_S = 1.0  # after a worker could not be started
_START_S = 300.0  # how long a worker may take to import what it needs: seconds, but for a machine under load
_MOST_START_S = (
    3_600.0  # the longest that it may after it was too slow: each time twice as long, or it never is ready
)
_FAILURES = 3  # in a row: workers that are started one after the other and of which none is ready
_TAKERS = 3  # how many workers are offered one call; one that dies of taking it in shall not end them all

_log = structlog.get_logger("noisegate.workers")


@dataclass(frozen=True)
class WorkerLimits:
    """Public bounds of the pool.

    Attributes:
      workers: how many questions are worked on at once; one analyst's are one fewer, so that there is a worker for
        who has none and had little of late (`FairQueue`).
      public_workers: the same of questions over public tables, which have workers of their own.
      call_s: the longest that one question may take before its worker is killed.
      wait_s: the longest that a question waits for a free worker; longer than a call, so that whose turn is next gets
        it however long the calls before take.
      memory_bytes: address space of one worker.
    """

    workers: int = 3
    public_workers: int = 2
    call_s: float = 120.0
    wait_s: float = 150.0
    memory_bytes: int = 8 << 30

    def beside(self, database_s: float) -> WorkerLimits:
        """With as much more time as the database may take beyond what these count on, in seconds."""
        more_s = max(0.0, database_s - DatabaseLimits.seconds)
        return replace(self, call_s=self.call_s + more_s, wait_s=self.wait_s + more_s)


class WorkerPool:
    """A fixed number of workers, each lent to one caller at a time.

    There are always as many workers as turns, those that are being started included: one that does not start is tried
    again for as long as the pool is open, with more patience each time. Of all pools together no more start at once
    than there are processors. Whoever's call has cost a worker keeps the turn until another one is ready, though not
    waiting for it: so however often somebody has calls cancelled, there is a worker for everybody else's turn.

    Args:
      preload: the module that every worker imports at once: the one whose functions will be called.
      also: those of their arguments. What is imported when a call comes counts as time to take it in: on a machine
        under load every worker would be taken for dead, one after the other.
    """

    def __init__(self, limits: WorkerLimits, preload: str, *also: str) -> None:
        self.limits = limits
        self._preload = preload, *also
        self._closed = threading.Event()
        self._failures = 0  # to start a worker, since one has been ready last
        self._turns = FairQueue(limits.workers)
        self._lock = threading.Lock()  # of the next; nothing is waited for under it
        self._all: set[Worker] = set()
        self._free: queue.LifoQueue[Worker] = queue.LifoQueue()  # the last one used has the warmest caches
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
        """Run a module-level function in a worker and wait for its result.

        Args:
          cancelled: ends it early.
          owner: on whose behalf; a worker that comes free goes to who has fewest.
          limit_s: the longest that it may take, where that is less than the pool's own limit.
          begin: called when it is its turn; what it raises is raised, and the call has run nowhere.
        Raises: TooManyQueries when no worker takes it in time, CancelledEarly when `cancelled` is set until then, and
          the call has run nowhere; otherwise as Worker.call.
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
        """How many workers live, those that are being started included."""
        with self._lock:
            return sum(worker.alive for worker in self._all)

    def warm(self) -> None:
        """Wait until every worker has imported what it needs, so that the first question is as quick as the next.

        On a machine under load those that are ready after a while are enough: the others come when they can.
        Raises: WorkerFailed when none is, or when one after the other has failed to start.
        """
        ready: list[Worker] = []
        try:
            end = time.monotonic() + _START_S
            while len(ready) < self.limits.workers:
                late = time.monotonic() >= end
                if self._failures >= _FAILURES or (late and not ready):
                    hint = "is there memory for the workers, and is the machine under load?"
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
        """Stop every worker; those at work are killed."""
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
        """A worker that lives, for who has a turn: at once, but where one has died while it lay idle."""
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
        """One that died on its own, of which no call has had anything."""
        if not self._closed.is_set():
            _log.warning("a worker died while it lay idle")
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
        """Start another worker, waiting for nothing; the turn, if there is one, ends when it is ready."""
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
        """A new worker that is ready; None where none can be started now, of which the log has a line.

        Whatever the reason: a thread that gave up here would leave the pool a worker short for good.
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
