"""Questions that take longer than their client wants to wait: a name for each, its progress, its result."""

from __future__ import annotations

import asyncio
import math
import secrets
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal

from server.errors import TooManyOwnQueries, TooManyQueries, UnknownJob
from server.query import QueryResponse
from server.scheduling.fair_shares import FairShares, Refusal
from server.scheduling.hold_answer import Cancellation

JobState = Literal["running", "cancelling", "done"]

_KEPT_S = 600.0
_MOST = 256
"""Jobs of all analysts together, those included whose result waits to be fetched; whoever has none gets one more."""

_MOST_OF_ONE = 16

_MOST_BYTES = 64 << 20
"""Of the results that wait to be fetched, the newest apart where it is all that its analyst has."""


@dataclass(frozen=True)
class Job:
    """A question under way, or answered a while ago.

    Attributes:
      id: unguessable.
      analyst: whose it is; nobody else sees it.
      begun: when, by a monotonic clock, in seconds.
      task: what will be the answer, or the error.
    """

    id: str
    analyst: str
    begun: float
    task: asyncio.Task[QueryResponse]
    cancelled: threading.Event = field(repr=False)

    @property
    def n_bytes(self) -> int:
        """What its result takes; 0 where there is none."""
        if not self.task.done() or self.task.cancelled() or self.task.exception() is not None:
            return 0
        return self.task.result().n_bytes

    @property
    def state(self) -> JobState:
        """How far it is; a failure is a result, too."""
        if self.task.done():
            return "done"
        return "cancelling" if self.cancelled.is_set() else "running"


class Jobs:
    """The jobs of one server, in memory: an answer that is lost with it is kept in the ledger, and free again.

    Used on the event loop only.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._jobs: dict[str, Job] = {}
        self._shares = FairShares(_MOST_OF_ONE, _MOST, newcomers=math.inf)
        self._closed = False

    def start(self, analyst: str, work: Callable[[threading.Event], Awaitable[QueryResponse]]) -> Job:
        """Begin a job.

        Raises: TooManyOwnQueries, TooManyQueries when too many are kept, or the server stops; nothing was charged.
        """
        if self._closed:
            raise TooManyQueries("the proxy is stopping", hint="ask again later; nothing was charged")
        self._forget_old()
        refusal = self._shares.refusal(analyst)
        if refusal is Refusal.OWN:
            hint = "fetch or cancel some; nothing was charged"
            raise TooManyOwnQueries("too many of your questions are under way or wait to be fetched", hint=hint)
        if refusal is Refusal.ALL:
            hint = "fetch or cancel your own, or ask again later; nothing was charged"
            raise TooManyQueries("too many questions are under way or wait to be fetched", hint=hint)
        cancelled = Cancellation()

        async def answer() -> QueryResponse:
            return await work(cancelled)

        job = Job(secrets.token_urlsafe(16), analyst, self._clock(), asyncio.ensure_future(answer()), cancelled)
        job.task.add_done_callback(_noticed)
        job.task.add_done_callback(lambda _: self._forget_heavy())
        self._jobs[job.id] = job
        self._shares.take(analyst)
        return job

    async def wait(self, job: Job, seconds: float) -> bool:
        """Whether it is done within so many seconds; it goes on in any case."""
        await asyncio.wait((job.task,), timeout=seconds)
        return job.task.done()

    def get(self, analyst: str, job_id: str) -> Job:
        """A job of the analyst. Raises: UnknownJob, for other people's as well."""
        self._forget_old()
        job = self._jobs.get(job_id)
        if job is None or job.analyst != analyst:
            raise UnknownJob("There is no such job.", hint="Its result was kept for ten minutes; ask again, free.")
        return job

    async def close(self, grace_s: float = 5.0) -> None:
        """Let what is under way end, then cancel it; from now on nothing begins. Its charges are settled either way.

        Each of the two takes `grace_s` seconds at most.
        """
        self._closed = True
        running = [job for job in self._jobs.values() if not job.task.done()]
        for wait_s in (grace_s, grace_s) if running else ():
            await asyncio.wait([job.task for job in running], timeout=wait_s)
            for job in running:
                job.cancelled.set()

    def take(self, job: Job) -> QueryResponse:
        """The result of a job that is done, which is then forgotten. Raises: what the question raised."""
        self._forget(job)
        return job.task.result()

    def elapsed_s(self, job: Job) -> float:
        """Seconds since it began."""
        return self._clock() - job.begun

    def _forget_heavy(self) -> None:
        """Results that together are too many bytes, but for the newest; asking again is free.

        Whoever holds most bytes loses the oldest one, so that nobody's results go for those of one who asks for many.
        """
        done = sorted((job for job in self._jobs.values() if job.n_bytes), key=lambda job: job.begun)
        held = Counter[str]()
        for job in done:
            held[job.analyst] += job.n_bytes
        while held.total() > _MOST_BYTES:
            (heaviest, _), *_ = held.most_common(1)
            oldest = next(job for job in done if job.analyst == heaviest)
            if oldest is done[-1]:
                return
            done.remove(oldest)
            held[heaviest] -= oldest.n_bytes
            self._forget(oldest)

    def _forget_old(self) -> None:
        """Results that nobody fetched."""
        limit = self._clock() - _KEPT_S
        for job in [job for job in self._jobs.values() if job.begun <= limit and job.task.done()]:
            self._forget(job)

    def _forget(self, job: Job) -> None:
        """A second time does nothing."""
        if self._jobs.pop(job.id, None) is not None:
            self._shares.give_back(job.analyst)


def _noticed(task: asyncio.Task[QueryResponse]) -> None:
    """Whoever fetches the result gets the error; that nobody may is no reason to print it."""
    if not task.cancelled():
        task.exception()
