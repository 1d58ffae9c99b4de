"""How often an analyst's queries may fail after private rows could have been read.

Whether a query fails is an output that no epsilon covers (privacy.md section 7): all failures look the same, are
charged, and are few.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable

from server.errors import TooManyFailures

MAX_FAILURES = 20
WINDOW_S = 24 * 3600.0


class FailureLimit:
    """Counts failures per analyst over a sliding window, in memory: a restart forgets them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failures: defaultdict[str, deque[float]] = defaultdict(deque)

    def check(self, analyst: str) -> None:
        """Raises: TooManyFailures, before anything is charged."""
        with self._lock:
            recent = self._failures[analyst]
            while recent and recent[0] <= self._clock() - WINDOW_S:
                recent.popleft()
            if len(recent) >= MAX_FAILURES:
                raise TooManyFailures(
                    f"{MAX_FAILURES} of your queries failed within a day",
                    hint="nothing was charged; ask the custodian, whose log says why they failed",
                )

    def note(self, analyst: str) -> None:
        """One more failure."""
        with self._lock:
            self._failures[analyst].append(self._clock())
