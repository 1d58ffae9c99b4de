"""What a workload needs of the way of a query: each question looked up and planned, all of them measured together."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Protocol

from planner.binding.bound_query import BoundQuery
from planner.plan import BackendQuery
from planner.policy.policy import Policy
from server.answers.kept_answers import KeptAnswers
from server.answers.served import Served
from server.backends.columns import Domain
from server.found import Found, ToMeasure
from server.ledger.ledger import Ledger
from server.postprocessing.composition import Composition
from server.proposals.accuracy import Accuracy, Proposal
from server.query import QueryRequest, QueryResponse
from server.question import Question


class Asking(Protocol):
    """The pipeline as a workload sees it."""

    @property
    def policy(self) -> Policy:
        """The one in force."""
        ...

    @property
    def ledger(self) -> Ledger:
        """Knows the budget and the analyst's answers."""
        ...

    @property
    def kept(self) -> KeptAnswers:
        """The answers that are served again."""
        ...

    def find(self, request: QueryRequest) -> Found:
        """Look a question up. Free, and no row is read."""
        ...

    def followed(self, found: Found, request: QueryRequest, cancelled: threading.Event | None = None) -> Found:
        """What was found; instead of a question to be measured what follows, free, and is as good."""
        ...

    def listed(self, found: Found, request: QueryRequest, cancelled: threading.Event | None = None) -> Found:
        """What was found; a question with an empty public list of groups shows nothing. Reads public tables."""
        ...

    def finish(self, found: Found, request: QueryRequest, cancelled: threading.Event | None = None) -> QueryResponse:
        """Answer what was looked up."""
        ...

    def propose(self, request: QueryRequest, accuracy: Accuracy) -> Proposal:
        """The smallest epsilon for an accuracy."""
        ...

    def bound(self, request: QueryRequest) -> BoundQuery:
        """A statement that is one question over private tables, bound."""
        ...

    def planned(self, bound: BoundQuery, request: QueryRequest, policy: Policy | None = None) -> Question:
        """The question that a bound one is, under the policy in force or one beside it."""
        ...

    def question(self, request: QueryRequest) -> Question:
        """Parse, bind and plan."""
        ...

    def groups(self, query: BackendQuery, analyst: str, cancelled: threading.Event | None = None) -> Domain:
        """The public groups of a query."""
        ...

    def parts_found(
        self, composition: Composition, request: QueryRequest, cancelled: threading.Event | None = None
    ) -> list[Found]:
        """What each part of a composed statement is; what surrounds them is tried over no rows."""
        ...

    def compute_from(
        self,
        composition: Composition,
        parts: Sequence[Found],
        served: Mapping[str, Served],
        request: QueryRequest,
        cancelled: threading.Event | None,
    ) -> QueryResponse:
        """The answer of a composed statement whose parts are released.

        Args:
          composition: what is asked.
          parts: by `parts_found`.
          served: by `released_together`.
          request: the whole statement's.
          cancelled: ends waits early.
        """
        ...

    def released_together(
        self, wanted: Sequence[ToMeasure], charged: list[str], cancelled: threading.Event | None
    ) -> dict[str, Served]:
        """Reserve all, then measure each: by answer key."""
        ...
