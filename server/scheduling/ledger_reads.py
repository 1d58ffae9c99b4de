"""Where short reads of the ledger happen: on the event loop or in threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from server.ledger.ledger import Budgets
from server.ledger.outlook import Outlook
from server.query import Budget
from server.scheduling.lru_cache import LruCache
from server.scheduling.thread_pool import ThreadPool

STRANGERS = 2
"""Of those who are not known yet, this many are looked up at once."""

_WAITING_STRANGERS = 256
_MOST_KNOWN = 10_000

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class LedgerReads:
    """A key, a budget, a kept answer: on the event loop where the ledger is a file of this machine, else in threads.

    Such a read takes some 20 microseconds and waits for nobody; a thread that is woken for it on another core, and
    wakes the loop again, takes several times as long. A read over a network may wait, and has to be in a thread.

    Args:
      ledger: knows budgets.
      at_once: is the ledger a local one?
      threads: where reads wait otherwise.
    """

    def __init__(self, ledger: Budgets, at_once: bool, threads: ThreadPool) -> None:
        self._ledger = ledger
        self.at_once = at_once
        self._threads = threads
        self._strangers = ThreadPool(running=STRANGERS, waiting=_WAITING_STRANGERS)
        self._known: LruCache[str, bool] = LruCache(_MOST_KNOWN)

    async def budget(self, analyst: str) -> Budget:
        """What the analyst was granted and what is left. Raises: UnknownAnalyst; also as `call`."""
        return await self.call(self._ledger.budget, analyst)

    async def outlook(self, analyst: str) -> Outlook:
        """The same of all accounts that pay, and how many more questions that is; milliseconds, so in a thread.

        Raises: as `budget`; TooManyQueries.
        """
        return await self._threads.call(self._ledger.outlook, analyst)

    async def of_stranger(
        self, function: Callable[Parameters, Result], /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Result:
        """Read for somebody who has proven nothing yet, in the lane of strangers. Raises: as `call`."""
        if self.at_once:
            return function(*args, **kwargs)
        return await self._strangers.call(function, *args, **kwargs)

    async def look_up(
        self,
        shown: str,
        function: Callable[Parameters, Result],
        /,
        *args: Parameters.args,
        **kwargs: Parameters.kwargs,
    ) -> Result:
        """Read whose it is what somebody shows who is not known yet.

        What was found once goes the way of all reads. What never was waits in a lane of its own, so that guesses, of
        which anybody may send any number, delay nobody who holds a key.

        Args:
          shown: a key's hash, or a name.
          function: finds whose it is; None for nobody.
        Raises: as `call`.
        """
        was_known = self._known.get(shown)
        found = await (self.call if was_known else self.of_stranger)(function, *args, **kwargs)
        if was_known or found is not None:  # guesses push nobody out
            self._known.put(shown, found is not None)
        return found

    async def call(
        self, function: Callable[Parameters, Result], /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Result:
        """Read.

        Raises: TooManyQueries when too many wait for threads; otherwise what the function raises.
        """
        if self.at_once:
            return function(*args, **kwargs)
        return await self._threads.call(function, *args, **kwargs)
