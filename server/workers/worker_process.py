"""What runs inside a worker process: one call after the other, until the pipe closes."""

from __future__ import annotations

import ctypes
import importlib
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from planner.errors import PlannerError
from server.errors import QueryCancelled, ServerError, WorkerFailed

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
    """One of our own errors, by class and words; nothing of its cause crosses the pipe.

    Attributes:
      spent: as of Success.
    """

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
    """A server that is killed takes its workers along, whatever they do (Linux; elsewhere the pipe tells them).

    The kernel's parent is the thread that started this process (`worker.py`).
    """
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
