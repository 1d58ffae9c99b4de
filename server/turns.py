"""Whose turn it is at something of which there are few: next comes who has least of it, in turn."""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from server.errors import CancelledEarly, TooManyQueries

_LOOK_UP_S = 0.1  # how soon a cancellation is noticed


@dataclass(eq=False)
class _Waiting:
    owner: str


class Turns:
    """Places for a few callers at once, any thread's.

    A place that comes free goes to the owner who holds fewest, and among those to who had a turn longest ago. So
    neither one who asks a hundred times nor several who take turns at it delay another by more than one call each.
    Remembers an order of owners: as large as the number of analysts.

    Args:
      places: how many there are.
    """

    def __init__(self, places: int) -> None:
        self._free = places
        self._change = threading.Condition()
        self._holding: Counter[str] = Counter()
        self._waiting: list[_Waiting] = []
        self._count = itertools.count()
        self._last: dict[str, int] = {}

    @contextmanager
    def turn(self, owner: str, wait_s: float, cancelled: threading.Event | None = None) -> Iterator[None]:
        """Hold a place.

        Args:
          owner: who asks for it.
          wait_s: the longest wait.
          cancelled: ends the wait early.
        Raises: TooManyQueries when no place comes free in time, CancelledEarly when `cancelled` is set until then.
        """
        with self._change:
            self._wait(_Waiting(owner), time.monotonic() + wait_s, cancelled)
            self._free -= 1
            self._holding[owner] += 1
            self._last[owner] = next(self._count)
        try:
            yield
        finally:
            with self._change:
                self._free += 1
                self._holding[owner] -= 1
                self._holding += Counter()  # forgets who holds nothing
                self._change.notify_all()

    def _wait(self, own: _Waiting, end: float, cancelled: threading.Event | None) -> None:
        self._waiting.append(own)
        try:
            while True:
                if cancelled is not None and cancelled.is_set():
                    raise CancelledEarly("the query was cancelled before it began", hint="nothing was charged")
                if self._free and own is min(self._waiting, key=self._order):
                    return
                left = end - time.monotonic()
                if left <= 0:
                    hint = "try again later; nothing was charged"
                    raise TooManyQueries("every worker is busy", hint=hint)
                self._change.wait(min(_LOOK_UP_S, left))
        finally:
            self._waiting.remove(own)
            self._change.notify_all()  # it may be another's turn now

    def _order(self, one: _Waiting) -> tuple[int, int]:
        """Whose turn comes first; of one owner's calls, and of owners who never had a turn, the earliest."""
        return self._holding[one.owner], self._last.get(one.owner, -1)
