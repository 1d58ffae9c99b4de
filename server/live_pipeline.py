"""The pipeline under the policy in force; a reload puts another one in its place between two requests."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from planner.errors import PlannerError
from server.catalog import Catalog, catalog
from server.errors import ConfigurationInvalid, PolicyRejected, UnsafeRole
from server.ledger.analyst import Act
from server.pipeline import Pipeline
from server.proposals.accuracy import Accuracy, Proposal
from server.query import Budget, Explanation, QueryRequest, QueryResponse, StatementShape

Watch = Callable[[Pipeline], None]
"""Is told of the pipeline after a reload; what it raises is its own."""

Renew = Callable[[Pipeline, Act, str | None], tuple[Pipeline, tuple[str, ...]]]
"""Reads the policy anew: from the pipeline before, who asks and the confirmed hash to the next and what is weaker.
Raises where the policy before must stay."""


@dataclass(frozen=True)
class PolicyInForce:
    """What a reload has done.

    Attributes:
      name: of the dataset.
      hash: of the policy in force.
      changed: is it another one than before?
      weaker: in what it protects less than the one before.
    """

    name: str
    hash: str
    changed: bool
    weaker: tuple[str, ...] = ()


class LivePipeline:
    """Answers under the policy in force; every method may be called from any thread.

    A request keeps the policy under which it began; the next one has the new policy.
    """

    def __init__(self, pipeline: Pipeline, renew: Renew) -> None:
        self._current = pipeline
        self._renew = renew
        self._reloading = threading.Lock()
        self._watching: list[Watch] = []

    @property
    def current(self) -> Pipeline:
        """The pipeline that the next request gets."""
        return self._current

    def watch(self, watch: Watch) -> None:
        """Tell somebody of every reload from now on, one after the other and before the next."""
        self._watching.append(watch)

    def answer(self, request: QueryRequest, cancelled: threading.Event | None = None) -> QueryResponse:
        """Answer and charge; `cancelled` ends it early."""
        return self._current.answer(request, cancelled)

    def answer_at_hand(self, request: QueryRequest) -> QueryResponse | None:
        """The kept answer, if that takes a few reads of the ledger and no more."""
        return self._current.answer_at_hand(request)

    def kept_answer(self, request: QueryRequest) -> QueryResponse | None:
        """The answer that the analyst has paid for before, if there is one."""
        return self._current.kept_answer(request)

    def describe(self, sql: str) -> StatementShape:
        """Parameters and columns of a question."""
        return self._current.describe(sql)

    def policy_hash(self) -> str:
        """Of the policy in force."""
        return self._current.policy.hash

    def check_ready(self) -> None:
        """Whether a query could be answered now."""
        self._current.check_ready()

    def catalog(self) -> Catalog:
        """What may be asked."""
        return catalog(self._current.schema, self._current.policy)

    def explain(self, request: QueryRequest) -> Explanation:
        """What a query would do and cost."""
        return self._current.explain(request)

    def propose(self, request: QueryRequest, accuracy: Accuracy) -> Proposal:
        """Which epsilon an accuracy needs."""
        return self._current.propose(request, accuracy)

    def budget(self, analyst: str) -> Budget:
        """What the analyst was granted and what is left."""
        return self._current.budget(analyst)

    def reload(self, act: Act, confirmed: str | None = None) -> PolicyInForce:
        """Read the policy and the catalog anew.

        Args:
          act: who asks for it, and why.
          confirmed: the hash of a weaker policy that the custodian has confirmed.
        Raises: PolicyWeakened, PolicyRejected (it is invalid, or does not fit the database), BackendUnavailable and
          LedgerUnavailable; then nothing has changed.
        """
        with self._reloading:
            before = self._current
            try:
                self._current, weaker = self._renew(before, act, confirmed)
            except (PlannerError, ConfigurationInvalid, UnsafeRole) as error:
                raise PolicyRejected(
                    f"The policy before stays in force, since the new one cannot be: {error.message}", hint=error.hint
                ) from error
            for watch in self._watching:
                watch(self._current)
            policy = self._current.policy
            return PolicyInForce(policy.name, policy.hash, policy.hash != before.policy.hash, weaker)
