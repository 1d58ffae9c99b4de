"""What the routes need of the rest of the proxy: its parts, its readiness, and how often one key may ask."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from server.admission import Admission, LedgerReads
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
    """Remembers what the last look-up found.

    Args:
      check: raises what stands in the way.
    """

    def __init__(self, check: Callable[[], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._check = check
        self._clock = clock
        self._lock = threading.Lock()
        self._looked_up: float | None = None
        self._found: ServerError | None = None

    def raise_if_not(self) -> None:
        """Raises what stands in the way of answers; any thread may call it."""
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
    """What one key may do. Generous: it keeps one client from taking the server from all others, no more.

    Attributes:
      per_second: requests, in the long run.
      burst: requests at once after a pause, >= 1.
      open: requests that are being answered at the same time, >= 1.
    """

    per_second: float = 300.0
    burst: float = 600.0
    open: int = 64


@dataclass
class _Key:
    tokens: float
    at: float


class KeyLimits:
    """The requests of each key's holder. Used on the event loop only; as large as the number of analysts."""

    def __init__(self, rate: Rate = Rate(), clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._clock = clock
        self._keys: dict[str, _Key] = {}
        self._open = FairShares(rate.open)

    def enter(self, holder: str) -> Callable[[], None]:
        """Count one request.

        Returns: what to call once it is answered.
        Raises: RateLimited, with the seconds until the next one fits; nothing was charged.
        """
        now = self._clock()
        key = self._keys.setdefault(holder, _Key(self._rate.burst, now))
        key.tokens = min(self._rate.burst, key.tokens + (now - key.at) * self._rate.per_second)
        key.at = now
        if self._open.refusal(holder) is not None:
            raise RateLimited(f"{self._open.held(holder)} requests with your key are being answered already", 1)
        if key.tokens < 1:
            wait_s = math.ceil((1 - key.tokens) / self._rate.per_second)
            raise RateLimited(f"with one key, {self._rate.per_second:g} requests a second are answered", wait_s)
        key.tokens -= 1
        self._open.take(holder)
        return partial(self._open.give_back, holder)


@dataclass(frozen=True)
class Services:
    """What `create_app` was given.

    Attributes:
      lookups: threads for what takes milliseconds, which never queue behind anything else.
      explanations: threads for explaining and describing, which may ask the database for the public groups.
      outgoing: room for long answers that are being read.
      jobs: questions that go on while their clients do something else.
      readiness_checks: one thread: anybody may ask for them, and a database that is away makes each take seconds.
      audits: one thread for what custodians wait for: a walk over the ledger, a reload of the policy.
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
