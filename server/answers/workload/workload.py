"""A question of many questions, as it is asked and as it is answered."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Literal

from planner.binding.placeholders import Value
from planner.errors import InvalidSetting
from server.query import Budget, CannotPay, QueryRequest, QueryResponse

MOST_QUERIES = 64
"""Questions of a workload: each is planned."""

MOST_PARTS = 16
"""What is measured for a workload: as many reservations of one analyst as may be open beside a few others, since each
may still fail (`server.ledger.writes.reserve`)."""


@dataclass(frozen=True)
class WorkloadItem:
    """One question of a workload.

    Attributes:
      sql: one SELECT.
      parameters: the values of its `$1`, `$2`, ...
      weight: > 0. Of an answer with weight 4 the squared error is to be a quarter of that of an answer with weight 1,
        each in multiples of what it would have been alone: half the error.
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
      epsilon: for all of them together, or None for the policy's default of one question.
      max_relative_error: instead of epsilon, how far an interval's end may be from its value, in every answer.
      delta: the most of each question that spends one; None: the policy's, divided among them.
      request_id: stands in logs, the ledger and error bodies.
      idempotency_key: the client's own name of this request; empty for none.
      at_most: as in QueryRequest, of every question.
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
        """Raises: InvalidSetting for what no workload can be."""
        if not 1 <= len(self.items) <= MOST_QUERIES:
            message = f"a workload has from 1 to {MOST_QUERIES} questions"
            raise InvalidSetting(message, hint="ask the others in another one")
        if self.epsilon is not None and self.max_relative_error is not None:
            raise InvalidSetting("give either epsilon or max_relative_error", hint="leave one of them out")
        for number in (self.epsilon, self.max_relative_error, *(item.weight for item in self.items)):
            if number is not None and not (math.isfinite(number) and number > 0):
                raise InvalidSetting("epsilon, max_relative_error and weights are positive numbers")

    def of(self, place: int, epsilon: float | None = None, delta: float | None = None) -> QueryRequest:
        """One question of it, as if it were asked alone.

        Args:
          place: of the item.
          epsilon, delta: what it is asked with; None: what the policy says.
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
        """A part of it, under an idempotency key of its own where the whole has one.

        Args:
          request: the part's.
          number: of the part, from 1.
        """
        key = self.idempotency_key
        return replace(request, idempotency_key=f"{key}@{number}" if key else "")


@dataclass(frozen=True)
class MeasuredPart:
    """A question that was put to the database, or is kept, for one answer of a workload or for several.

    Attributes:
      keys: SQL of its group keys.
      epsilon, delta: what it is released with.
      charged: of epsilon, now: 0 where its answer is kept and paid for.
      queries: the questions of the workload that are answered from it, from 1.
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
      how: `alone`: measured by itself; `together`: by least squares from several groupings of the same rows;
        `free`: nothing private is read for it.
      epsilon: what it would have to be asked with alone to be as accurate: of `alone`, what it is asked with.
      half_width: of its intervals, where public numbers say it, in units of its first noisy column; else None.
      half_width_alone: the same if each question were asked alone with an equal share.
      why: why it is not answered together with others, or None.
    """

    how: str
    epsilon: float
    half_width: float | None = None
    half_width_alone: float | None = None
    why: str | None = None


@dataclass(frozen=True)
class WorkloadSummary:
    """What a workload measures, and what each of its answers follows from.

    Attributes:
      epsilon, delta: of all parts together; what is charged, but for parts that are paid for already.
      measured: the parts.
      queries: one per question, in order.
      error_of_alone, worst_of_alone: the root mean square of expected errors, over the groups of a grid and then over
        the questions, and that of the worst question, each in multiples of what it would be if each were asked alone
        with an equal share of the same epsilon; of weighted ones times the root of the weight.
        None: where nothing has an error.
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
      answers: one per question, in order. The charge of each is that of the parts that were measured for it, those
        of several questions in equal shares: together they are the charge of the workload.
      summary: how they came about.
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
      charge_epsilon, charge_delta: what would be charged now.
      budget: the analyst's, as it is.
      cannot_pay: how it would be refused now, by whichever account is short; None where all can pay.
    """

    summary: WorkloadSummary
    charge_epsilon: float
    charge_delta: float
    budget: Budget = field(default_factory=lambda: Budget(0.0, 0.0, 0.0, 0.0))
    cannot_pay: CannotPay | None = None
