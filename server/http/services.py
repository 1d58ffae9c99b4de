"""What the routes need of the rest of the proxy, and the threads in which they may wait for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ParamSpec, Protocol, TypeVar

from anyio import CapacityLimiter, to_thread

from server.errors import TooManyQueries
from server.ledger.analyst import Act, Analyst
from server.ledger.ledger import Administration, Records
from server.live_pipeline import PolicyInForce
from server.proposals.accuracy import Accuracy, Proposal
from server.query import Budget, Explanation, QueryRequest, QueryResponse

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Pipeline(Protocol):
    """Answers questions; each method blocks and may be called from any thread."""

    def answer(self, request: QueryRequest) -> QueryResponse:
        """Answer and charge."""
        ...

    def explain(self, request: QueryRequest) -> Explanation:
        """What a query would do and cost; reads nothing, charges nothing."""
        ...

    def propose(self, request: QueryRequest, accuracy: Accuracy) -> Proposal:
        """Which epsilon an accuracy needs; reads nothing private, charges nothing."""
        ...

    def budget(self, analyst: str) -> Budget:
        """What the analyst was granted and what is left."""
        ...

    def reload(self, act: Act, confirmed: str | None = None) -> PolicyInForce:
        """Read the policy anew."""
        ...


class Keys(Protocol):
    """The part of the ledger that authentication needs."""

    def analyst_by_key(self, key_hash: str) -> str | None:
        """The name of the enabled analyst who holds the key, or None."""
        ...

    def analyst(self, name: str) -> Analyst:
        """The analyst, with the role."""
        ...


class Custody(Administration, Records, Protocol):
    """The part of the ledger that custodians see and change."""


class Threads:
    """A few threads of their own for one kind of blocking call, and a bounded queue before them.

    Args:
      running: how many calls run at once.
      waiting: how many more may wait; one above is refused.
    """

    def __init__(self, running: int, waiting: int) -> None:
        self._limiter = CapacityLimiter(running)
        self._room = running + waiting

    async def call(
        self, function: Callable[Parameters, Result], /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Result:
        """Run a blocking function without holding up the event loop.

        Raises: TooManyQueries when the queue is full; otherwise what the function raises.
        """
        if not self._room:
            raise TooManyQueries(
                "Too many requests are waiting already.", hint="Try again later; nothing was charged."
            )
        self._room -= 1  # all on the event loop, so nothing comes between the test and this
        try:
            return await to_thread.run_sync(lambda: function(*args, **kwargs), limiter=self._limiter)
        finally:
            self._room += 1


@dataclass(frozen=True)
class Services:
    """What `create_app` was given.

    Attributes:
      pipeline: answers.
      ledger: knows analysts by their keys, and what custodians see and change.
      queries: threads that wait for answers.
      lookups: threads for what takes milliseconds (keys, budgets), which never queue behind anything else.
      explanations: threads for explaining, which may ask the database for the public groups.
      audits: one thread for what custodians wait for: a walk over the ledger, a reload of the policy.
    """

    pipeline: Pipeline
    ledger: Custody
    queries: Threads
    lookups: Threads
    explanations: Threads
    audits: Threads
