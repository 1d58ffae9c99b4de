"""What the routes need of the rest of the proxy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from server.asking import Answers, Asking
from server.catalog import Catalog
from server.http.key_limits import KeyLimits
from server.http.metrics import Metrics
from server.http.readiness import Readiness
from server.jobs import Jobs
from server.ledger.analyst import Act, Analyst
from server.ledger.ledger import Administration, Records
from server.ledger_reads import LedgerReads
from server.live_pipeline import PolicyInForce
from server.proposals.accuracy import Accuracy, Proposal
from server.query import Budget, Explanation, QueryRequest
from server.threads import Threads


class Pipeline(Answers, Protocol):
    """Answers questions; each method blocks and may be called from any thread."""

    def explain(self, request: QueryRequest) -> Explanation:
        """What a query would do and cost; reads nothing, charges nothing."""
        ...

    def policy_hash(self) -> str:
        """Of the policy in force."""
        ...

    def check_ready(self) -> None:
        """Raises BackendUnavailable or LedgerUnavailable where a query could not be answered."""
        ...

    def catalog(self) -> Catalog:
        """What may be asked."""
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


@dataclass(frozen=True)
class Services:
    """What `create_app` was given.

    Attributes:
      pipeline: answers.
      ledger: knows analysts by their keys, and what custodians see and change.
      asking: where questions wait.
      reads: of keys and budgets.
      lookups: threads for what takes milliseconds, which never queue behind anything else.
      explanations: threads for explaining and describing, which may ask the database for the public groups.
      writing: threads that write long answers.
      jobs: questions that go on while their clients do something else.
      metrics: what was asked, counted.
      readiness: whether queries can be answered.
      key_limits: how often one key may ask.
      readiness_checks: one thread: anybody may ask for them, and a database that is away makes each take seconds.
      audits: one thread for what custodians wait for: a walk over the ledger, a reload of the policy.
    """

    pipeline: Pipeline
    ledger: Custody
    asking: Asking
    reads: LedgerReads
    lookups: Threads
    explanations: Threads
    audits: Threads
    readiness_checks: Threads
    writing: Threads
    jobs: Jobs
    metrics: Metrics
    readiness: Readiness
    key_limits: KeyLimits
