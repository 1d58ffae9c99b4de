"""What the routes need of the rest of the proxy."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Protocol

from server.admission import Admission, Answers
from server.connections.outgoing_bytes import Outgoing
from server.explain.catalog import Catalog
from server.http.limits.key_limits import KeyLimits
from server.http.metrics import Metrics
from server.http.readiness import Readiness
from server.ledger.analyst import Act, Analyst
from server.ledger.charge import ChargeRecord
from server.ledger.ledger import Administration, Budgets, Records
from server.ledger.question_texts import AskedText
from server.policy.policy_texts import PolicyChanges
from server.proposals.accuracy import Accuracy, Proposal
from server.query import Explanation, QueryRequest
from server.reloadable_pipeline import PolicyInForce
from server.scheduling.jobs import Jobs
from server.scheduling.ledger_reads import LedgerReads
from server.scheduling.thread_pool import ThreadPool
from server.workload.workload import WorkloadExplanation, WorkloadRequest, WorkloadResponse


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


class Custody(Administration, Records, Budgets, Protocol):
    """The part of the ledger that custodians see and change."""


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
    ledger: Custody
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
