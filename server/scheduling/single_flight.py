"""One measurement per question at a time, and a circuit breaker that lets one call try a database that is away.

Between processes the ledger's claims do the same (`server/ledger/writes/reserve.py`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from planner.errors import SchemaChanged
from server.errors import BackendUnavailable, CancelledEarly, TooManyQueries

_LOOK_UP_S = 0.1  # how soon a cancellation is noticed


@dataclass
class _Flight:
    lock: threading.Lock
    parties: int = 0


class SingleFlight:
    """Locks by name, which exist while somebody holds or awaits them.

    Eight panels of a dashboard that refresh at once are charged once: seven wait for the first. When the first one
    fails, the next takes its place, so that nobody's failure is another's.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flights: dict[str, _Flight] = {}

    @contextmanager
    def alone(self, key: str, wait_s: float, cancelled: threading.Event | None = None) -> Iterator[None]:
        """Be the only one with this key until the block ends. Not reentrant.

        Raises: TooManyQueries when others take longer than `wait_s`, CancelledEarly when `cancelled` is set until
          then.
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
        """How many keys are held or awaited."""
        with self._lock:
            return len(self._flights)


def check_waiting(end: float, cancelled: threading.Event | None) -> None:
    """Go on waiting for an answer that somebody else measures, until `end`? Raises: TooManyQueries,
    CancelledEarly.
    """
    if cancelled is not None and cancelled.is_set():
        raise CancelledEarly("the query was cancelled before it began", hint="nothing was charged")
    if time.monotonic() >= end:
        hint = "try again later; nothing was charged"
        raise TooManyQueries("this question is being answered for somebody else already", hint=hint)


PROBE_PAUSE_S = 0.25
"""Between the end of a look that found the database away and the beginning of the next one."""

_WAIT_S = 60.0
"""The longest wait for a look; one takes at most as long as a connection may."""


_AWAY = (BackendUnavailable, SchemaChanged)


@dataclass(frozen=True)
class _Look:
    """A look that found the database away; times by the monotonic clock."""

    begun: float
    ended: float
    found: Exception


class Outage:
    """Remembers that the last question found the database away, or its tables changed. Any thread may use it.

    A charge that is given back has left two entries in the ledger for ever. While the last attempt failed, who asks
    looks first; one looks at a time and not too often, and all who asked before it looked are told what it found. So
    nobody is refused for what was so before the question came, and the first question after an outage is answered.
    """

    def __init__(self) -> None:
        self._away = threading.Event()
        self._probing = SingleFlight()
        self._last: _Look | None = None

    @contextmanager
    def watched(self, probe: Callable[[], None], cancelled: threading.Event | None = None) -> Iterator[None]:
        """Look before the block where the last one found the database away, and remember what this one finds.

        The probe asks the database for nothing but itself; it raises BackendUnavailable or SchemaChanged.
        Raises: what the probe or the block raises; TooManyQueries and CancelledEarly as other waits.
        Cost: none while the database is there; else one connection, and a wait of PROBE_PAUSE_S.
        """
        if self._away.is_set():
            self._look(probe, time.monotonic(), cancelled)
        with self.noticed():
            yield

    @contextmanager
    def noticed(self) -> Iterator[None]:
        """Remember what the block finds. Raises: what it raises."""
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
                raise self._last.found.with_traceback(None)  # else each raise would lengthen it
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
