"""The end of a question is held back until a moment that says little about the data.

The moments are `planner.planning.answer_times`. What is held is all of it: the answer or the failure, its entry in
the ledger, the answer that is kept for others, the count of failures. So nobody can ask elsewhere whether it has
ended.
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
"""Of the first moment, how long before the last one the measurement is ended: a worker stops within that."""

_LOOK_UP_S = 0.1  # how soon a plain event is noticed; also how exact the moment of a cancellation is then


class Cancellation(threading.Event):
    """An event that knows when it was set, by the monotonic clock."""

    def __init__(self) -> None:
        super().__init__()
        self.at: float | None = None

    def set(self) -> None:
        """Cancel, and note when: the first time counts."""
        if self.at is None:
            self.at = time.monotonic()
        super().set()

    def clear(self) -> None:
        """Be of use for another question."""
        super().clear()
        self.at = None


class Holding:
    """Holds the end of one question.

    A question that is cancelled ends one first moment after the cancellation, whether it was still measured or held:
    both look the same, and neither is answered.

    Args:
      first_s: the first moment at which it may end, in seconds after it began; 0 holds nothing.
      last_s: the last one, at which it has failed; inf: it takes as long as it takes.
      cancelled: set by whoever does not want the answer any more.
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
        """Its turn has come: how long it waited for that is no part of its duration. The first time counts."""
        if self._begun is None:
            self._begun = self._clock()

    @property
    def limit_s(self) -> float:
        """How long it may still be measured, so that a failure leaves at the last moment and not at the one after."""
        whole = self._last_s - _ENDING * self._first_s
        passed = 0.0 if self._begun is None or math.isinf(whole) else self._clock() - self._begun
        return max(_LOOK_UP_S, whole - passed)

    def until_moment(self) -> None:
        """Wait for the next moment, in a thread that leaves its place to others.

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
        """How a question that has failed ends, once that may be known: cancelled while it is held, as cancelled."""
        if isinstance(error, CancelledByClient):
            self.until_cancelled()
            return error
        try:
            self.until_moment()
        except CancelledByClient as cancelled:
            return cancelled
        return error

    def until_cancelled(self) -> None:
        """Wait for one first moment after the cancellation."""
        if not self._first_s or self._ended:
            return
        leave_place()
        self._ended = True
        known = self._cancelled.at if isinstance(self._cancelled, Cancellation) else None
        end = (self._clock() if known is None else known) + self._first_s
        while (left := end - self._clock()) > 0:
            time.sleep(min(left, _LOOK_UP_S))
