"""Reads of public tables, and plans of long statements, in workers of their own.

They are free, so time, memory, number and failures are limited. Other private questions never wait for them. One
analyst gets all of these workers except one. So with two workers no analyst waits for another, and each occupies at
most one database process.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import methodcaller
from typing import TYPE_CHECKING, Any, TypeVar

from planner.errors import StatementTooComplex
from planner.plan import BackendQuery
from planner.postprocessing.write_outer import OuterStatement
from planner.public.relation import PublicStatement
from server.backends.backend import Backend
from server.backends.columns import Domain, group_domain
from server.backends.public_rows import Computed, Rows
from server.errors import (
    BackendConnectionLost,
    BackendFailed,
    BackendUnavailable,
    CancelledByClient,
    CancelledEarly,
    ComputationFailed,
    PublicQueryFailed,
    QueryCancelled,
    TooManyFailures,
    WorkerFailed,
)

if TYPE_CHECKING:  # workers import this module, and need no log
    from server.workers.pool import WorkerLimits, WorkerPool

T = TypeVar("T")

MAX_UNANSWERED = 20
WINDOW_S = 3600.0


class UnansweredLimit:
    """Counts an analyst's unanswered reads over a sliding window, in memory. It holds nothing private.

    Thread-safe. Remembers at most MAX_UNANSWERED times per analyst.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._times: dict[str, deque[float]] = {}

    def check(self, analyst: str) -> None:
        """Refuse after MAX_UNANSWERED unanswered reads within an hour. Raises: TooManyFailures."""
        with self._lock:
            counted = self._within_window(analyst)
            if len(counted) < MAX_UNANSWERED:
                return
            minutes = math.ceil((counted[-MAX_UNANSWERED] + WINDOW_S - self._clock()) / 60)
        hint = f"ask again in {minutes} min, with simpler queries; private tables are not affected"
        raise TooManyFailures(f"{MAX_UNANSWERED} of your queries over public tables failed within an hour", hint=hint)

    def count(self, analyst: str) -> None:
        """Count an unanswered read."""
        with self._lock:
            self._within_window(analyst)
            self._times.setdefault(analyst, deque(maxlen=MAX_UNANSWERED)).append(self._clock())

    def _within_window(self, analyst: str) -> deque[float]:
        """The times within the last hour, oldest first; forgets an empty list."""
        times = self._times.get(analyst, deque())
        while times and times[0] <= self._clock() - WINDOW_S:
            times.popleft()
        if not times:
            self._times.pop(analyst, None)
        return times


_ATTEMPTS = 2  # a lost connection is retried once
_LIMIT_S = 30.0
"""The time limit of one attempt, in addition to the database's own limit."""

_WAIT_S = 45.0
_MEMORY_BYTES = 4 << 30
_SHORT_S = 1.0
"""Shorter unanswered reads have delayed nobody, and do not count."""

_QUESTION_ERRORS = (BackendFailed, CancelledByClient, ComputationFailed, QueryCancelled, StatementTooComplex)
"""Errors due to the question, not to an unavailable database."""


def public_limits(limits: WorkerLimits) -> WorkerLimits:
    """The limits of workers for public tables."""
    return replace(
        limits,
        workers=limits.public_workers,
        call_s=min(limits.call_s, _LIMIT_S),
        wait_s=min(limits.wait_s, _WAIT_S),
        memory_bytes=min(limits.memory_bytes, _MEMORY_BYTES),
    )


def _no_statement(statement: str) -> Sequence[tuple[object, ...]]:
    raise AssertionError("the policy declares these groups")


class PublicReads:
    """Reads public tables for an analyst, free. Thread-safe."""

    def __init__(self, workers: WorkerPool) -> None:
        self._workers = workers
        self._unanswered = UnansweredLimit()

    def rows(
        self, backend: Backend, statement: PublicStatement, analyst: str, cancelled: threading.Event | None = None
    ) -> Rows:
        """Run a statement over public tables. Raises: as `domain`; StatementTooComplex, ComputationFailed."""
        found: Rows = self._read(methodcaller("public", statement), backend, analyst, cancelled)
        return found

    def computed(
        self,
        backend: Backend,
        statement: OuterStatement,
        analyst: str,
        cancelled: threading.Event | None = None,
        *,
        rows: bool = True,
    ) -> Computed:
        """Run the outer part of a composed statement, or describe its columns. Raises: as `rows`; UnsupportedSQL."""
        found: Computed = self._read(methodcaller("compute", statement, rows=rows), backend, analyst, cancelled)
        return found

    def planned(
        self, plan: Callable[[Backend], T], backend: Backend, analyst: str, cancelled: threading.Event | None = None
    ) -> T:
        """Plan a long statement, which occupies a processor. It reads nothing, so it counts as no failure.

        Raises: PlannerError; StatementTooComplex over the limits; CancelledEarly; TooManyQueries.
        """
        try:
            return self._workers.call(plan, backend, cancelled=cancelled, owner=analyst, limit_s=_LIMIT_S)
        except CancelledByClient as error:
            raise CancelledEarly("the query was cancelled", hint="it was free") from error
        except (QueryCancelled, WorkerFailed) as error:
            hint = "shorten it; nothing was charged"
            raise StatementTooComplex("the statement takes too much time or memory to plan", hint=hint) from error

    def domain(
        self, backend: Backend, query: BackendQuery, analyst: str, cancelled: threading.Event | None = None
    ) -> Domain:
        """The public groups of a private question.

        Raises: PublicQueryFailed over a limit; CancelledEarly; BackendUnavailable if the connection was lost twice;
          TooManyFailures; TooManyQueries, StatementTooComplex, SchemaChanged, BackendFailed.
        """
        if not any(query.domains):
            return group_domain(query, _no_statement)
        found: Domain = self._read(methodcaller("domain", query), backend, analyst, cancelled)
        return found

    def _read(
        self, ask: Callable[[Backend], Any], backend: Backend, analyst: str, cancelled: threading.Event | None
    ) -> Any:
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return self._counted(ask, backend, analyst, cancelled)
            except CancelledByClient as error:
                raise CancelledEarly("the query was cancelled", hint="it was free") from error
            except QueryCancelled as error:
                hint = "add conditions or LIMIT, or join fewer tables; nothing was charged"
                raise PublicQueryFailed("the query exceeded its time or memory limit", hint=hint) from error
            except BackendConnectionLost as error:
                if attempt == _ATTEMPTS:
                    hint = "try again; nothing was charged"
                    raise BackendUnavailable("the connection to the database was lost", hint=hint) from error
        raise AssertionError("the last attempt returns or raises")

    def _counted(
        self, ask: Callable[[Backend], Any], backend: Backend, analyst: str, cancelled: threading.Event | None
    ) -> Any:
        """Make one attempt, and count it if unanswered; only the worker's time counts, not the wait."""
        begun: list[float] = []

        def begin() -> None:
            self._unanswered.check(analyst)  # again, because earlier questions may have failed meanwhile
            begun.append(time.monotonic())

        self._unanswered.check(analyst)
        try:
            return self._workers.call(ask, backend, cancelled=cancelled, owner=analyst, limit_s=_LIMIT_S, begin=begin)
        except _QUESTION_ERRORS as error:
            if isinstance(error, QueryCancelled) or time.monotonic() - begun[0] >= _SHORT_S:
                self._unanswered.count(analyst)
            raise
