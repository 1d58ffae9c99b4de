"""Releases on their way to a client, and what they cost this time."""

from __future__ import annotations

from dataclasses import dataclass, replace

from server.answers.released import Released, alone_if_large
from server.query import Budget, QueryResponse
from server.question import Question, shown_answers
from server.results.notes import confidence_notes
from server.results.response import response


@dataclass(frozen=True)
class Served:
    """What an analyst is given.

    Attributes:
      released: what was measured, now or before.
      budget: the analyst's, after this.
      epsilon, delta: what was charged now; 0 for an answer that the analyst has paid for.
      number: of the charge under which it was measured before; None for what was measured now.
    """

    released: Released
    budget: Budget
    epsilon: float
    delta: float
    number: int | None = None

    @property
    def cached(self) -> bool:
        """Was it measured before?"""
        return self.number is not None

    def response(self, question: Question, request_id: str) -> QueryResponse:
        """The answer to a question that releases just this; how it is shown is the question's own."""
        return replace(
            self._shown(question),
            budget=self.budget,
            request_id=request_id,
            epsilon=self.epsilon,
            delta=self.delta,
            cached=self.cached,
        )

    def _shown(self, question: Question) -> QueryResponse:
        """What follows from releases and plan alone, worked out once for what is served again and again."""
        known = None if self.number is None else shown_answers.get((question.serial, self.number))
        if known is not None:
            return known
        with alone_if_large(self.released.n_values):
            shown = response(question.plan, self.released.domain, self.released.noisy, self.budget, "")
            shown = replace(shown, notes=(*shown.notes, *confidence_notes(shown.confidence)))
        return shown if self.number is None else shown_answers.put((question.serial, self.number), shown)
