"""How often an analyst's free questions may end without an answer; they cost no epsilon that would bound them."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable

from server.errors import TooManyFailures

MAX_UNANSWERED = 20
WINDOW_S = 3600.0


class UnansweredLimit:
    """Counts them per analyst over a sliding window, in memory. Nothing private is in it, so a restart may forget.

    Any thread may use it. An analyst takes the memory of MAX_UNANSWERED times, and none without any.

    Args:
      clock: seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._times: dict[str, deque[float]] = {}

    def check(self, analyst: str) -> None:
        """Raises: TooManyFailures where MAX_UNANSWERED were counted within the last hour."""
        with self._lock:
            counted = self._within_window(analyst)
            if len(counted) < MAX_UNANSWERED:
                return
            minutes = math.ceil((counted[-MAX_UNANSWERED] + WINDOW_S - self._clock()) / 60)
        hint = f"nothing was charged; ask again in {minutes} min, and join less; private tables are answered"
        raise TooManyFailures(
            f"{MAX_UNANSWERED} of your questions over public tables ended without an answer within an hour", hint=hint
        )

    def count(self, analyst: str) -> None:
        """One has ended without an answer."""
        with self._lock:
            self._within_window(analyst)
            self._times.setdefault(analyst, deque(maxlen=MAX_UNANSWERED)).append(self._clock())

    def _within_window(self, analyst: str) -> deque[float]:
        """The times within the last hour, oldest first; an empty list of them is not kept."""
        times = self._times.get(analyst, deque())
        while times and times[0] <= self._clock() - WINDOW_S:
            times.popleft()
        if not times:
            self._times.pop(analyst, None)
        return times
