"""What the routes need of the proxy: its parts, its readiness, and the rate limit of keys."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from server.admission import Admission, LedgerReads, on_practice
from server.connections import Outgoing
from server.errors import RateLimited, ServerError
from server.http.metrics import Metrics
from server.ledger.ledger import Ledger
from server.reloadable_pipeline import ReloadablePipeline
from server.scheduling.fair_shares import FairShares
from server.scheduling.jobs import Jobs
from server.scheduling.thread_pool import ThreadPool

_REMEMBERED_S = 5.0


class Readiness:
    """Caches the result of a readiness check for a few seconds.

    Args:
      check: raises the reason why nothing can be answered.
    """

    def __init__(self, check: Callable[[], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._check = check
        self._clock = clock
        self._lock = threading.Lock()
        self._looked_up: float | None = None
        self._found: ServerError | None = None

    def raise_if_not(self) -> None:
        """Raises the reason why nothing can be answered; any thread may call it."""
        with self._lock:
            if self._looked_up is None or self._clock() - self._looked_up >= _REMEMBERED_S:
                try:
                    self._check()
                    self._found = None
                except ServerError as error:
                    self._found = error
                self._looked_up = self._clock()
        if self._found is not None:
            raise self._found.with_traceback(None)  # else each raise would lengthen it


@dataclass(frozen=True)
class Rate:
    """The limits of one key. They are generous: one client must not block all others.

    Attributes:
      per_second: requests in the long run.
      burst: requests at once after a pause, >= 1.
      open: concurrent requests, >= 1.
    """

    per_second: float = 300.0
    burst: float = 600.0
    open: int = 64


@dataclass
class _Key:
    tokens: float
    at: float


class KeyLimits:
    """The requests of each key's holder. Used on the event loop only; its size is the number of analysts."""

    def __init__(self, rate: Rate = Rate(), clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._clock = clock
        self._keys: dict[str, _Key] = {}
        self._open = FairShares(rate.open)

    def enter(self, holder: str) -> Callable[[], None]:
        """Count one request.

        Returns: what to call at its end.
        Raises: RateLimited, with the seconds to wait; nothing was charged.
        """
        now = self._clock()
        key = self._keys.setdefault(holder, _Key(self._rate.burst, now))
        key.tokens = min(self._rate.burst, key.tokens + (now - key.at) * self._rate.per_second)
        key.at = now
        if self._open.refusal(holder) is not None:
            raise RateLimited(f"{self._open.held(holder)} requests with your key are running already", 1)
        if key.tokens < 1:
            wait_s = math.ceil((1 - key.tokens) / self._rate.per_second)
            raise RateLimited(f"a key may send {self._rate.per_second:g} requests a second", wait_s)
        key.tokens -= 1
        self._open.take(holder)
        return partial(self._open.give_back, holder)


@dataclass(frozen=True)
class Services:
    """The parts of the proxy.

    Attributes:
      lookups: threads for work of milliseconds.
      explanations: threads for explaining and describing, which may read public groups.
      outgoing: memory for long answers that are being read.
      jobs: questions that outlast their requests.
      readiness_checks: one thread, since anybody may ask and an unreachable database takes seconds.
      audits: one thread for administrators' long work: verifying the ledger, reloading the policy.
    """

    pipeline: ReloadablePipeline
    ledger: Ledger
    admission: Admission
    reads: LedgerReads
    lookups: ThreadPool
    explanations: ThreadPool
    audits: ThreadPool
    readiness_checks: ThreadPool
    outgoing: Outgoing
    jobs: Jobs
    metrics: Metrics
    readiness: Readiness
    key_limits: KeyLimits

    async def asked(self, analyst: str, *, practice: bool) -> Services:
        """The parts that answer: these, or those of the practice database. Raises: as `on_practice`."""
        if not practice:
            return self
        found = await on_practice(self, analyst)
        return replace(found, ledger=found.pipeline.current.ledger)
