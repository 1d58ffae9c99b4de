"""Threads in which blocking calls wait, so that the event loop does not."""

from __future__ import annotations

import asyncio
import itertools
import math
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import ParamSpec, TypeVar

from anyio import CapacityLimiter, to_thread

from server.errors import TooManyOwnQueries, TooManyQueries

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


@dataclass(eq=False)
class _Waiting:
    owner: str
    admitted: asyncio.Event = field(default_factory=asyncio.Event)


class Threads:
    """A few threads of their own for one kind of blocking call, and a bounded queue before them.

    Calls of owners are fair: an owner has half of the threads at most, who has fewest is next, in turn, and who has
    none need not wait at all. So a call that takes long, or many who make such calls, delay nobody else here; the
    threads are never more than `running` and one for each owner.

    Used on the event loop only.

    Args:
      running: how many calls run at once.
      waiting: how many more may wait; one above is refused.
    """

    def __init__(self, running: int, waiting: int) -> None:
        self._running = running
        self._limiter = CapacityLimiter(running)
        self._unlimited = CapacityLimiter(math.inf)
        self._room = running + waiting
        self._of_one = max(1, running // 2), max(1, (running + waiting) // 2)
        self._held: Counter[str] = Counter()
        self._waiting: list[_Waiting] = []
        self._count = itertools.count()
        self._last: dict[str, int] = {}

    async def call(
        self, function: Callable[Parameters, Result], /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Result:
        """Run a blocking function without holding up the event loop.

        Raises: TooManyQueries when the queue is full; otherwise what the function raises.
        """
        if not self._room:
            raise _full("Too many requests are waiting already.")
        self._room -= 1  # all on the event loop, so nothing comes between the test and this
        try:
            return await to_thread.run_sync(lambda: function(*args, **kwargs), limiter=self._limiter)
        finally:
            self._room += 1

    async def call_for(
        self,
        owner: str,
        function: Callable[Parameters, Result],
        /,
        *args: Parameters.args,
        **kwargs: Parameters.kwargs,
    ) -> Result:
        """As `call`, on behalf of somebody who may have half of the threads and half of the queue.

        Raises: TooManyOwnQueries when half of all is the owner's already; otherwise as `call`.
        """
        own = self._held[owner] + sum(one.owner == owner for one in self._waiting)
        if own >= self._of_one[1]:
            raise TooManyOwnQueries(
                "Too many of your requests are waiting.", hint="Wait for some; nothing was charged."
            )
        if own and self._held.total() + len(self._waiting) >= self._room:
            raise _full("Too many requests are waiting already.")
        async with self._admitted(owner):
            return await to_thread.run_sync(lambda: function(*args, **kwargs), limiter=self._unlimited)

    @asynccontextmanager
    async def _admitted(self, owner: str) -> AsyncIterator[None]:
        """Hold a thread's place."""
        own = _Waiting(owner)
        self._waiting.append(own)
        self._admit()
        try:
            await own.admitted.wait()
            yield
        finally:
            if own.admitted.is_set():
                self._held[owner] -= 1
                self._held += Counter()  # forgets who holds nothing
            else:
                self._waiting.remove(own)
            self._admit()

    def _admit(self) -> None:
        """Let in whoever may come in now."""
        while allowed := [one for one in self._waiting if self._has_place(one.owner)]:
            chosen = min(allowed, key=lambda one: (self._held[one.owner], self._last.get(one.owner, -1)))
            self._waiting.remove(chosen)
            self._held[chosen.owner] += 1
            self._last[chosen.owner] = next(self._count)
            chosen.admitted.set()

    def _has_place(self, owner: str) -> bool:
        held = self._held[owner]
        return not held or (held < self._of_one[0] and self._held.total() < self._running)


def _full(message: str) -> TooManyQueries:
    return TooManyQueries(message, hint="Wait for some, or try again later; nothing was charged.")
