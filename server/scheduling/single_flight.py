"""One measurement per question at a time, within a process: who comes second waits, and finds a kept answer.

Between processes the ledger's claims do the same (`server/ledger/writes/reserve.py`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from server.errors import CancelledEarly, TooManyQueries

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
    """Go on waiting for an answer that somebody else measures?

    Args:
      end: until when, by the monotonic clock.
    Raises: TooManyQueries, CancelledEarly.
    """
    if cancelled is not None and cancelled.is_set():
        raise CancelledEarly("the query was cancelled before it began", hint="nothing was charged")
    if time.monotonic() >= end:
        hint = "try again later; nothing was charged"
        raise TooManyQueries("this question is being answered for somebody else already", hint=hint)
