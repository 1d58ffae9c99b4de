"""One worker process, the pipe to it, and what runs inside it.

Whether private rows could have been read is decided here, and by what the worker itself said: it says `Begun` after
it has taken a call in and before it runs it. So a call of which that was never heard has run nowhere (NotTaken), and
one of which it was heard may have read everything. No guess from outside takes part: a process that lives when it
is looked at may be dead when it is asked.
"""

from __future__ import annotations

import ctypes
import importlib
import multiprocessing
import multiprocessing.connection
import os
import resource
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

from planner.errors import PlannerError
from server.errors import CancelledByClient, QueryCancelled, ServerError, WorkerFailed

NICENESS = 5
"""How far workers stand back: they compute for seconds, and clients wait for milliseconds of the process above."""

_SPENT = 0.25
"""The part of its memory that a worker may keep after a call: with more, the next could fail for the one before."""

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Ready:
    """The worker has imported what it needs."""


@dataclass(frozen=True)
class Begun:
    """The worker has a whole call and runs it next: from now on private rows could have been read."""


@dataclass(frozen=True)
class Success:
    """The call's result.

    Attributes:
      spent: the worker holds on to so much memory that another call could lack it; it is to be replaced.
    """

    value: Any
    spent: bool = False


@dataclass(frozen=True)
class Failure:
    """One of our own errors, by class and words; nothing of its cause crosses the pipe."""

    kind: type[ServerError] | type[PlannerError]
    message: str
    hint: str | None
    spent: bool = False

    def rebuild(self) -> Exception:
        """The error to raise on the other side."""
        return self.kind(self.message, hint=self.hint)


def serve_calls(connection: Connection, memory_bytes: int, preload: tuple[str, ...]) -> None:
    """Answer calls from the pipe until it closes.

    Libraries read the number of threads when they are imported, which happens after it is set here.
    """
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core file would hold private rows
    os.nice(NICENESS)
    _die_with_parent()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(
            number, signal.SIG_IGN
        )  # sent to a whole group of processes; the server decides when a worker ends
    for module in preload:
        importlib.import_module(module)  # now, while nobody waits, rather than with the first question
    empty = _mapped_bytes()
    try:
        connection.send(Ready())
        while True:
            function, arguments = connection.recv()
            connection.send(Begun())
            outcome = _outcome(function, arguments)
            spent = outcome.spent or _mapped_bytes() - empty > (memory_bytes - empty) * _SPENT
            connection.send(replace(outcome, spent=spent))
    except (EOFError, OSError):
        return


def _mapped_bytes() -> int:
    """Address space in use, which is what the limit is of; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:
        return 0


def _die_with_parent() -> None:
    """A server that is killed takes its workers along, whatever they do (Linux; elsewhere the pipe tells them)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _outcome(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Success | Failure:
    """Run the call; whatever it raises becomes one of our own errors."""
    try:
        return Success(function(*arguments))
    except (ServerError, PlannerError) as error:
        _log(error)
        return Failure(type(error), error.message, error.hint)
    except MemoryError as error:
        _log(error)
        return Failure(
            QueryCancelled,
            "the query needs more memory than its limit",
            "add predicates, sample, or group by less",
            spent=True,
        )
    except Exception as error:  # the boundary: an unforeseen text may quote private values, so it goes no further
        _log(error)
        return Failure(WorkerFailed, "the query failed", "the proxy's standard error says where: `worker: ...`")


def _log(error: BaseException) -> None:
    """Where it happened and what kind it was, to standard error: an exception's text may quote a private value."""
    chain = [error]
    while (cause := chain[-1].__cause__ or chain[-1].__context__) is not None:
        chain.append(cause)
    kinds = " caused by ".join(f"{type(link).__module__}.{type(link).__qualname__}" for link in chain)
    frames = reversed(traceback.extract_tb(chain[-1].__traceback__))
    place = " < ".join(f"{frame.name} ({frame.filename.rpartition('/')[2]}:{frame.lineno})" for frame in frames)
    sys.stderr.write(f"worker: {kinds} at {place}\n")


Result = TypeVar("Result")

_LOOK_UP_S = 0.1  # how soon a cancellation is noticed; an outcome is noticed at once
_TAKE_S = 30.0  # the longest that an idle worker may take to say that it has begun: milliseconds, but under load

_SPAWN = multiprocessing.get_context("spawn")  # a fork would share the parent's sockets, locks and entropy state

_STARTER = ThreadPoolExecutor(1, thread_name_prefix="worker-starter")
"""The one thread that starts workers, which lasts as long as this process.

The kernel kills a worker when the *thread* that started it ends: one that a request's thread had started would die
with that thread, whosever question it was at by then.
"""


class NotTaken(Exception):
    """The worker died before it began a call, so that nothing was read; another one may be asked."""


class Worker:
    """One process and the pipe to it.

    Args:
      memory_bytes: address space of the process.
    Raises: OSError when no process can be started.
    """

    def __init__(self, memory_bytes: int, *preload: str) -> None:
        self._connection, theirs = _SPAWN.Pipe()
        self._process = _SPAWN.Process(
            target=serve_calls, args=(theirs, memory_bytes, preload), daemon=True, name="worker"
        )
        try:
            _STARTER.submit(self._process.start).result()
        except BaseException:
            self._connection.close()
            raise
        finally:
            theirs.close()

    def wait_ready(self, limit_s: float) -> None:
        """Until it has imported what it needs; to be awaited once, before the first call.

        Raises: WorkerFailed when it died, or took longer; it is dead then.
        """
        try:
            if self._connection.poll(limit_s) and isinstance(self._connection.recv(), Ready):
                return
        except (EOFError, OSError):
            pass
        self.stop()
        raise WorkerFailed("a worker process does not start")

    def call(
        self,
        function: Callable[..., Result],
        arguments: tuple[Any, ...],
        limit_s: float,
        cancelled: threading.Event | None = None,
    ) -> Result:
        """Run a function of a module that the worker can import; `cancelled` is set when nobody waits any more.

        Raises: NotTaken when it died before it began, QueryCancelled over the limit, CancelledByClient soon after
          `cancelled` is set, WorkerFailed when the process died, or the call's own error. After the first four the
          worker is dead.
        """
        self._begin(function, arguments)
        try:
            self._wait(limit_s, cancelled)
            outcome = self._connection.recv()
        except (QueryCancelled, CancelledByClient):
            self.stop()
            raise
        except (EOFError, OSError) as error:
            self.stop()
            hint = "did the system end it for lack of memory? its log says so"
            raise WorkerFailed("a worker process ended unexpectedly", hint=hint) from error
        assert isinstance(outcome, Success | Failure)
        if outcome.spent:
            self.stop()
        if isinstance(outcome, Failure):
            raise outcome.rebuild()
        return outcome.value  # type: ignore[no-any-return]

    def _begin(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        """Hand the call over; from here on, and not before, private rows could have been read.

        What cannot be sent whole cannot be run. What the worker says before it dies is heard afterwards, too.
        """
        try:
            self._connection.send((function, arguments))
            if not self._connection.poll(_TAKE_S):
                self.kill()  # either it has said it by now, or it never will
            assert isinstance(self._connection.recv(), Begun)
        except (EOFError, OSError) as error:
            self.stop()
            raise NotTaken from error

    def _wait(self, limit_s: float, cancelled: threading.Event | None) -> None:
        """Until there is an outcome."""
        end = time.monotonic() + limit_s
        while not self._connection.poll(min(_LOOK_UP_S, max(0.0, end - time.monotonic()))):
            if cancelled is not None and cancelled.is_set():
                raise CancelledByClient("the query was cancelled; it was charged", hint="EXPLAIN first: it is free")
            if time.monotonic() >= end:
                raise QueryCancelled("the query took longer than its limit", hint="add predicates, or join less")

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return not self._connection.closed and self._process.is_alive()

    def kill(self) -> None:
        """End the process; nothing in it needs an orderly end. Any thread may, and who waits for it hears of it."""
        self._process.kill()
        self._process.join()

    def stop(self) -> None:
        """End the process and close the pipe; for the thread to which the worker is lent."""
        self.kill()
        self._connection.close()
