"""Jobs: questions that run longer than their client waits, with an id, a state and a result."""

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
"""Jobs of all analysts, with results that wait to be fetched. An analyst without a job always gets one."""

_MOST_OF_ONE = 16

_MOST_BYTES = 64 << 20
"""Bytes of all results that wait to be fetched. The newest result is kept even if it is larger."""


@dataclass(frozen=True)
class Job:
    """A running or finished question.

    Attributes:
      id: unguessable.
      analyst: who may see it.
      begun: seconds by the monotonic clock.
      task: yields the answer or the error.
    """

    id: str
    analyst: str
    begun: float
    task: asyncio.Task[QueryResponse]
    cancelled: threading.Event = field(repr=False)

    @property
    def n_bytes(self) -> int:
        """The size of its result; 0 without one."""
        if not self.task.done() or self.task.cancelled() or self.task.exception() is not None:
            return 0
        return self.task.result().n_bytes

    @property
    def state(self) -> JobState:
        """Its progress; an error is a result."""
        if self.task.done():
            return "done"
        return "cancelling" if self.cancelled.is_set() else "running"


class Jobs:
    """The jobs of one server, in memory. The ledger caches their answers, so a lost job costs nothing to repeat.

    Used on the event loop only.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._jobs: dict[str, Job] = {}
        self._shares = FairShares(_MOST_OF_ONE, _MOST, newcomers=math.inf)
        self._closed = False

    def start(self, analyst: str, work: Callable[[threading.Event], Awaitable[QueryResponse]]) -> Job:
        """Start a job.

        Raises: TooManyOwnQueries or TooManyQueries if there are too many jobs, or the server stops; nothing was
          charged.
        """
        if self._closed:
            raise TooManyQueries("the proxy is stopping", hint="ask again later; nothing was charged")
        self._forget_old()
        refusal = self._shares.refusal(analyst)
        if refusal is Refusal.OWN:
            hint = "fetch or cancel some; nothing was charged"
            raise TooManyOwnQueries("too many of your questions are running or have unfetched results", hint=hint)
        if refusal is Refusal.ALL:
            hint = "fetch or cancel your own, or ask again later; nothing was charged"
            raise TooManyQueries("too many questions are running or have unfetched results", hint=hint)
        cancelled = Cancellation()

        async def answer() -> QueryResponse:
            return await work(cancelled)

        job = Job(secrets.token_urlsafe(16), analyst, self._clock(), asyncio.ensure_future(answer()), cancelled)
        job.task.add_done_callback(_retrieve_exception)
        job.task.add_done_callback(lambda _: self._forget_heavy())
        self._jobs[job.id] = job
        self._shares.take(analyst)
        return job

    async def wait(self, job: Job, seconds: float) -> bool:
        """Wait some seconds for a job, and return whether it is done."""
        await asyncio.wait((job.task,), timeout=seconds)
        return job.task.done()

    def get(self, analyst: str, job_id: str) -> Job:
        """The analyst's job with this id. Raises: UnknownJob, also for jobs of others."""
        self._forget_old()
        job = self._jobs.get(job_id)
        if job is None or job.analyst != analyst:
            raise UnknownJob(
                "There is no such job.", hint="Results are available for ten minutes; asking again is free."
            )
        return job

    async def close(self, grace_s: float = 5.0) -> None:
        """Accept no new job; wait for the running ones, cancel them, and wait again, `grace_s` seconds each."""
        self._closed = True
        running = [job for job in self._jobs.values() if not job.task.done()]
        for wait_s in (grace_s, grace_s) if running else ():
            await asyncio.wait([job.task for job in running], timeout=wait_s)
            for job in running:
                job.cancelled.set()

    def take(self, job: Job) -> QueryResponse:
        """The result of a finished job, which is then forgotten. Raises: what the question raised."""
        self._forget(job)
        return job.task.result()

    def elapsed_s(self, job: Job) -> float:
        """Seconds since its start."""
        return self._clock() - job.begun

    def _forget_heavy(self) -> None:
        """Forget results beyond the limit of bytes, except the newest.

        The analyst with the most bytes loses the oldest result, so no analyst's requests remove the results of
        others.
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
        limit = self._clock() - _KEPT_S
        for job in [job for job in self._jobs.values() if job.begun <= limit and job.task.done()]:
            self._forget(job)

    def _forget(self, job: Job) -> None:
        if self._jobs.pop(job.id, None) is not None:
            self._shares.give_back(job.analyst)


def _retrieve_exception(task: asyncio.Task[QueryResponse]) -> None:
    """Retrieve the task's exception, so that asyncio does not print one that nobody fetched."""
    if not task.cancelled():
        task.exception()
