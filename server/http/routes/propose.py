"""POST /v1/propose: which epsilon an accuracy needs; free."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Self

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, model_validator

from planner.binding.placeholders import MAX_PARAMETERS
from server.http.authentication import Analyst, services_of
from server.http.bodies.query_body import ParameterValue
from server.http.exchange import exchange_of
from server.http.openapi import problems
from server.proposals.accuracy import Accuracy, Basis, Proposal
from server.query import QueryRequest

router = APIRouter()


class AccuracyBody(BaseModel):
    """One SELECT, and how well its answer should be known: one of the three."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={
            "examples": [
                {"sql": "SELECT count(*) FROM orders", "interval_width": 500.0},
                {"sql": "SELECT count(*) FROM orders", "max_relative_error": 0.01},
            ]
        },
    )

    sql: Annotated[str, Field(min_length=1, description="One SELECT.")]
    interval_width: Annotated[
        float | None,
        Field(gt=0, allow_inf_nan=False, description="The widest interval from end to end, in the answer's unit."),
    ] = None
    max_relative_error: Annotated[
        float | None,
        Field(gt=0, allow_inf_nan=False, description="How far an interval's end may be from its value: 0.05 is 5%."),
    ] = None
    max_absolute_error: Annotated[
        float | None, Field(gt=0, allow_inf_nan=False, description="The same in the answer's own unit.")
    ] = None
    delta: Annotated[float | None, Field(ge=0, lt=1, allow_inf_nan=False)] = None
    parameters: Annotated[list[ParameterValue], Field(max_length=MAX_PARAMETERS)] = []
    nobody_adds_more_than: Annotated[
        float | None,
        Field(gt=0, allow_inf_nan=False, description="As of a question: intervals are for the truth then."),
    ] = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if [self.interval_width, self.max_relative_error, self.max_absolute_error].count(None) != 2:
            raise ValueError("give one of interval_width, max_relative_error and max_absolute_error")
        return self

    def request(self, analyst: str, request_id: str) -> QueryRequest:
        """The question as the pipeline takes it."""
        return QueryRequest(
            analyst,
            self.sql,
            delta=self.delta,
            request_id=request_id,
            parameters=tuple(self.parameters),
            nobody_adds_more_than=self.nobody_adds_more_than,
        )

    def accuracy(self) -> Accuracy:
        """The accuracy that is asked for: an interval width or an error."""
        return Accuracy(self.interval_width, self.max_relative_error, self.max_absolute_error)


class ProposalBody(BaseModel):
    """What to ask with: send the same statement to /v1/query with this epsilon, if it is worth it to you."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "epsilon": 0.314,
                    "delta": 0.0,
                    "charge": 0.314,
                    "epsilon_left": 9.0,
                    "interval_width": 499.1,
                    "relative_error": 0.0017,
                    "basis": "released",
                    "reason": "expected from your answer of charge 12",
                }
            ]
        }
    )

    epsilon: float = Field(description="The smallest that is expected to do.")
    delta: float
    charge: float = Field(description="What asking costs now; 0 where you have paid for such an answer.")
    epsilon_left: float
    interval_width: float = Field(description="The widest interval to expect.")
    relative_error: float | None = Field(description="The largest to expect; null where no value is known.")
    basis: Basis = Field(description="`public` holds whatever the data; the others follow your own answers.")
    reason: str

    @classmethod
    def of(cls, proposal: Proposal) -> ProposalBody:
        """The body of a proposal."""
        return cls.model_validate(asdict(proposal))


@router.post("/v1/propose", responses=problems(400, 401, 403, 413, 422, 429, 500, 503))
async def propose(request: Request, body: AccuracyBody, analyst: Analyst) -> ProposalBody:
    """Propose the smallest epsilon for an accuracy. Reads no private row, charges nothing, asks nothing."""
    services = services_of(request)
    question = body.request(analyst, exchange_of(request.scope).request_id)
    proposing = services.explanations.call_for(analyst, services.pipeline.current.propose, question, body.accuracy())
    return ProposalBody.of(await proposing)
