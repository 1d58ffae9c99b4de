"""A workload as it is asked and as it is answered."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Literal

from planner.binding.placeholders import Value
from planner.errors import InvalidSetting
from server.query import Budget, CannotPay, QueryRequest, QueryResponse

MOST_QUERIES = 64
"""The most questions of a workload; each is planned."""

MOST_PARTS = 16
"""The most measurements of a workload. An analyst may have so many open reservations beside a few others
(`server.ledger.writes.reserve`)."""


@dataclass(frozen=True)
class WorkloadItem:
    """One question of a workload.

    Attributes:
      sql: one SELECT.
      parameters: the values of its `$1`, `$2`, ...
      weight: > 0. With weight 4, the answer's error is to be half that of weight 1, relative to its error alone.
    """

    sql: str
    parameters: tuple[Value, ...] = ()
    weight: float = 1.0


@dataclass(frozen=True)
class WorkloadRequest:
    """Many questions of one analyst.

    Attributes:
      analyst: the authenticated analyst's name.
      items: at least one.
      epsilon: for all of them together; None for the policy's default of one question.
      max_relative_error: instead of epsilon, the largest distance of an interval's end from its value.
      delta: the most of each question that spends one; None: the policy's, divided among them.
      request_id: stands in logs, the ledger and error bodies.
      idempotency_key: the client's own name of this request; empty for none.
      at_most: as in QueryRequest, for every question.
      reuse: `auto`; `only`: nothing may be charged, as for a dashboard that is refreshed.
    """

    analyst: str
    items: tuple[WorkloadItem, ...]
    epsilon: float | None = None
    max_relative_error: float | None = None
    delta: float | None = None
    request_id: str = ""
    idempotency_key: str = ""
    at_most: float | None = None
    reuse: Literal["auto", "only"] = "auto"

    def check(self) -> None:
        """Refuse invalid requests. Raises: InvalidSetting."""
        if not 1 <= len(self.items) <= MOST_QUERIES:
            message = f"a workload has from 1 to {MOST_QUERIES} questions"
            raise InvalidSetting(message, hint="ask the others in another workload")
        if self.epsilon is not None and self.max_relative_error is not None:
            raise InvalidSetting("give either epsilon or max_relative_error", hint="leave one of them out")
        for number in (self.epsilon, self.max_relative_error, *(item.weight for item in self.items)):
            if number is not None and not (math.isfinite(number) and number > 0):
                raise InvalidSetting("epsilon, max_relative_error and weights must be positive numbers")

    def of(self, place: int, epsilon: float | None = None, delta: float | None = None) -> QueryRequest:
        """Return one question as a request of its own.

        Args:
          epsilon, delta: of the question; None: what the policy says.
        """
        item = self.items[place]
        return QueryRequest(
            self.analyst,
            item.sql,
            epsilon=epsilon,
            delta=self.delta if delta is None else delta,
            request_id=self.request_id,
            parameters=item.parameters,
            at_most=self.at_most,
            as_accurate=self.max_relative_error is not None,
        )

    def keyed(self, request: QueryRequest, number: int) -> QueryRequest:
        """Return a part's request with an idempotency key derived from the whole one's."""
        key = self.idempotency_key
        return replace(request, idempotency_key=f"{key}@{number}" if key else "")


@dataclass(frozen=True)
class MeasuredPart:
    """A measurement, new or cached, for one answer of a workload or for several.

    Attributes:
      keys: SQL of its group keys.
      epsilon, delta: of its release.
      charged: epsilon charged now: 0 where its answer is paid for.
      queries: numbers of the questions answered from it, from 1.
    """

    keys: tuple[str, ...]
    epsilon: float
    delta: float
    charged: float
    queries: tuple[int, ...]


@dataclass(frozen=True)
class QueryPlanned:
    """How one question of a workload is answered.

    Attributes:
      how: `alone`: by its own measurement; `together`: by least squares from several groupings of the same rows;
        `free`: nothing private is read for it.
      epsilon: what it would need alone to be as precise; with `alone`, its own.
      half_width: of its intervals, in units of its first noisy column; None where public numbers do not tell it.
      half_width_alone: the same if each question were asked alone with an equal share.
      why: it is not answered together with others, or None.
    """

    how: str
    epsilon: float
    half_width: float | None = None
    half_width_alone: float | None = None
    why: str | None = None


@dataclass(frozen=True)
class WorkloadSummary:
    """What a workload measures, and how each answer is computed.

    Attributes:
      epsilon, delta: of all parts together, paid ones included.
      measured: the parts.
      queries: one per question, in order.
      error_of_alone, worst_of_alone: the root mean square of expected errors, and the worst question's, in multiples
        of the error alone with an equal share. Weighted errors count times the root of the weight. None where nothing
        has an error.
      strategy: the same in words.
    """

    epsilon: float
    delta: float
    measured: tuple[MeasuredPart, ...]
    queries: tuple[QueryPlanned, ...]
    error_of_alone: float | None
    worst_of_alone: float | None
    strategy: str


@dataclass(frozen=True)
class WorkloadResponse:
    """The answers to a workload.

    Attributes:
      answers: one per question, in order. Each is charged an equal share of the parts measured for it.
      summary: how they were computed.
      epsilon, delta: charged now.
      budget: after that.
    """

    answers: tuple[QueryResponse, ...]
    summary: WorkloadSummary
    epsilon: float
    delta: float
    budget: Budget
    request_id: str


@dataclass(frozen=True)
class WorkloadExplanation:
    """What a workload would measure and cost.

    Attributes:
      summary: how it would be answered.
      charge_epsilon, charge_delta: the charge now.
      budget: the analyst's, as it is.
      cannot_pay: how an account would refuse it; None where all can pay.
    """

    summary: WorkloadSummary
    charge_epsilon: float
    charge_delta: float
    budget: Budget = field(default_factory=lambda: Budget(0.0, 0.0, 0.0, 0.0))
    cannot_pay: CannotPay | None = None
