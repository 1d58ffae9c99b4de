"""Which threads a question waits in: what is kept and paid for never waits behind what must be measured."""

from __future__ import annotations

import threading
from typing import Protocol

from server.ledger_reads import LedgerReads
from server.query import QueryRequest, QueryResponse
from server.threads import Threads


class Answers(Protocol):
    """The part of the pipeline that answers; each method blocks and may be called from any thread."""

    def answer_at_hand(self, request: QueryRequest) -> QueryResponse | None:
        """The kept answer, if that takes a few reads of the ledger and no more."""
        ...

    def kept_answer(self, request: QueryRequest) -> QueryResponse | None:
        """The answer that the analyst has paid for before, if there is one; takes milliseconds."""
        ...

    def answer(self, request: QueryRequest, cancelled: threading.Event | None = None) -> QueryResponse:
        """Answer and charge; setting `cancelled` ends it early."""
        ...


class Asking:
    """Asks a pipeline, for every protocol that clients speak.

    A dashboard that refreshes waits for milliseconds while others' questions are measured for minutes: a question is
    first looked for among the kept answers, on the event loop where that takes a few reads of a local ledger, then in
    threads that do nothing else.

    Args:
      pipeline: answers.
      reads: can the ledger be read on the event loop?
      lookups: threads for kept answers, and for the planning without which they are not found.
      queries: threads that wait for workers.
    """

    def __init__(self, pipeline: Answers, reads: LedgerReads, lookups: Threads, queries: Threads) -> None:
        self._pipeline = pipeline
        self._reads = reads
        self._lookups = lookups
        self._queries = queries

    async def answer(self, request: QueryRequest, cancelled: threading.Event | None = None) -> QueryResponse:
        """The answer to the analyst who asks.

        Args:
          cancelled: set by whoever does not want the answer any more.
        Raises: TooManyQueries when too many wait already; otherwise what the pipeline raises.
        """
        at_hand = self._pipeline.answer_at_hand(request) if self._reads.at_once else None
        if at_hand is not None:
            return at_hand
        kept = await self._lookups.call_for(request.analyst, self._pipeline.kept_answer, request)
        if kept is not None:
            return kept
        return await self._queries.call_for(request.analyst, self._pipeline.answer, request, cancelled)
