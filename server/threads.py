"""Threads in which blocking calls wait, so that the event loop does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from anyio import CapacityLimiter, to_thread

from server.errors import TooManyQueries

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Threads:
    """A few threads of their own for one kind of blocking call, and a bounded queue before them.

    Args:
      running: how many calls run at once.
      waiting: how many more may wait; one above is refused.
    """

    def __init__(self, running: int, waiting: int) -> None:
        self._limiter = CapacityLimiter(running)
        self._room = running + waiting
        self._of_one = max(1, running // 2), max(1, (running + waiting) // 2)
        self._owned: Counter[str] = Counter()
        self._limiters: dict[str, CapacityLimiter] = {}

    async def call(
        self, function: Callable[Parameters, Result], /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Result:
        """Run a blocking function without holding up the event loop.

        Raises: TooManyQueries when the queue is full; otherwise what the function raises.
        """
        if not self._room:
            raise TooManyQueries(
                "Too many requests are waiting already.", hint="Try again later; nothing was charged."
            )
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

        Raises: TooManyQueries also when half of all is the owner's already; otherwise as `call`.
        """
        running, most = self._of_one
        if self._owned[owner] >= most:
            raise TooManyQueries("Too many of your requests are waiting.", hint="Wait for some; nothing was charged.")
        self._owned[owner] += 1
        try:
            async with self._limiters.setdefault(owner, CapacityLimiter(running)):
                return await self.call(function, *args, **kwargs)
        finally:
            self._owned[owner] -= 1
            if not self._owned[owner]:
                del self._owned[owner], self._limiters[owner]
