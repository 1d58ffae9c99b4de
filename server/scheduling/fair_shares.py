"""Fair shares: how much one owner may hold of what is scarce, and whose turn comes next in a queue of threads.

By the one rule are shared: places at workers, threads, requests that wait, open requests, jobs, sessions, the bytes
of answers that are being read and those that sessions keep. Rules of their own have failures, which are counted from
the ledger (`server/ledger/writes/reserve.py`), and connections of which nobody knows yet whose they are
(`server/connections.py`).
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
    """Why an owner may not have more now."""

    OWN = auto()
    """The owner's own share is full: it is for the owner to give something back."""

    ALL = auto()
    """Everything is taken, whoever has it."""


class FairShares:
    """What each owner holds of something scarce, in units: places, calls or bytes.

    1. An owner holds `of_one` at most.
    2. All together hold `most` at most, or one thing alone, however large; between `most` and `newcomers` is only for
       owners who hold nothing yet. So one who takes much, or many who do, keep nobody from beginning.
    3. Of those who wait, next comes who holds least, among those who has had something longest ago, and among those
       who has waited longest. So neither one who asks a hundred times nor several who take turns at it delay another
       by more than one turn each.

    Not for several threads at once: who shares it among them has a lock.
    Remembers an order of owners: as large as the number of analysts.

    Args:
      of_one: units that one owner may hold.
      most: units of all together; may be set anew when something else takes of the same.
      newcomers: units of all together up to which who holds nothing is let in, >= most; infinity keeps nobody out
        who holds nothing; None: as `most`.
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
        """Units that all hold together, what several share once."""
        return self._total

    def held(self, owner: str) -> int:
        """Units that an owner holds."""
        return self._held[owner]

    def refusal(
        self, owner: str, units: int = 1, *, adds: int | None = None, newcomer: bool | None = None
    ) -> Refusal | None:
        """Why the owner may not take so many more; None where that is allowed.

        Args:
          adds: units by which the total grows; None: as many. 0 for what is shared with somebody who has it.
          newcomer: does the owner count as one who holds nothing? None: if so it is.
        """
        if self._held[owner] + units > self.of_one:
            return Refusal.OWN
        newcomer = not self._held[owner] if newcomer is None else newcomer
        most = self._newcomers if newcomer and self._newcomers is not None else self.most
        adds = units if adds is None else adds
        return Refusal.ALL if adds and self._total and self._total + adds > most else None

    def take(self, owner: str, units: int = 1, *, adds: int | None = None) -> None:
        """The owner holds so many more, whether or not that is refused."""
        self._total += units if adds is None else adds
        if units:
            self._held[owner] += units
            self._last[owner] = next(self._count)

    def give_back(self, owner: str, units: int = 1, *, adds: int | None = None) -> None:
        """The owner holds so many fewer. Who holds nothing is no more counted."""
        self._total -= units if adds is None else adds
        self._held[owner] -= units
        if not self._held[owner]:
            del self._held[owner]

    def next_of(self, waiting: Iterable[Waiting], owner_of: Callable[[Waiting], str]) -> Waiting | None:
        """Whose turn comes first of those who wait, given in the order in which they came; None of none."""

        def order(one: Waiting) -> tuple[int, int]:
            owner = owner_of(one)
            return self._held[owner], self._last.get(owner, -1)

        return min(waiting, key=order, default=None)


_LOOK_UP_S = 0.1  # how soon a cancellation is noticed
_LITTLE_S = 10.0
_HALF_LIFE_S = 60.0
"""Who uses a tenth of a place, all the time, has had 9 s of late; who is at one without a pause has had 87 s."""


@dataclass(eq=False)
class _Waiting:
    owner: str


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

    def turn(self, owner: str, wait_s: float, cancelled: threading.Event | None = None) -> ExitStack:
        """Wait for a place, which is held until it is closed, by any thread.

        Raises: TooManyQueries when no place comes free in time, CancelledEarly when `cancelled` is set until then.
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
