"""One measurement per question at a time, within a process: who comes second waits, and finds a kept answer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class _Flight:
    lock: threading.Lock = field(default_factory=threading.Lock)
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
    def alone(self, key: str) -> Iterator[None]:
        """Be the only one with this key until the block ends. Not reentrant."""
        with self._lock:
            flight = self._flights.setdefault(key, _Flight())
            flight.parties += 1
        try:
            with flight.lock:
                yield
        finally:
            with self._lock:
                flight.parties -= 1
                if not flight.parties:
                    del self._flights[key]

    def __len__(self) -> int:
        """How many keys are held or awaited."""
        with self._lock:
            return len(self._flights)
