"""Where short reads of the ledger happen: on the event loop or in threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from server.ledger.ledger import Budgets
from server.ledger.outlook import Outlook
from server.query import Budget
from server.scheduling.thread_pool import ThreadPool

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

    async def budget(self, analyst: str) -> Budget:
        """What the analyst was granted and what is left. Raises: UnknownAnalyst; also as `call`."""
        return await self.call(self._ledger.budget, analyst)

    async def outlook(self, analyst: str) -> Outlook:
        """The same of all accounts that pay, and how many more questions that is; milliseconds, so in a thread.

        Raises: as `budget`; TooManyQueries.
        """
        return await self._threads.call(self._ledger.outlook, analyst)

    async def call(
        self, function: Callable[Parameters, Result], /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Result:
        """Read.

        Raises: TooManyQueries when too many wait for threads; otherwise what the function raises.
        """
        if self.at_once:
            return function(*args, **kwargs)
        return await self._threads.call(function, *args, **kwargs)
