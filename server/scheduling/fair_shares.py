"""Fair shares: how much of something scarce one owner may hold, and whose turn comes next; the one rule for both.

By it are shared: places at workers, threads, requests that wait, open requests, jobs, sessions, the bytes of answers
that are being read and those that sessions keep. Rules of their own have failures, which are counted from the ledger
(`failure_limit`), and connections of which nobody knows yet whose they are (`connection_places`).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable
from enum import Enum, auto
from typing import TypeVar

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
