"""One measurement per question at a time, and a circuit breaker for a database that does not answer.

Between processes, the ledger's claims do the same (`server/ledger/writes/reserve.py`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from planner.errors import SchemaChanged
from server.errors import BackendUnavailable, CancelledEarly, TooManyQueries

_LOOK_UP_S = 0.1  # the delay of a cancellation


@dataclass
class _Flight:
    lock: threading.Lock
    parties: int = 0


class SingleFlight:
    """Locks by key, which exist while they are held or awaited.

    If eight panels of a dashboard ask the same question, one measures and seven wait, so it is charged once. If the
    first one fails, the next one measures.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flights: dict[str, _Flight] = {}

    @contextmanager
    def alone(self, key: str, wait_s: float, cancelled: threading.Event | None = None) -> Iterator[None]:
        """Hold the lock of a key. Not reentrant.

        Raises: TooManyQueries after `wait_s`; CancelledEarly if `cancelled` is set before.
        """
        with self._lock:
            flight = self._flights.setdefault(key, _Flight(threading.Lock()))
            flight.parties += 1
        try:
            end = time.monotonic() + wait_s
            while not flight.lock.acquire(timeout=_LOOK_UP_S):
                check_waiting(end, cancelled)
            try:
                yield
            finally:
                flight.lock.release()
        finally:
            with self._lock:
                flight.parties -= 1
                if not flight.parties:
                    del self._flights[key]

    def __len__(self) -> int:
        """The number of keys that are held or awaited."""
        with self._lock:
            return len(self._flights)


def check_waiting(end: float, cancelled: threading.Event | None) -> None:
    """Refuse to wait longer. Raises: TooManyQueries after `end`; CancelledEarly."""
    if cancelled is not None and cancelled.is_set():
        raise CancelledEarly("the query was cancelled before it began", hint="nothing was charged")
    if time.monotonic() >= end:
        hint = "try again later; nothing was charged"
        raise TooManyQueries("this question is already being answered for another client", hint=hint)


PROBE_PAUSE_S = 0.25
"""The pause between two failed probes."""

_WAIT_S = 60.0
"""The longest wait for a probe, which takes at most the connection timeout."""


_AWAY = (BackendUnavailable, SchemaChanged)


@dataclass(frozen=True)
class _Look:
    """A failed probe; times by the monotonic clock."""

    begun: float
    ended: float
    found: Exception


class Outage:
    """Remembers that the last question found the database unavailable or its tables changed. Thread-safe.

    Each refunded charge leaves two ledger entries for ever, so after a failure a question probes the database before
    its charge. Probes run one at a time, with a pause. All questions that waited for a probe share its outcome. A
    question is never refused by an older probe, and the first one after an outage is answered.
    """

    def __init__(self) -> None:
        self._away = threading.Event()
        self._probing = SingleFlight()
        self._last: _Look | None = None

    @contextmanager
    def watched(self, probe: Callable[[], None], cancelled: threading.Event | None = None) -> Iterator[None]:
        """Probe first if the last question failed, then run the block and remember its outcome.

        The probe reads no table; it raises BackendUnavailable or SchemaChanged.
        Raises: as the probe or the block; TooManyQueries and CancelledEarly while waiting.
        Cost: none while the database answers; else one connection, and a pause of PROBE_PAUSE_S.
        """
        if self._away.is_set():
            self._look(probe, time.monotonic(), cancelled)
        with self.noticed():
            yield

    @contextmanager
    def noticed(self) -> Iterator[None]:
        """Run a block, and remember whether it found the database unavailable. Raises: as the block."""
        try:
            yield
        except _AWAY:
            self._away.set()
            raise

    def _look(self, probe: Callable[[], None], asked: float, cancelled: threading.Event | None) -> None:
        with self._probing.alone("", _WAIT_S, cancelled):
            if not self._away.is_set():
                return
            if self._last is not None and self._last.begun >= asked:
                raise self._last.found.with_traceback(None)  # else each raise would lengthen the traceback
            if self._last is not None:
                time.sleep(max(0.0, self._last.ended + PROBE_PAUSE_S - time.monotonic()))
            begun = time.monotonic()
            try:
                probe()
            except _AWAY as error:
                self._last = _Look(begun, time.monotonic(), error)
                raise
            self._last = None
            self._away.clear()
