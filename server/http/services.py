"""What the routes need of the rest of the proxy: its parts, its readiness, and how often one key may ask.

Whether queries can be answered, looked up every few seconds at most, however often it is asked.

How often, and how many times at once, one key may ask: a token bucket per key, and a count of what is open.

What the routes need of the rest of the proxy.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from server.admission import Admission, Answers, LedgerReads
from server.connections import Outgoing
from server.errors import RateLimited, ServerError
from server.explain.catalog import Catalog
from server.http.metrics import Metrics
from server.ledger.analyst import Act, Analyst
from server.ledger.charge import ChargeRecord
from server.ledger.ledger import Ledger
from server.ledger.question_texts import AskedText
from server.policy.accepted_policy import PolicyChanges
from server.proposals.accuracy import Accuracy, Proposal
from server.query import Explanation, QueryRequest
from server.reloadable_pipeline import PolicyInForce
from server.scheduling.fair_shares import FairShares
from server.scheduling.jobs import Jobs
from server.scheduling.thread_pool import ThreadPool
from server.workload.workload import WorkloadExplanation, WorkloadRequest, WorkloadResponse

_REMEMBERED_S = 5.0


class Readiness:
    """Remembers what the last look-up found.

    Args:
      check: raises what stands in the way.
      clock: seconds.
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
                self._found = self._look()
                self._looked_up = self._clock()
        if self._found is not None:
            raise self._found.with_traceback(None)  # else each raise would lengthen it

    def _look(self) -> ServerError | None:
        try:
            self._check()
        except ServerError as error:
            return error
        return None


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
    """The requests of each key's holder. Used on the event loop only; as large as the number of analysts.

    Args:
      clock: seconds.
    """

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


class Pipeline(Answers, Protocol):
    """Answers questions under one policy; each method blocks and may be called from any thread."""

    @property
    def keeps_questions(self) -> bool:
        """Does the ledger keep the words of questions?"""
        ...

    @property
    def policy_hash(self) -> str:
        """The hash of the policy in force, as charges and entries carry it."""
        ...

    @property
    def delta_of_analyst(self) -> float:
        """What the policy gives a new analyst where no delta is named."""
        ...

    def explain(self, request: QueryRequest) -> Explanation:
        """What a query would do and cost; reads nothing, charges nothing."""
        ...

    def check_ready(self) -> None:
        """Raises BackendUnavailable or LedgerUnavailable where a query could not be answered."""
        ...

    def catalog(self) -> Catalog:
        """What may be asked."""
        ...

    def words(self, record: ChargeRecord) -> AskedText | None:
        """What was asked under a charge, where it was kept and can be opened."""
        ...

    def workers_alive(self) -> int:
        """How many worker processes are there for questions about private rows."""
        ...

    def propose(self, request: QueryRequest, accuracy: Accuracy) -> Proposal:
        """Which epsilon an accuracy needs; reads nothing private, charges nothing."""
        ...

    def workload(self, request: WorkloadRequest, cancelled: threading.Event | None = None) -> WorkloadResponse:
        """Answer many questions under one reservation."""
        ...

    def explain_workload(self, request: WorkloadRequest) -> WorkloadExplanation:
        """What a workload would measure and cost; reads nothing private, charges nothing."""
        ...


class Reloadable(Protocol):
    """The pipeline under the policy in force, which a reload replaces."""

    @property
    def current(self) -> Pipeline:
        """The pipeline that the next request gets, to be taken once per request."""
        ...

    def reload(self, act: Act, confirmed: str | None = None) -> PolicyInForce:
        """Read the policy anew."""
        ...

    def changes(self) -> PolicyChanges:
        """What changed in the policy's text."""
        ...


class Keys(Protocol):
    """The part of the ledger that authentication needs."""

    def analyst_by_key(self, key_hash: str) -> str | None:
        """The name of the enabled analyst who holds the key, or None."""
        ...

    def is_disabled(self, key_hash: str) -> bool:
        """Whether the key is that of a disabled analyst."""
        ...

    def analyst(self, name: str) -> Analyst:
        """The analyst, with the role."""
        ...


@dataclass(frozen=True)
class Services:
    """What `create_app` was given.

    Attributes:
      pipeline: hands out what answers.
      ledger: knows analysts by their keys, and what custodians see and change.
      admission: where questions wait.
      reads: of keys and budgets.
      lookups: threads for what takes milliseconds, which never queue behind anything else.
      explanations: threads for explaining and describing, which may ask the database for the public groups.
      outgoing: room for long answers that are being read.
      jobs: questions that go on while their clients do something else.
      metrics: what was asked, counted.
      readiness: whether queries can be answered.
      key_limits: how often one key may ask.
      readiness_checks: one thread: anybody may ask for them, and a database that is away makes each take seconds.
      audits: one thread for what custodians wait for: a walk over the ledger, a reload of the policy.
    """

    pipeline: Reloadable
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
