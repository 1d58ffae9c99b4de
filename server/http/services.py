"""What the routes need of the rest of the proxy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from server.query import Budget, Explanation, QueryRequest, QueryResponse
from server.threads import Threads


class Pipeline(Protocol):
    """Answers questions; each method blocks and may be called from any thread."""

    def answer(self, request: QueryRequest) -> QueryResponse:
        """Answer and charge."""
        ...

    def explain(self, request: QueryRequest) -> Explanation:
        """What a query would do and cost; reads nothing, charges nothing."""
        ...

    def budget(self, analyst: str) -> Budget:
        """What the analyst was granted and what is left."""
        ...


class Keys(Protocol):
    """The part of the ledger that authentication needs."""

    def analyst_by_key(self, key_hash: str) -> str | None:
        """The analyst who holds the key, or None."""
        ...


@dataclass(frozen=True)
class Services:
    """What `create_app` was given.

    Attributes:
      pipeline: answers.
      keys: knows analysts by their keys.
      queries: threads that wait for answers.
      lookups: threads for what takes milliseconds (keys, budgets), which never queue behind anything else.
      explanations: threads for explaining, which may ask the database for the public groups.
    """

    pipeline: Pipeline
    keys: Keys
    queries: Threads
    lookups: Threads
    explanations: Threads
