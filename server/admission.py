"""Where a request waits: on the event loop or in threads; what is kept never behind what must be measured."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, Protocol, TypeVar

from server.answers.work import Cached, Work
from server.ledger.balance import Outlook
from server.ledger.ledger import Ledger
from server.lru_cache import LruCache
from server.query import QueryRequest, QueryResponse
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
      threads: where reads wait otherwise.
    """

    def __init__(self, ledger: Ledger, at_once: bool, threads: ThreadPool) -> None:
        self._ledger = ledger
        self.at_once = at_once
        self._threads = threads
        self._strangers = ThreadPool(running=STRANGERS, waiting=_WAITING_STRANGERS)
        self._known: LruCache[str, bool] = LruCache(_MOST_KNOWN)

    async def outlook(self, analyst: str) -> Outlook:
        """The accounts that pay, and how many more questions that is; milliseconds, so in a thread.

        Raises: UnknownAnalyst, TooManyQueries.
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


T = TypeVar("T")


class Answers(Protocol):
    """The way of a query in two parts; each method may be called from any thread."""

    def find_planned(self, request: QueryRequest) -> Work | None:
        """What `find` returns, in a few reads of the ledger; None where the question would have to be planned."""
        ...

    def find(self, request: QueryRequest) -> Work:
        """Look a question up: planned, its answer looked for among the kept ones; takes milliseconds, or seconds."""
        ...

    def finish(self, found: Work, request: QueryRequest, cancelled: threading.Event | None = None) -> QueryResponse:
        """The answer: of what is Cached at once, of all else after a wait for workers; `cancelled` ends it early.

        Args:
          found: by this very pipeline, for this request.
        """
        ...


@dataclass(frozen=True)
class Admission:
    """Asks the pipeline in force, for every protocol that clients speak.

    A dashboard that refreshes waits for milliseconds while others' questions are measured for minutes: a question is
    looked up once, on the event loop where that takes a few reads of a local ledger, else in threads that do nothing
    else. What was found says where the rest happens: a small answer is shown on the event loop, a large one in those
    threads, and everything else waits for its turn.

    Attributes:
      in_force: hands out the pipeline in force, once per request: a reload in between changes nothing for it.
      reads: can the ledger be read on the event loop?
      lookups: threads for kept answers, and for the planning without which they are not found.
      queries: threads that wait for workers.
    """

    in_force: Callable[[], Answers]
    reads: LedgerReads
    lookups: ThreadPool
    queries: ThreadPool

    async def answer(self, request: QueryRequest, cancelled: threading.Event | None = None) -> QueryResponse:
        """The answer to the analyst who asks.

        Args:
          cancelled: set by whoever does not want the answer any more.
        Raises: TooManyQueries when too many wait already; otherwise what the pipeline raises.
        """
        pipeline = self.in_force()
        found = pipeline.find_planned(request) if self.reads.at_once else None
        if found is None:
            found = await self.lookups.call_for(request.analyst, pipeline.find, request)
        if isinstance(found, Cached) and found.paid.small:
            return pipeline.finish(found, request)
        threads = self.lookups if isinstance(found, Cached) else self.queries
        return await threads.call_for(request.analyst, pipeline.finish, found, request, cancelled)

    async def in_turn(self, analyst: str, work: Callable[..., T], *given: Any) -> T:
        """What is no single question, as a workload, at the turn of one that waits for workers.

        Args:
          analyst: who asks.
          work: of the pipeline in force; blocks.
          given: its arguments.
        Raises: as `answer`.
        """
        return await self.queries.call_for(analyst, work, *given)
