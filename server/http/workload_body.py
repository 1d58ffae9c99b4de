"""The bodies of a workload: many questions with one epsilon, their answers, and their explanation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.config import JsonDict
from pydantic_core import to_json

from server.answers.workload.workload import (
    MOST_QUERIES,
    WorkloadExplanation,
    WorkloadItem,
    WorkloadRequest,
    WorkloadResponse,
    WorkloadSummary,
)
from server.http.answer_body import AnswerBody, ChargeBody, json_pieces
from server.http.query_body import PracticeBody, StatementBody, of_setting
from server.query import Budget, CannotPay

_EXAMPLE: JsonDict = {
    "queries": [
        {"sql": "SELECT ward, count(*) FROM patient GROUP BY ward"},
        {"sql": "SELECT month, count(*) FROM patient GROUP BY month", "weight": 4.0},
        {"sql": "SELECT ward, month, count(*) FROM patient GROUP BY ward, month"},
    ],
    "epsilon": 0.5,
}


class WorkloadQueryBody(StatementBody):
    """One question of a workload."""

    weight: Annotated[
        float,
        Field(
            gt=0,
            allow_inf_nan=False,
            description="An answer of weight 4 gets half the error of an answer of weight 1.",
        ),
    ] = 1.0


def _of_text(query: object) -> object:
    """A question that is given as text alone."""
    return {"sql": query} if isinstance(query, str) else query


class WorkloadBody(PracticeBody):
    """Many questions that are answered together, or not at all."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    queries: Annotated[
        list[Annotated[WorkloadQueryBody, BeforeValidator(_of_text)]],
        Field(min_length=1, max_length=MOST_QUERIES, description="One SELECT each; its text alone suffices."),
    ]
    epsilon: Annotated[
        float | None,
        of_setting("epsilon", "For all questions together. Left out: the policy's default of one question."),
    ] = None
    max_relative_error: Annotated[
        float | None,
        of_setting(
            "max_relative_error",
            "Instead of epsilon: the accuracy target of every answer, half the interval's width over its value. It"
            " needs values from earlier answers.",
        ),
    ] = None
    delta: Annotated[
        float | None, of_setting("delta", "For all questions together. Left out: the policy's delta.")
    ] = None
    at_most: Annotated[
        float | None,
        of_setting(
            "at_most",
            "What one person adds at most to a count or sum in one group of any question, or in what its groups"
            " leave out, as you say: intervals are for the truth then, and questions about many rows of each person"
            " add up.",
        ),
    ] = None
    reuse: Annotated[
        Literal["auto", "only"],
        of_setting(
            "reuse", "`only`: give the answers if they are free, and charge nothing; else refuse, with the price."
        ),
    ] = "auto"

    @model_validator(mode="after")
    def _one(self) -> Self:
        if self.epsilon is not None and self.max_relative_error is not None:
            raise ValueError("give either epsilon or max_relative_error")
        return self

    def request(self, analyst: str, request_id: str, idempotency_key: str = "") -> WorkloadRequest:
        """The request for the pipeline."""
        items = tuple(WorkloadItem(one.sql, tuple(one.parameters), one.weight) for one in self.queries)
        return WorkloadRequest(
            analyst,
            items,
            self.epsilon,
            self.max_relative_error,
            self.delta,
            request_id,
            idempotency_key,
            self.at_most,
            self.reuse,
        )


class WorkloadAnswerBody(BaseModel):
    """The answers to a workload, each as `/v1/query` gives it."""

    answers: list[AnswerBody] = Field(
        description="In the order of the questions. The charge of each is its part of the total charge."
    )
    summary: WorkloadSummary
    charge: ChargeBody
    budget: Budget
    request_id: str


class WorkloadExplanationBody(BaseModel):
    """What a workload would measure, how accurate its answers would be, and its price."""

    summary: WorkloadSummary
    charge: ChargeBody = Field(description="The current price.")
    budget: Budget
    cannot_pay: CannotPay | None = Field(None, description="How it would be refused now, as for one question.")

    @classmethod
    def of(cls, explanation: WorkloadExplanation) -> WorkloadExplanationBody:
        """The body of an explanation."""
        charge = ChargeBody(epsilon=explanation.charge_epsilon, delta=explanation.charge_delta)
        return cls(
            summary=explanation.summary,
            charge=charge,
            budget=explanation.budget,
            cannot_pay=explanation.cannot_pay,
        )


def workload_pieces(response: WorkloadResponse) -> Iterator[bytes]:
    """A `WorkloadAnswerBody` as JSON, in pieces that are made on demand."""
    yield b'{"answers":['
    for place, answer in enumerate(response.answers):
        if place:
            yield b","
        yield from json_pieces(answer)
    rest = {
        "summary": response.summary,
        "charge": ChargeBody(epsilon=response.epsilon, delta=response.delta),
        "budget": response.budget,
        "request_id": response.request_id,
    }
    yield b"]"
    for name, part in rest.items():
        yield b"," + to_json(name) + b":" + to_json(part, inf_nan_mode="null")
    yield b"}"
