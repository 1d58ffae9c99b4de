"""Hold the end of a question until a moment that reveals little about the data.

`planner.planning.answer_times` defines the moments. Everything is held: the answer or the error, its ledger entry,
the cached answer, and the count of failures. So no other interface shows that the question has ended.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

from planner.planning.answer_times import moment_s
from server.errors import CancelledByClient
from server.scheduling.thread_pool import leave_place

_ENDING = 1 / 8
"""A measurement ends this part of the first moment before the last one, so that its worker stops in time."""

_LOOK_UP_S = 0.1  # the delay of a plain event, and the precision of its time


class Cancellation(threading.Event):
    """An event that records when it was set, by the monotonic clock."""

    def __init__(self) -> None:
        super().__init__()
        self.at: float | None = None

    def set(self) -> None:
        """Cancel, and record the time of the first call."""
        if self.at is None:
            self.at = time.monotonic()
        super().set()

    def clear(self) -> None:
        """Reset for another question."""
        super().clear()
        self.at = None


class Holding:
    """Holds the end of one question.

    A cancelled question ends one first moment after the cancellation, whether it was measured or held at that time.
    Both cases look the same, and neither returns an answer.

    Args:
      first_s: the first moment at which it may end, in seconds after its start; 0 holds nothing.
      last_s: the last moment, at which it fails; infinity: no limit.
      cancelled: set when the client no longer wants the answer.
    """

    def __init__(
        self,
        first_s: float,
        cancelled: threading.Event | None = None,
        clock: Callable[[], float] = time.monotonic,
        last_s: float = math.inf,
    ) -> None:
        self._first_s = first_s
        self._last_s = last_s
        self._cancelled = cancelled if cancelled is not None else threading.Event()
        self._clock = clock
        self._begun: float | None = None
        self._ended = False

    def begin(self) -> None:
        """Start the clock; the wait for a turn does not count. Only the first call counts."""
        if self._begun is None:
            self._begun = self._clock()

    @property
    def limit_s(self) -> float:
        """The time left for the measurement, such that a failure leaves at the last moment."""
        whole = self._last_s - _ENDING * self._first_s
        passed = 0.0 if self._begun is None or math.isinf(whole) else self._clock() - self._begun
        return max(_LOOK_UP_S, whole - passed)

    def until_moment(self) -> None:
        """Wait for the next moment, without occupying a thread's place.

        Raises: CancelledByClient.
        """
        if not self._first_s:
            return
        leave_place()
        self.begin()
        begun = self._begun or 0.0
        end = begun + moment_s(self._first_s, self._clock() - begun)
        while (left := end - self._clock()) > 0:
            if self._cancelled.wait(min(left, _LOOK_UP_S)):
                break
        if self._cancelled.is_set():
            self.until_cancelled()
            raise CancelledByClient("the query was cancelled; it was charged", hint="EXPLAIN first: it is free")

    def ended(self, error: BaseException) -> BaseException:
        """Wait until the failure of a question may be known, and return the error; a cancellation meanwhile replaces
        it.
        """
        if isinstance(error, CancelledByClient):
            self.until_cancelled()
            return error
        try:
            self.until_moment()
        except CancelledByClient as cancelled:
            return cancelled
        return error

    def until_cancelled(self) -> None:
        """Wait until one first moment after the cancellation."""
        if not self._first_s or self._ended:
            return
        leave_place()
        self._ended = True
        known = self._cancelled.at if isinstance(self._cancelled, Cancellation) else None
        end = (self._clock() if known is None else known) + self._first_s
        while (left := end - self._clock()) > 0:
            time.sleep(min(left, _LOOK_UP_S))
