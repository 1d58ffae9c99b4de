"""Releases on their way to a client, and what they cost this time."""

from __future__ import annotations

from dataclasses import dataclass, replace

from planner.plan import Plan
from server.answers.released import Released
from server.query import Budget, QueryResponse
from server.response import response


@dataclass(frozen=True)
class Served:
    """What an analyst is given.

    Attributes:
      released: what was measured, now or before.
      budget: the analyst's, after this.
      epsilon, delta: what was charged now; 0 for an answer that the analyst has paid for.
      cached: was it measured before?
    """

    released: Released
    budget: Budget
    epsilon: float
    delta: float
    cached: bool

    def response(self, plan: Plan, request_id: str) -> QueryResponse:
        """The answer to a plan that releases just this; how it is shown is the plan's own."""
        shown = response(plan, self.released.domain, self.released.noisy, self.budget, request_id)
        return replace(shown, epsilon=self.epsilon, delta=self.delta, cached=self.cached)
