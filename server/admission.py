"""Where a request waits: on the event loop or in threads. Cached answers never wait for measurements."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ParamSpec, Protocol, TypeVar

from server.answers.work import Cached, Work
from server.ledger.balance import RemainingQuestions
from server.ledger.ledger import Ledger
from server.lru_cache import LruCache
from server.query import QueryRequest, QueryResponse
from server.reloadable_pipeline import ReloadablePipeline
from server.scheduling.thread_pool import ThreadPool

STRANGERS = 2
"""This many clients that are not authenticated yet are looked up at once."""

_WAITING_STRANGERS = 256
_MOST_KNOWN = 10_000

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class LedgerReads:
    """Short reads of the ledger: on the event loop for a local file, else in threads.

    A local read takes about 20 microseconds and never waits; handing it to a thread takes several times as long. A
    read over a network may wait, so it needs a thread.
    """

    def __init__(self, ledger: Ledger, at_once: bool, threads: ThreadPool) -> None:
        self._ledger = ledger
        self.at_once = at_once
        self._threads = threads
        self._strangers = ThreadPool(running=STRANGERS, waiting=_WAITING_STRANGERS)
        self._known: LruCache[str, bool] = LruCache(_MOST_KNOWN)

    async def remaining_questions(self, analyst: str) -> RemainingQuestions:
        """The accounts that pay and the remaining questions. It takes milliseconds, so it runs in a thread.

        Raises: UnknownAnalyst, TooManyQueries.
        """
        return await self._threads.call(self._ledger.remaining_questions, analyst)

    async def of_stranger(
        self, function: Callable[Parameters, Result], /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Result:
        """Read for a client that is not authenticated yet, in a lane of its own. Raises: as `call`."""
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
        """Authenticate a client.

        Known clients take the way of all reads. Unknown ones wait in their own lane, so that any number of guesses
        delays nobody with a key.

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
        """Read on the event loop or in a thread.

        Raises: TooManyQueries if too many wait for threads; otherwise what the function raises.
        """
        if self.at_once:
            return function(*args, **kwargs)
        return await self._threads.call(function, *args, **kwargs)


T = TypeVar("T")


class Answers(Protocol):
    """The two steps of a query; any thread may call each method."""

    def find_planned(self, request: QueryRequest) -> Work | None:
        """The work for a question with a remembered plan, in a few ledger reads; None if no plan is remembered."""
        ...

    def find(self, request: QueryRequest, cancelled: threading.Event | None = None) -> Work:
        """Plan a question and look for its answer in the cache. This takes milliseconds, or seconds."""
        ...

    def finish(self, found: Work, request: QueryRequest, cancelled: threading.Event | None = None) -> QueryResponse:
        """The answer: at once if it is cached, otherwise after a wait for workers. `cancelled` ends it early.

        Args:
          found: by this very pipeline, for this request.
        """
        ...


@dataclass(frozen=True)
class Admission:
    """Asks the pipeline in force, for every protocol.

    A dashboard must refresh within milliseconds while other questions are measured for minutes. So a question is
    looked up first: on the event loop if that takes a few local reads, else in threads for that purpose. Small cached
    answers are then shown on the event loop, large ones in those threads. Everything else waits for its turn.

    Attributes:
      in_force: gives the pipeline in force, once per request, so that a reload does not affect a running request.
      lookups: threads for cached answers and for planning.
      queries: threads that wait for workers.
    """

    in_force: Callable[[], Answers]
    reads: LedgerReads
    lookups: ThreadPool
    queries: ThreadPool

    async def answer(
        self,
        request: QueryRequest,
        cancelled: threading.Event | None = None,
        repeatable: Callable[[], None] = lambda: None,
    ) -> QueryResponse:
        """Answer a request.

        Args:
          cancelled: set when the client no longer wants the answer.
          repeatable: called if the answer is a small cached one, which no table of a database changes.
        Raises: TooManyQueries if too many wait already; otherwise what the pipeline raises.
        """
        pipeline = self.in_force()
        found = pipeline.find_planned(request) if self.reads.at_once else None
        if found is None:
            found = await self.lookups.call_for(request.analyst, pipeline.find, request, cancelled)
        if isinstance(found, Cached) and found.paid.small:
            repeatable()
            return pipeline.finish(found, request)
        threads = self.lookups if isinstance(found, Cached) else self.queries
        return await threads.call_for(request.analyst, pipeline.finish, found, request, cancelled)

    async def in_turn(self, analyst: str, work: Callable[..., T], *given: Any) -> T:
        """Run work that is no single question, such as a workload, in the queue of questions.

        Raises: as `answer`.
        """
        return await self.queries.call_for(analyst, work, *given)


class _Parts(Protocol):
    """The parts of a protocol that ask a pipeline; the others stay when it is replaced."""

    @property
    def pipeline(self) -> ReloadablePipeline:
        """The pipeline in force."""
        ...

    @property
    def admission(self) -> Admission:
        """The queue of questions."""
        ...


P = TypeVar("P", bound=_Parts)


async def on_practice(parts: P, analyst: str) -> P:
    """The same parts before the practice database, for one analyst. Raises: as `ReloadablePipeline.practice`."""
    pipeline = await parts.admission.queries.call_for(analyst, parts.pipeline.practice, analyst)
    ledger = pipeline.current.ledger
    reads = LedgerReads(ledger, ledger.local, parts.admission.lookups)
    admission = replace(parts.admission, in_force=lambda: pipeline.current, reads=reads)
    changed: dict[str, Any] = {"pipeline": pipeline, "admission": admission, "reads": reads}
    return replace(parts, **changed)  # type: ignore[type-var]  # both are dataclasses
