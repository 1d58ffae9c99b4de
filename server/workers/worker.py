"""One worker process, the pipe to it, and the loop that runs inside it.

Workers are forked from one process, the template, which has made their imports once (`template.py`) and does nothing
else. It is a new process: it has no socket, file, lock or thread of the server. It draws no noise, and libraries seed
their generators at the first draw, so no two workers share a state; numpy's global generator, which nothing uses, is
the exception.

Only the worker's own messages decide whether private rows could have been read. It sends `Begun` after it has
received a call and before it runs it. Without that message nothing has run (NotTaken); after it, everything may have
been read. A look at the process from outside cannot decide this, because it may die at any time.
"""

from __future__ import annotations

import ctypes
import importlib
import multiprocessing
import multiprocessing.connection
import multiprocessing.forkserver
import multiprocessing.resource_tracker
import os
import resource
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

from planner.errors import PlannerError
from server.errors import CancelledByClient, QueryCancelled, ServerError, WorkerFailed

NICENESS = 5
"""Workers compute for seconds and yield to the server process, for which clients wait milliseconds."""

_SPENT = 0.25
"""The part of its memory that a worker may keep after a call; beyond it the worker is replaced."""

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Ready:
    """The worker has imported its modules."""


@dataclass(frozen=True)
class Begun:
    """The worker has received a whole call and runs it next. From now on private rows could have been read."""


@dataclass(frozen=True)
class Success:
    """A call's result.

    Attributes:
      spent: the worker has kept too much memory, and is to be replaced.
    """

    value: Any
    spent: bool = False


@dataclass(frozen=True)
class Failure:
    """One of our own errors, by class and message. Its cause does not cross the pipe."""

    kind: type[ServerError] | type[PlannerError]
    message: str
    hint: str | None
    spent: bool = False
    position: int | None = None

    def rebuild(self) -> Exception:
        """The error to raise in the server process."""
        error = self.kind(self.message, hint=self.hint)
        if isinstance(error, PlannerError):
            error.position = self.position
        return error


def serve_calls(connection: Connection, memory_bytes: int, preload: tuple[str, ...]) -> None:
    """Answer calls from the pipe until it closes."""
    os.close(multiprocessing.forkserver._forkserver._forkserver_alive_fd)  # type: ignore[attr-defined]  # see below
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core dump would hold private rows
    os.nice(NICENESS)
    _be_killed_first()
    _die_with_parent()
    for number in _OF_THE_GROUP:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _OF_THE_GROUP)  # not for what a worker starts
    for module in preload:
        importlib.import_module(module)  # now, rather than with the first question
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
    """The address space in use, to which the limit applies; 0 if the system does not report it."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:
        return 0


def _be_killed_first() -> None:
    """If the machine's memory is used up, the kernel (Linux) ends workers and not the server.

    A worker's end is a failure, which is limited. The server's end is not, so it must not depend on private rows.
    """
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def _die_with_parent() -> None:
    """Let the kernel end this worker with the template (Linux); elsewhere the closed pipe does.

    The template ends once nobody holds its pipe `alive`: when the server has ended, as workers have closed theirs.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _outcome(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Success | Failure:
    try:
        return Success(function(*arguments))
    except (ServerError, PlannerError) as error:
        _log(error)
        return Failure(type(error), error.message, error.hint, position=getattr(error, "position", None))
    except MemoryError as error:
        _log(error)
        return Failure(
            QueryCancelled,
            "the query needs more memory than its limit",
            "add conditions, use a sample, or group by fewer keys",
            spent=True,
        )
    except Exception as error:  # an unexpected exception's text may quote private values, so it goes no further
        _log(error)
        return Failure(
            WorkerFailed,
            "the query failed",
            "the administrator finds the cause in the proxy's standard error, after `worker:`",
        )


_FRAMES = 12
"""Of a long chain of calls, how many are logged from either end."""


def _log(error: BaseException) -> None:
    """Write the location and the type of an exception to standard error; its text may quote a private value."""
    chain = [error]
    while (cause := chain[-1].__cause__ or chain[-1].__context__) is not None:
        chain.append(cause)
    kinds = " caused by ".join(f"{type(link).__module__}.{type(link).__qualname__}" for link in chain)
    frames = traceback.extract_tb(chain[-1].__traceback__)[::-1]
    frames = frames if len(frames) <= 2 * _FRAMES else [*frames[:_FRAMES], *frames[-_FRAMES:]]
    place = " < ".join(f"{frame.name} ({frame.filename.rpartition('/')[2]}:{frame.lineno})" for frame in frames)
    sys.stderr.write(f"worker: {kinds} at {place}\n")


Result = TypeVar("Result")

_LOOK_UP_S = 0.1  # the delay of a cancellation; an outcome has none
_TAKE_S = 30.0  # the time limit of an idle worker to begin: milliseconds, but more on a busy machine

_OF_THE_GROUP = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that are sent to the process group. The server decides when a worker ends."""

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["server.workers.template", "server.planning"])  # which plans in a worker, too


def _begin() -> None:
    multiprocessing.resource_tracker.ensure_running()  # which unblocks signals, so it comes first
    signal.pthread_sigmask(signal.SIG_BLOCK, _OF_THE_GROUP)  # also in the template, whose end is that of the workers


_STARTER = ThreadPoolExecutor(1, "worker-starter", _begin)
"""The one thread that starts the template and workers."""


def start_template() -> None:
    """Start the process that workers are forked from, so that it imports while this one does other things."""
    _STARTER.submit(multiprocessing.forkserver.ensure_running)


class NotTaken(Exception):
    """The worker died before it began a call. Nothing was read, and another worker may take the call."""


class Worker:
    """One worker process and the pipe to it.

    Args:
      memory_bytes: the limit of the process's address space.
      preload: the modules that the process imports before it takes calls.
    Raises: OSError if no process can be started.
    """

    def __init__(self, memory_bytes: int, *preload: str) -> None:
        self._connection, theirs = _FORKS.Pipe()
        self._process = _FORKS.Process(
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
        """Wait until the worker has imported its modules; once, before the first call.

        Raises: WorkerFailed if it died or was too slow; the worker is dead then.
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
        """Run a function of an importable module; setting `cancelled` stops it.

        Raises: NotTaken if the worker died before it began; QueryCancelled over the time limit; CancelledByClient;
          WorkerFailed if the process died. The worker is dead after these four. Otherwise the call's own error.
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
            hint = "check the system log for a lack of memory"
            raise WorkerFailed("a worker process ended unexpectedly", hint=hint) from error
        assert isinstance(outcome, Success | Failure)
        if outcome.spent:
            self.stop()
        if isinstance(outcome, Failure):
            raise outcome.rebuild()
        return outcome.value  # type: ignore[no-any-return]

    def _begin(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        """Send a call. From here on private rows could have been read.

        A message that was not sent whole does not run. Messages from before the worker's death are still received.
        """
        try:
            self._connection.send((function, arguments))
            if not self._connection.poll(_TAKE_S):
                self.kill()  # it has sent Begun by now, or never will
            assert isinstance(self._connection.recv(), Begun)
        except (EOFError, OSError) as error:
            self.stop()
            raise NotTaken from error

    def _wait(self, limit_s: float, cancelled: threading.Event | None) -> None:
        end = time.monotonic() + limit_s
        while not self._connection.poll(min(_LOOK_UP_S, max(0.0, end - time.monotonic()))):
            if cancelled is not None and cancelled.is_set():
                raise CancelledByClient("the query was cancelled; it was charged", hint="EXPLAIN first: it is free")
            if time.monotonic() >= end:
                raise QueryCancelled(
                    "the query took longer than its limit", hint="add conditions, or join fewer tables"
                )

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return not self._connection.closed and self._process.is_alive()

    def kill(self) -> None:
        """Kill the process. Any thread may do so."""
        self._process.kill()
        self._process.join()

    def stop(self) -> None:
        """Kill the process and close the pipe; for the thread that holds the worker."""
        self.kill()
        self._connection.close()
