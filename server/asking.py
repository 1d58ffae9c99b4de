"""Where a question waits for its answer: nowhere if it is kept, else in a thread of a bounded pool."""

from __future__ import annotations

import threading
from typing import Protocol

from server.ledger_reads import LedgerReads
from server.query import QueryRequest, QueryResponse
from server.threads import Threads


class Answers(Protocol):
    """The part of the pipeline that answers."""

    def kept_answer(self, request: QueryRequest) -> QueryResponse | None:
        """The answer if it takes no more than a few reads of the ledger."""
        ...

    def answer(self, request: QueryRequest, cancelled: threading.Event | None = None) -> QueryResponse:
        """Answer and charge; blocks."""
        ...


class Asking:
    """Questions of every protocol, on their way into the pipeline.

    Args:
      pipeline: answers.
      queries: threads that wait for answers.
      reads: whether the ledger can be read on the event loop.
    """

    def __init__(self, pipeline: Answers, queries: Threads, reads: LedgerReads) -> None:
        self._pipeline = pipeline
        self._queries = queries
        self._reads = reads

    async def answer(self, request: QueryRequest, cancelled: threading.Event | None = None) -> QueryResponse:
        """Answer and charge.

        Args:
          cancelled: set by whoever does not want the answer any more.
        Raises: TooManyQueries when too many wait already; otherwise what the pipeline raises.
        """
        kept = self._pipeline.kept_answer(request) if self._reads.at_once else None
        if kept is not None:
            return kept
        return await self._queries.call_for(request.analyst, self._pipeline.answer, request, cancelled)
