"""A query over private tables, planned: everything about it that does not depend on who asks."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from planner.plan import BackendQuery, Plan
from privacy.accounting.event import Composed, PrivacyEvent
from server.answers.key import answer_key
from server.ledger.amounts import charged_delta, charged_epsilon, delta_of, epsilon_of
from server.ledger.charge import Charge
from server.measuring import Measuring
from server.plan_hash import plan_hash
from server.query import QueryRequest, QueryResponse
from server.recent import Recent

_SHOWN = 4  # one, but for analysts who paid for different answers to one question


@dataclass(frozen=True)
class Asked:
    """What a plan is made from: where all of it is equal, so is the Question.

    Attributes:
      words: statement, parameters with their types, and settings.
      now: what now() stands for, snapped to the policy's grain.
      data_version: the custodian's.
      policy_hash, fingerprint: of the policy and the schema.
    """

    words: tuple[object, ...]
    now: datetime
    data_version: int
    policy_hash: str
    fingerprint: str

    @classmethod
    def of(cls, request: QueryRequest, now: datetime, data_version: int, policy_hash: str, fingerprint: str) -> Asked:
        """What a request asks, whoever sends it."""
        return cls(_words(request), now, data_version, policy_hash, fingerprint)


def _words(request: QueryRequest) -> tuple[object, ...]:
    """Statement, parameters and settings.

    Parameters by type and by spelling: 1, 1.0 and true are equal in Python, and so are the decimals 2 and 2.0.
    """
    typed = tuple((type(value).__qualname__, repr(value)) for value in request.parameters)
    return request.sql, typed, request.epsilon, request.delta, request.mechanism, request.sampling_rate


def request_hash(request: QueryRequest) -> str:
    """Names what a client sent under an idempotency key, as it was written; empty without a key.

    Everything that decides what is released, and how it is shown, is in it; the form of the response is not.
    Returns: SHA-256 in hex.
    """
    if not request.idempotency_key:
        return ""
    return hashlib.sha256(repr(_words(request)).encode()).hexdigest()


@dataclass(frozen=True)
class Question:
    """What is read, measured and charged.

    Attributes:
      plan: what was asked, in normal form.
      query: what the database is asked.
      measuring: how all of it is measured.
      answer_key: names the answer under a policy, a data version and a moment.
      shown: answers that were served again, by the charge of their releases.
    """

    plan: Plan
    query: BackendQuery
    measuring: Measuring
    answer_key: str
    shown: Recent[int, QueryResponse] = field(default_factory=lambda: Recent(_SHOWN), compare=False, repr=False)

    @classmethod
    def of(
        cls,
        plan: Plan,
        query: BackendQuery,
        measuring: Measuring,
        *,
        time_grain: str,
        data_version: int,
    ) -> Question:
        """The question that a plan answers at one version of the data."""
        return cls(plan, query, measuring, answer_key(plan, query, time_grain, data_version))

    @property
    def only_names_groups(self) -> bool:
        """Is there nothing to measure, and nothing to charge?"""
        return not self.plan.releases

    @cached_property
    def plan_hash(self) -> str:
        """Names what is read."""
        return plan_hash(self.query)

    @property
    def event(self) -> PrivacyEvent | None:
        """What all measurements do to privacy together; None for one sample, whose joint loss is the plan's epsilon.

        Releases from one sample are no composition of events (privacy.md section 3).
        """
        if self.plan.sampling is not None and self.plan.sampling.amplifies:
            return None
        threshold = self.measuring.threshold
        events = tuple(measured.event for measured in self.measuring.releases)
        events += () if threshold is None else (threshold.event,)
        return events[0] if len(events) == 1 else Composed(events)

    def charge(self, request: QueryRequest) -> Charge:
        """What the analyst who asks would be charged, in the ledger's units: an answer names what was paid."""
        return Charge(
            analyst=request.analyst,
            epsilon=epsilon_of(charged_epsilon(self.plan.epsilon)),
            delta=delta_of(charged_delta(self.plan.delta)),
            request_id=request.request_id,
            policy_hash=self.plan.policy_hash,
            plan_hash=self.plan_hash,
            mechanism=self.plan.mechanism,
            event=self.event,
            answer_key=self.answer_key,
            idempotency_key=request.idempotency_key,
            request_hash=request_hash(request),
        )
