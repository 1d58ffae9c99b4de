"""How often an analyst's queries may fail after private rows could have been read.

Whether a query fails is an output that no epsilon covers (privacy.md section 7): all failures look the same, are
charged, and are few; and a query that has failed once is not asked again, whatever the rows have become.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from server.errors import TooManyFailures, TooManyOwnQueries

MAX_FAILURES = 20
WINDOW_S = 24 * 3600.0


@dataclass(frozen=True)
class _Failure:
    when: float
    plan_hash: str


@dataclass
class _Account:
    """An analyst's recent failures, oldest first, and the queries under way, each of which may become one."""

    failures: deque[_Failure] = field(default_factory=deque)
    under_way: int = 0


class Attempt:
    """A query under way, which holds the place of one failure until it ends."""

    def __init__(self) -> None:
        self.has_failed = False

    def fail(self) -> None:
        """It failed after its charge: the place stays taken for a day."""
        self.has_failed = True


class FailureLimit:
    """Counts failures per analyst over a sliding window, in memory: a restart forgets them.

    Any thread may use it. An analyst takes the memory of MAX_FAILURES failures, and none without failures and
    queries under way.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._accounts: dict[str, _Account] = {}

    @contextmanager
    def attempt(self, analyst: str, plan_hash: str) -> Iterator[Attempt]:
        """Hold the place of one failure while a query runs, and give it back unless `Attempt.fail` was called.

        Raises: TooManyFailures when MAX_FAILURES queries failed within a day, or this one did; TooManyOwnQueries when
          as many are under way as may still fail. Nothing is charged before.
        """
        attempt = Attempt()
        with self._lock:
            account = self._recent(analyst)
            self._refuse(account, plan_hash)
            account.under_way += 1
            self._accounts[analyst] = account
        try:
            yield attempt
        finally:
            with self._lock:
                account.under_way -= 1
                if attempt.has_failed:
                    account.failures.append(_Failure(self._clock(), plan_hash))
                self._recent(analyst)

    def _recent(self, analyst: str) -> _Account:
        """The analyst's account without what is older than a day; an empty one is not kept."""
        account = self._accounts.get(analyst, _Account())
        while account.failures and account.failures[0].when <= self._clock() - WINDOW_S:
            account.failures.popleft()
        if not account.failures and not account.under_way:
            self._accounts.pop(analyst, None)
        return account

    @staticmethod
    def _refuse(account: _Account, plan_hash: str) -> None:
        hint = "nothing was charged; ask the custodian, whose log says why"
        if len(account.failures) >= MAX_FAILURES:
            raise TooManyFailures(f"{MAX_FAILURES} of your queries failed within a day", hint=hint)
        if any(failure.plan_hash == plan_hash for failure in account.failures):
            raise TooManyFailures("this query failed already within a day", hint=hint)
        if len(account.failures) + account.under_way >= MAX_FAILURES:
            hint = "nothing was charged; wait for one of them to end"
            raise TooManyOwnQueries(f"{account.under_way} of your queries are under way", hint=hint)
