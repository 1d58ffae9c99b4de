"""Worker processes: private rows are read and solved here, never in the process that talks to clients.

A worker runs one call at a time under a memory limit; over its time limit it is killed and replaced. What comes
back is a NoisyAnswer or one of our own errors: a worker never sends an exception it did not expect.
"""

from __future__ import annotations

import math
import multiprocessing
import multiprocessing.connection
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from server.errors import CancelledByClient, QueryCancelled, TooManyQueries, WorkerFailed
from server.turns import Turns
from server.worker_process import Failure, Success, serve_calls

Result = TypeVar("Result")

_LOOK_UP_S = 0.1  # how soon a cancellation is noticed; an outcome is noticed at once

_SPAWN = multiprocessing.get_context("spawn")  # a fork would share the parent's sockets, locks and entropy state


@dataclass(frozen=True)
class WorkerLimits:
    """Public bounds of the pool.

    Attributes:
      workers: how many questions are worked on at once.
      call_s: the longest that one question may take before its worker is killed.
      wait_s: the longest that a question waits for a free worker; longer than a call, so that whose turn is next gets
        it however long the calls before take.
      memory_bytes: address space of one worker.
    """

    workers: int = 2
    call_s: float = 120.0
    wait_s: float = 150.0
    memory_bytes: int = 8 << 30


class Worker:
    """One process and the pipe to it."""

    def __init__(self, memory_bytes: int, preload: str) -> None:
        self._connection, theirs = _SPAWN.Pipe()
        self._process = _SPAWN.Process(
            target=serve_calls, args=(theirs, memory_bytes, preload), daemon=True, name="worker"
        )
        self._process.start()
        theirs.close()

    def call(
        self,
        function: Callable[..., Result],
        arguments: tuple[Any, ...],
        limit_s: float,
        cancelled: threading.Event | None = None,
    ) -> Result:
        """Run `function(*arguments)` in the worker.

        Raises: QueryCancelled over the limit, CancelledByClient soon after `cancelled` is set, WorkerFailed when the
          process died, or the call's own error. After the first three the worker is dead.
        """
        try:
            self._connection.send((function, arguments))
            self._wait(limit_s, cancelled)
            outcome = self._connection.recv()
        except (QueryCancelled, CancelledByClient):
            self.stop()
            raise
        except (EOFError, OSError) as error:
            self.stop()
            raise WorkerFailed("a worker process ended unexpectedly") from error
        if isinstance(outcome, Failure):
            raise outcome.rebuild()
        assert isinstance(outcome, Success)
        return outcome.value  # type: ignore[no-any-return]

    def _wait(self, limit_s: float, cancelled: threading.Event | None) -> None:
        """Until there is an outcome."""
        end = time.monotonic() + limit_s
        while not self._connection.poll(min(_LOOK_UP_S, max(0.0, end - time.monotonic()))):
            if cancelled is not None and cancelled.is_set():
                raise CancelledByClient("the query was cancelled; it was charged", hint="EXPLAIN first: it is free")
            if time.monotonic() >= end:
                raise QueryCancelled("the query took longer than its limit", hint="join less, or add predicates")

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.is_alive() and not self._connection.closed

    def stop(self) -> None:
        """Kill the process; nothing in it needs an orderly end."""
        self._connection.close()
        self._process.kill()
        self._process.join()


class WorkerPool:
    """A fixed number of workers, each lent to one caller at a time.

    Args:
      limits: public bounds.
      preload: the module that every worker imports at once: the one whose functions will be called.
    """

    def __init__(self, limits: WorkerLimits, preload: str) -> None:
        self.limits = limits
        self._preload = preload
        self._closed = threading.Event()
        self._turns = Turns(limits.workers)
        self._free: queue.LifoQueue[Worker] = queue.LifoQueue()  # the last one used has the warmest caches
        for _ in range(limits.workers):
            self._free.put(self._new_worker())

    def call(
        self,
        function: Callable[..., Result],
        *arguments: Any,
        cancelled: threading.Event | None = None,
        owner: str = "",
        limit_s: float = math.inf,
    ) -> Result:
        """Run a module-level function in a worker and wait for its result.

        Args:
          cancelled: ends it early.
          owner: on whose behalf; a worker that comes free goes to who has fewest.
          limit_s: the longest that it may take, where that is less than the pool's own limit.
        Raises: TooManyQueries when no worker comes free in time, CancelledEarly when `cancelled` is set until then;
          otherwise as Worker.call.
        """
        with self._turns.turn(owner, self.limits.wait_s, cancelled):
            try:
                worker = self._free.get_nowait()
            except queue.Empty:
                raise TooManyQueries("the proxy is stopping", hint="nothing was charged") from None
            try:
                return worker.call(function, arguments, min(limit_s, self.limits.call_s), cancelled)
            finally:
                self._give_back(worker)

    def warm(self) -> None:
        """Wait until every worker has imported what it needs, so that the first question is as quick as the next.

        Raises: WorkerFailed when a worker cannot start.
        """
        workers = [self._free.get() for _ in range(self.limits.workers)]
        try:
            for worker in workers:
                worker.call(_nothing, (), self.limits.call_s)
        finally:
            for worker in workers:
                self._give_back(worker)

    def close(self) -> None:
        """Stop every worker; those at work are killed."""
        self._closed.set()
        while True:
            try:
                self._free.get_nowait().stop()
            except queue.Empty:
                return

    def _give_back(self, worker: Worker) -> None:
        if self._closed.is_set():
            worker.stop()
        else:
            self._free.put(worker if worker.alive else self._new_worker())

    def _new_worker(self) -> Worker:
        return Worker(self.limits.memory_bytes, self._preload)


def _nothing() -> None:
    """What a worker is asked to do when only its being there matters."""
