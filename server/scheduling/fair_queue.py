"""A queue before a few places, for threads: whose turn it is by `FairShares`, and one place kept for who has none."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

from server.errors import CancelledEarly, TooManyQueries
from server.scheduling.fair_shares import FairShares

_LOOK_UP_S = 0.1  # how soon a cancellation is noticed
_LITTLE_S = 10.0
_HALF_LIFE_S = 60.0
"""Who uses a tenth of a place, all the time, has had 9 s of late; who is at one without a pause has had 87 s."""


@dataclass(eq=False)
class _Waiting:
    owner: str


class Turn:
    """A place that is held until `end`, which any thread may call; as a context it ends with its block."""

    def __init__(self, end: Callable[[], None]) -> None:
        self.end = end

    def __enter__(self) -> Turn:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()


class FairQueue:
    """Places for a few callers at once, any thread's.

    A place that comes free goes to whose turn it is (`FairShares`). Where there are several places, the last one that
    is free is kept for owners who hold none and have had little of late: one owner alone, with however many calls,
    delays no other at all, and several who hold everything in turns delay others for one long call each at most, not
    again and again.
    Remembers what owners used: as large as the number of analysts.

    Args:
      places: how many there are.
      clock: seconds, for what was used.
    """

    def __init__(self, places: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._used: dict[str, tuple[float, float]] = {}
        self._places = FairShares(of_one=places, most=places - min(1, places - 1), newcomers=places)
        self._change = threading.Condition()
        self._waiting: list[_Waiting] = []

    def turn(self, owner: str, wait_s: float, cancelled: threading.Event | None = None) -> Turn:
        """Wait for a place.

        Args:
          owner: who asks for it.
          wait_s: the longest wait.
          cancelled: ends the wait early.
        Returns: the place, which the caller has to end.
        Raises: TooManyQueries when no place comes free in time, CancelledEarly when `cancelled` is set until then.
        """
        with self._change:
            self._wait(_Waiting(owner), time.monotonic() + wait_s, cancelled)
            self._places.take(owner)
            begun = self._clock()
        return Turn(lambda: self._end(owner, begun))

    def _end(self, owner: str, begun: float) -> None:
        with self._change:
            now = self._clock()
            self._used[owner] = self._recent_use(owner) + now - begun, now
            self._places.give_back(owner)
            self._change.notify_all()

    def _wait(self, own: _Waiting, end: float, cancelled: threading.Event | None) -> None:
        self._waiting.append(own)
        try:
            while True:
                if cancelled is not None and cancelled.is_set():
                    raise CancelledEarly("the query was cancelled before it began", hint="nothing was charged")
                if own is self._places.next_of(filter(self._has_place, self._waiting), lambda one: one.owner):
                    return
                left = end - time.monotonic()
                if left <= 0:
                    hint = "try again later; nothing was charged"
                    raise TooManyQueries("every worker is busy", hint=hint)
                self._change.wait(min(_LOOK_UP_S, left))
        finally:
            self._waiting.remove(own)
            self._change.notify_all()  # it may be another's turn now

    def _has_place(self, one: _Waiting) -> bool:
        newcomer = not self._places.held(one.owner) and self._recent_use(one.owner) <= _LITTLE_S
        return self._places.refusal(one.owner, newcomer=newcomer) is None

    def _recent_use(self, owner: str) -> float:
        """Seconds of places, of which half is forgotten every _HALF_LIFE_S."""
        used, at = self._used.get(owner, (0.0, 0.0))
        return used * math.exp2((at - self._clock()) / _HALF_LIFE_S) if used else 0.0
