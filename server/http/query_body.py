"""The bodies of questions: one SELECT with its settings, and their common parts."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from planner.binding.placeholders import MAX_PARAMETERS
from privacy.registry import MechanismName
from server.query import OLD_NAMES, SETTINGS, QueryRequest, Reuse

ParameterValue = str | int | Annotated[float, Field(allow_inf_nan=False)] | bool | None
"""The value of a placeholder."""


def of_setting(name: str, about: str | None = None) -> Any:
    """The pydantic field of a request setting, from `server.query.SETTINGS`.

    Args:
      about: replaces its description.
    """
    setting = SETTINGS[name]
    number: dict[str, Any] = {} if setting.words else {"allow_inf_nan": False, **setting.bounds}
    return Field(description=about or setting.about, **number)


class AskingBody(BaseModel):
    """A strict body: no coercion between types, and no unknown fields."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _accept_old_names(cls, body: Any) -> Any:
        """Read a setting's old name as the new one. A body with both keeps the old one, which is refused."""
        if not isinstance(body, dict):
            return body
        return {(new if (new := OLD_NAMES.get(name, name)) not in body else name): body[name] for name in body}


class StatementBody(AskingBody):
    """One SELECT, with the values of its placeholders."""

    sql: Annotated[str, Field(min_length=1, description="One SELECT.")]
    parameters: Annotated[
        list[ParameterValue],
        Field(max_length=MAX_PARAMETERS, description="The values of $1, $2, ...; dates as text."),
    ] = []


class PracticeBody(AskingBody):
    """What may be asked in practice."""

    practice: Annotated[
        bool, Field(description="Ask the practice database: the rows are made up, and your budget is not charged.")
    ] = False


class QueryBody(StatementBody, PracticeBody):
    """One SELECT, and optionally its settings."""

    model_config = ConfigDict(
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

    epsilon: Annotated[float | None, of_setting("epsilon")] = None
    delta: Annotated[float | None, of_setting("delta")] = None
    mechanism: Annotated[MechanismName | None, of_setting("mechanism")] = None
    sampling_rate: Annotated[float | None, of_setting("sampling_rate")] = None
    at_most: Annotated[float | None, of_setting("at_most")] = None
    max_relative_error: Annotated[float | None, of_setting("max_relative_error")] = None
    max_absolute_error: Annotated[float | None, of_setting("max_absolute_error")] = None
    reuse: Annotated[Reuse, of_setting("reuse")] = "auto"

    @model_validator(mode="after")
    def _one_accuracy(self) -> Self:
        if self.max_relative_error is not None and self.max_absolute_error is not None:
            raise ValueError("give max_relative_error or max_absolute_error, not both")
        return self

    def request(self, analyst: str, request_id: str, idempotency_key: str = "") -> QueryRequest:
        """The request for the pipeline."""
        return QueryRequest(
            analyst,
            self.sql,
            request_id=request_id,
            parameters=tuple(self.parameters),
            idempotency_key=idempotency_key,
            **{name: getattr(self, name) for name in SETTINGS},
        )
