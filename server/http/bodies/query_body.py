"""The body of a question."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from planner.binding.placeholders import MAX_PARAMETERS
from privacy.registry import MechanismName
from server.query import QueryRequest, Reuse

ParameterValue = str | int | Annotated[float, Field(allow_inf_nan=False)] | bool | None
"""The value of a placeholder."""


class QueryBody(BaseModel):
    """One SELECT, and optionally what to spend on it."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,  # "1" is not a number, and neither is true
        json_schema_extra={
            "examples": [
                {"sql": "SELECT count(*) FROM orders"},
                {
                    "sql": "SELECT n_name, sum(l_extendedprice * (1 - l_discount)) AS revenue FROM lineitem"
                    " JOIN orders ON l_orderkey = o_orderkey JOIN customer ON o_custkey = c_custkey"
                    " JOIN nation ON c_nationkey = n_nationkey GROUP BY n_name",
                    "epsilon": 0.5,
                    "mechanism": "gem",
                },
                {"sql": "SELECT count(*) FROM orders WHERE o_orderdate >= $1", "parameters": ["1995-01-01"]},
            ]
        },
    )

    sql: Annotated[str, Field(min_length=1, description="One SELECT.")]
    epsilon: Annotated[
        float | None, Field(gt=0, allow_inf_nan=False, description="What to spend; the policy's default if left out.")
    ] = None
    delta: Annotated[
        float | None, Field(ge=0, lt=1, allow_inf_nan=False, description="The policy's default if left out.")
    ] = None
    mechanism: Annotated[
        MechanismName | None, Field(description="Which mechanism releases; the planner chooses if left out.")
    ] = None
    parameters: Annotated[
        list[ParameterValue],
        Field(max_length=MAX_PARAMETERS, description="The values of $1, $2, ...; dates are text."),
    ] = []
    sampling_rate: Annotated[
        float | None,
        Field(gt=0, le=1, allow_inf_nan=False, description="Answer from this share of the join; all if left out."),
    ] = None
    nobody_adds_more_than: Annotated[
        float | None,
        Field(
            gt=0,
            allow_inf_nan=False,
            description="What one person adds at most to a sum or count in one group, in its unit, as you say:"
            " intervals are then for the truth, if it is true.",
        ),
    ] = None
    reuse: Annotated[
        Reuse,
        Field(
            description="`auto`: an answer that follows from those that you have paid for is free, and given unless"
            " you name more epsilon than you paid for them, or an accuracy that it lacks; `only`: such a one or none;"
            " `never`: a new one, also to a question that you have paid for."
        ),
    ] = "auto"

    max_relative_error: Annotated[
        float | None,
        Field(
            gt=0,
            allow_inf_nan=False,
            description="How far an interval's end may be from its value, 0.05 for 5%: the least epsilon that is"
            " expected to do is spent, and `epsilon` is the most that may be. Where nothing tells what that is, two"
            " releases are made and charged; /v1/explain says so beforehand.",
        ),
    ] = None
    max_absolute_error: Annotated[
        float | None, Field(gt=0, allow_inf_nan=False, description="The same in the answer's own unit.")
    ] = None

    @model_validator(mode="after")
    def _one_accuracy(self) -> Self:
        if self.max_relative_error is not None and self.max_absolute_error is not None:
            raise ValueError("give max_relative_error or max_absolute_error, not both")
        return self

    def request(self, analyst: str, request_id: str, idempotency_key: str = "") -> QueryRequest:
        """The question as the pipeline takes it."""
        parameters = tuple(self.parameters)
        return QueryRequest(
            analyst,
            self.sql,
            self.epsilon,
            self.delta,
            self.mechanism,
            request_id,
            parameters,
            self.sampling_rate,
            idempotency_key,
            nobody_adds_more_than=self.nobody_adds_more_than,
            max_relative_error=self.max_relative_error,
            max_absolute_error=self.max_absolute_error,
            reuse=self.reuse,
        )
