"""Where a question waits: what is kept and paid for never waits behind what must be measured."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from server.found import Found, Kept
from server.query import QueryRequest, QueryResponse
from server.scheduling.ledger_reads import LedgerReads
from server.scheduling.thread_pool import ThreadPool

T = TypeVar("T")


class Answers(Protocol):
    """The way of a query in two parts; each method may be called from any thread."""

    def find_planned(self, request: QueryRequest) -> Found | None:
        """What `find` returns, in a few reads of the ledger; None where the question would have to be planned."""
        ...

    def find(self, request: QueryRequest) -> Found:
        """Look a question up: planned, its answer looked for among the kept ones; takes milliseconds, or seconds."""
        ...

    def finish(self, found: Found, request: QueryRequest, cancelled: threading.Event | None = None) -> QueryResponse:
        """The answer: of what is Kept at once, of anything else after a wait for workers; `cancelled` ends it early.

        Args:
          found: by this very pipeline, for this request.
        """
        ...


class Admission:
    """Asks the pipeline in force, for every protocol that clients speak.

    A dashboard that refreshes waits for milliseconds while others' questions are measured for minutes: a question is
    looked up once, on the event loop where that takes a few reads of a local ledger, else in threads that do nothing
    else. What was found says where the rest happens: a small answer is shown on the event loop, a large one in those
    threads, and everything else waits for its turn.

    Args:
      in_force: hands out the pipeline in force, once per request: a reload in between changes nothing for it.
      reads: can the ledger be read on the event loop?
      lookups: threads for kept answers, and for the planning without which they are not found.
      queries: threads that wait for workers.
    """

    def __init__(
        self, in_force: Callable[[], Answers], reads: LedgerReads, lookups: ThreadPool, queries: ThreadPool
    ) -> None:
        self._in_force = in_force
        self._reads = reads
        self._lookups = lookups
        self._queries = queries

    async def answer(self, request: QueryRequest, cancelled: threading.Event | None = None) -> QueryResponse:
        """The answer to the analyst who asks.

        Args:
          cancelled: set by whoever does not want the answer any more.
        Raises: TooManyQueries when too many wait already; otherwise what the pipeline raises.
        """
        pipeline = self._in_force()
        found = pipeline.find_planned(request) if self._reads.at_once else None
        if found is None:
            found = await self._lookups.call_for(request.analyst, pipeline.find, request)
        if isinstance(found, Kept) and found.paid.small:
            return pipeline.finish(found, request)
        threads = self._lookups if isinstance(found, Kept) else self._queries
        return await threads.call_for(request.analyst, pipeline.finish, found, request, cancelled)

    async def in_turn(self, analyst: str, work: Callable[..., T], *given: Any) -> T:
        """What is no single question, as a workload, at the turn of one that waits for workers.

        Args:
          analyst: who asks.
          work: of the pipeline in force; blocks.
          given: its arguments.
        Raises: as `answer`.
        """
        return await self._queries.call_for(analyst, work, *given)
