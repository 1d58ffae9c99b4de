"""Threads for blocking calls, so that the event loop does not wait."""

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
"""Gives back the place of the call in this thread."""


def leave_place() -> None:
    """Give this thread's place to another call, because the rest of this call mostly waits.

    The caller must bound how many such threads there are.
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
    """A few threads for one kind of blocking call, with a bounded queue.

    Owners have fair shares (`FairShares`) of the threads and the queue: at most half of each, and an owner without a
    call does not wait. So long or frequent calls of one owner delay no other. The number of threads is at most
    `running` plus one per owner.

    Used on the event loop only.

    Args:
      running: calls that run at once.
      waiting: further calls that may wait.
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
        """Run a blocking function in a thread.

        Raises: TooManyQueries if the queue is full; otherwise as the function.
        """
        if self._calls.most < 1:
            raise _full("Too many requests are waiting already.")
        self._calls.most -= 1  # on the event loop, so nothing runs between the check and this
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
        """As `call`, within the fair share of an owner.

        Raises: TooManyOwnQueries if the owner's share is full; otherwise as `call`.
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
            _leave.set(lambda: _call_soon(loop, self._give_back, place))
            return await to_thread.run_sync(lambda: function(*args, **kwargs), limiter=self._unlimited)

    @asynccontextmanager
    async def _admitted(self, owner: str) -> AsyncIterator[_Waiting]:
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
        """Give back a place once, when its call ends or only waits."""
        if place.admitted.is_set() and not place.left:
            place.left = True
            self._threads.give_back(place.owner)
            self._calls.give_back(place.owner)
        self._admit()

    def _admit(self) -> None:
        while chosen := self._threads.next_of(filter(self._has_place, self._waiting), lambda one: one.owner):
            self._waiting.remove(chosen)
            self._threads.take(chosen.owner)
            chosen.admitted.set()

    def _has_place(self, one: _Waiting) -> bool:
        return self._threads.refusal(one.owner) is None


def _call_soon(loop: asyncio.AbstractEventLoop, function: Callable[[_Waiting], None], place: _Waiting) -> None:
    """Call a function on the event loop from another thread; a closed loop needs no call."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(function, place)


def _full(message: str) -> TooManyQueries:
    return TooManyQueries(message, hint="Wait for some, or try again later; nothing was charged.")
