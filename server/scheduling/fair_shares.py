"""Fair shares: how much one owner may hold of a scarce resource, and who is next in a queue.

One rule shares workers, threads, waiting and open requests, jobs, sessions, and the bytes of answers and sessions.
Two resources have rules of their own: failures, which the ledger counts (`server/ledger/writes/reserve.py`), and
connections whose owner is not yet known (`server/connections.py`).
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeVar

from server.errors import CancelledEarly, TooManyQueries

Waiting = TypeVar("Waiting")


class Refusal(Enum):
    """Why an owner may not take more now."""

    OWN = auto()
    """The owner's own share is full."""

    ALL = auto()
    """The whole resource is taken."""


class FairShares:
    """What each owner holds of a scarce resource, in units: workers, calls or bytes.

    1. An owner holds at most `of_one`.
    2. All owners together hold at most `most`, or a single holding of any size. The part between `most` and
    `newcomers` is reserved for owners who hold nothing, so that heavy use keeps nobody out.
    3. The next turn is that of the owner who holds least. Among equals it is the one with the oldest last turn, then
    the one who has waited longest. So an owner delays another by at most one turn each, however often it asks.

    Not thread-safe: callers that share it among threads use a lock. Remembers the order of owners; its size is the
    number of analysts.

    Args:
      of_one: units that one owner may hold.
      most: units of all owners together; callers may change it when others take from the same resource.
      newcomers: the limit for owners who hold nothing, >= most; infinity always admits them; None: as `most`.
    """

    def __init__(self, of_one: int, most: float = math.inf, newcomers: float | None = None) -> None:
        self.of_one = of_one
        self.most = most
        self._newcomers = newcomers
        self._held: Counter[str] = Counter()
        self._total = 0
        self._count = itertools.count()
        self._last: dict[str, int] = {}

    @property
    def total(self) -> int:
        """Units that all owners hold together; a unit shared by several owners counts once."""
        return self._total

    def held(self, owner: str) -> int:
        """Units that an owner holds."""
        return self._held[owner]

    def refusal(
        self, owner: str, units: int = 1, *, adds: int | None = None, newcomer: bool | None = None
    ) -> Refusal | None:
        """Why the owner may not take so many more units; None if it may.

        Args:
          adds: units added to the total; None: as many; 0 for a resource shared with another owner.
          newcomer: treat the owner as one who holds nothing; None: if it holds nothing.
        """
        if self._held[owner] + units > self.of_one:
            return Refusal.OWN
        newcomer = not self._held[owner] if newcomer is None else newcomer
        most = self._newcomers if newcomer and self._newcomers is not None else self.most
        adds = units if adds is None else adds
        return Refusal.ALL if adds and self._total and self._total + adds > most else None

    def take(self, owner: str, units: int = 1, *, adds: int | None = None) -> None:
        """Add units to an owner, without a check."""
        self._total += units if adds is None else adds
        if units:
            self._held[owner] += units
            self._last[owner] = next(self._count)

    def give_back(self, owner: str, units: int = 1, *, adds: int | None = None) -> None:
        """Remove units from an owner."""
        self._total -= units if adds is None else adds
        self._held[owner] -= units
        if not self._held[owner]:
            del self._held[owner]

    def next_of(self, waiting: Iterable[Waiting], owner_of: Callable[[Waiting], str]) -> Waiting | None:
        """The entry whose owner is next, of entries in order of arrival; None of none."""

        def order(one: Waiting) -> tuple[int, int]:
            owner = owner_of(one)
            return self._held[owner], self._last.get(owner, -1)

        return min(waiting, key=order, default=None)


_LOOK_UP_S = 0.1  # the delay of a cancellation
_LITTLE_S = 10.0
_HALF_LIFE_S = 60.0
"""With one worker all the time, the recent use is 87 s; with a tenth of a worker, 9 s."""


@dataclass(eq=False)
class _Waiting:
    owner: str


class FairQueue:
    """A few places for concurrent callers. Thread-safe.

    A free place goes to the owner who is next (`FairShares`). If there are several places, the last free one is
    reserved for owners who hold none and have little recent use. So a single owner never delays another. Owners who
    take all places in turns delay others by at most one long call each. Remembers the recent use of owners; its size
    is the number of analysts.

    Args:
      places: the number of places.
      clock: seconds, for recent use.
    """

    def __init__(self, places: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._used: dict[str, tuple[float, float]] = {}
        self._places = FairShares(of_one=places, most=places - min(1, places - 1), newcomers=places)
        self._change = threading.Condition()
        self._waiting: list[_Waiting] = []

    def turn(self, owner: str, wait_s: float, cancelled: threading.Event | None = None) -> ExitStack:
        """Wait for a place, and hold it until the result is closed, by any thread.

        Raises: TooManyQueries if no place is free in time; CancelledEarly if `cancelled` is set before.
        """
        with self._change:
            self._wait(_Waiting(owner), time.monotonic() + wait_s, cancelled)
            self._places.take(owner)
            begun = self._clock()
        turn = ExitStack()
        turn.callback(self._end, owner, begun)
        return turn

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
                    raise TooManyQueries("the proxy is busy with other questions", hint=hint)
                self._change.wait(min(_LOOK_UP_S, left))
        finally:
            self._waiting.remove(own)
            self._change.notify_all()  # the next turn may be another caller's

    def _has_place(self, one: _Waiting) -> bool:
        newcomer = not self._places.held(one.owner) and self._recent_use(one.owner) <= _LITTLE_S
        return self._places.refusal(one.owner, newcomer=newcomer) is None

    def _recent_use(self, owner: str) -> float:
        """Seconds of use, halved every _HALF_LIFE_S."""
        used, at = self._used.get(owner, (0.0, 0.0))
        return used * math.exp2((at - self._clock()) / _HALF_LIFE_S) if used else 0.0
