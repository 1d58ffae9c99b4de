"""A process that compiles the kernels of the mathematics while the server already answers."""

from __future__ import annotations

import threading

import structlog

from privacy.warm_up import warm_up
from server.errors import ServerError
from server.workers.start_places import start_place
from server.workers.worker import NotTaken, Worker

_LIMIT_S = 900.0

_log = structlog.get_logger("noisegate.compiler")


class KernelCompiler:
    """Runs `warm_up` once beside the workers, which then find the machine code on the disk.

    On a machine that has done so before it takes seconds. The first time it takes a minute, in which a question
    still compiles what it needs by itself: it is slow, not wrong. Failing to compile ahead is no reason to stop.
    """

    def __init__(self, memory_bytes: int) -> None:
        self._memory_bytes = memory_bytes
        self._worker: Worker | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._compile, name="compiler", daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Whether it has ended, after waiting at most so long."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def stop(self) -> None:
        """Kill the process if it still compiles."""
        self._stopped.set()
        if self._worker is not None:
            self._worker.kill()
        self._thread.join()

    def _compile(self) -> None:
        worker = None
        try:
            with start_place(self._stopped) as wanted:
                if not wanted:
                    return
                worker = self._worker = Worker(self._memory_bytes, warm_up.__module__)
                if self._stopped.is_set():  # else `stop` has seen it, or will
                    return
                worker.wait_ready(_LIMIT_S)
            worker.call(warm_up, (), _LIMIT_S)
        except (ServerError, NotTaken, OSError) as error:
            if not self._stopped.is_set():
                _log.warning("kernels were not compiled ahead", kind=type(error).__name__)
        finally:
            if worker is not None:
                worker.stop()
