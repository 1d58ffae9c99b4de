"""Threads in which blocking calls wait, so that the event loop does not."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import ParamSpec, TypeVar

from anyio import CapacityLimiter, to_thread

from server.errors import TooManyOwnQueries, TooManyQueries
from server.scheduling.fair_shares import FairShares, Refusal

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


_leave: ContextVar[Callable[[], None] | None] = ContextVar("leave", default=None)
"""Gives back the place of the call that runs in this thread."""


def leave_place() -> None:
    """Let another call have this thread's place: what the call does from now on is waiting, above all.

    So there may be more threads than `ThreadPool` runs; whoever calls this bounds how many.
    """
    leave = _leave.get()
    if leave is not None:
        leave()


@dataclass(eq=False)
class _Waiting:
    owner: str
    admitted: asyncio.Event = field(default_factory=asyncio.Event)
    left: bool = False


class ThreadPool:
    """A few threads of their own for one kind of blocking call, and a bounded queue before them.

    Calls of owners have fair shares (`FairShares`) of the threads and of the queue: half of each at most, and who has
    none need not wait at all. So a call that takes long, or many who make such calls, delay nobody else here; the
    threads are never more than `running` and one for each owner.

    Used on the event loop only.

    Args:
      running: how many calls run at once.
      waiting: how many more may wait; one above is refused.
    """

    def __init__(self, running: int, waiting: int) -> None:
        self._limiter = CapacityLimiter(running)
        self._unlimited = CapacityLimiter(math.inf)
        room = running + waiting
        self._threads = FairShares(max(1, running // 2), running, newcomers=math.inf)
        self._calls = FairShares(max(1, room // 2), room, newcomers=math.inf)
        self._waiting: list[_Waiting] = []

    async def call(
        self, function: Callable[Parameters, Result], /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Result:
        """Run a blocking function without holding up the event loop.

        Raises: TooManyQueries when the queue is full; otherwise what the function raises.
        """
        if self._calls.most < 1:
            raise _full("Too many requests are waiting already.")
        self._calls.most -= 1  # all on the event loop, so nothing comes between the test and this
        try:
            return await to_thread.run_sync(lambda: function(*args, **kwargs), limiter=self._limiter)
        finally:
            self._calls.most += 1

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
        refusal = self._calls.refusal(owner)
        if refusal is Refusal.OWN:
            raise TooManyOwnQueries(
                "Too many of your requests are waiting.", hint="Wait for some; nothing was charged."
            )
        if refusal is Refusal.ALL:
            raise _full("Too many requests are waiting already.")
        async with self._admitted(owner) as place:
            loop = asyncio.get_running_loop()
            _leave.set(lambda: _told(loop, self._give_back, place))
            return await to_thread.run_sync(lambda: function(*args, **kwargs), limiter=self._unlimited)

    @asynccontextmanager
    async def _admitted(self, owner: str) -> AsyncIterator[_Waiting]:
        """Hold a thread's place."""
        own = _Waiting(owner)
        self._calls.take(owner)
        self._waiting.append(own)
        self._admit()
        try:
            await own.admitted.wait()
            yield own
        finally:
            if not own.admitted.is_set():
                self._waiting.remove(own)
                self._calls.give_back(owner)
            self._give_back(own)

    def _give_back(self, place: _Waiting) -> None:
        """Once, whether its call has ended or only waits."""
        if place.admitted.is_set() and not place.left:
            place.left = True
            self._threads.give_back(place.owner)
            self._calls.give_back(place.owner)
        self._admit()

    def _admit(self) -> None:
        """Let in whoever may come in now."""
        while chosen := self._threads.next_of(filter(self._has_place, self._waiting), lambda one: one.owner):
            self._waiting.remove(chosen)
            self._threads.take(chosen.owner)
            chosen.admitted.set()

    def _has_place(self, one: _Waiting) -> bool:
        return self._threads.refusal(one.owner) is None


def _told(loop: asyncio.AbstractEventLoop, function: Callable[[_Waiting], None], place: _Waiting) -> None:
    """From another thread; a loop that has ended has no places to give."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(function, place)


def _full(message: str) -> TooManyQueries:
    return TooManyQueries(message, hint="Wait for some, or try again later; nothing was charged.")
