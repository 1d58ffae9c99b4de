"""The body of an explanation: the fields of `server.query.Explanation`, under the same names."""

from __future__ import annotations

from dataclasses import asdict

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

from server.http.answer_body import ColumnBody
from server.query import Explanation

_EXAMPLE: JsonDict = {
    "rewritten_sql": "SELECT orders.o_custkey AS o0, count(*) * 1073741824 AS w0 FROM orders GROUP BY 1",
    "privacy_units": ["customer"],
    "owners": ["customer: orders.o_custkey"],
    "weight_bounds": [["count(*)", 1.0]],
    "groups_per_unit": 1,
    "mechanism": "gem",
    "reason": "one owner per row: truncation is exact",
    "epsilon": 1.0,
    "delta": 0.0,
    "expected_noise": [["count(*)", [[1.0, 3.0], [2.0, 6.0]]]],
    "columns": [{"name": "count", "type": "int8"}],
    "tuples_per_unit": 50,
    "sampling": None,
    "sampling_rate": None,
    "amplified_epsilon": None,
}


class ExplanationBody(BaseModel):
    """What a query would do and cost, from public facts only."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    rewritten_sql: str = Field(description="The statement the database would get.")
    privacy_units: list[str] = Field(description="The relations whose people the answer protects.")
    owners: list[str] = Field(description="SQL of each owner of a row.")
    weight_bounds: list[tuple[str, float]] = Field(description="The public bound of one row's weight per release.")
    groups_per_unit: int | None = Field(description="How many groups one person can reach, if bounded.")
    mechanism: str
    reason: str = Field(description="Why this mechanism and these numbers.")
    epsilon: float
    delta: float
    expected_noise: list[tuple[str, list[tuple[float, float]]]] = Field(
        description="Per release: pairs of a contribution bound tau and the noise's half-width at 95%."
    )
    columns: list[ColumnBody]
    tuples_per_unit: int | None = Field(description="The most join tuples of one person, if fan-outs are declared.")
    sampling: str | None = Field(description="How the join is sampled, and why that is sound.")
    sampling_rate: float | None
    amplified_epsilon: float | None = Field(
        description="The loss with amplification by sampling; not what is charged."
    )

    @classmethod
    def of(cls, explanation: Explanation) -> ExplanationBody:
        """The body of an explanation."""
        return cls.model_validate(asdict(explanation))
