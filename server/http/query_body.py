"""The body of a question, and the body of its explanation.

The body of a question.

The body of an explanation: the fields of `server.query.Explanation`, under the same names.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.config import JsonDict

from planner.binding.placeholders import MAX_PARAMETERS
from privacy.registry import MechanismName
from server.http.answer_body import ColumnBody
from server.query import SETTINGS, Explanation, QueryRequest, Reuse

ParameterValue = str | int | Annotated[float, Field(allow_inf_nan=False)] | bool | None
"""The value of a placeholder."""


def of_setting(name: str, about: str | None = None) -> Any:
    """The field of a body that is a setting of questions, `server.query.SETTINGS` says of which kind.

    Args:
      about: what it is for where it is of several questions; None: as of one.
    """
    setting = SETTINGS[name]
    number: dict[str, Any] = {} if setting.words else {"allow_inf_nan": False, **setting.bounds}
    return Field(description=about or setting.about, **number)


class AskingBody(BaseModel):
    """A body of which nothing is guessed: "1" is not a number, neither is true, and no field is passed over."""

    model_config = ConfigDict(extra="forbid", strict=True)


class StatementBody(AskingBody):
    """One SELECT, with the values of its placeholders."""

    sql: Annotated[str, Field(min_length=1, description="One SELECT.")]
    parameters: Annotated[
        list[ParameterValue],
        Field(max_length=MAX_PARAMETERS, description="The values of $1, $2, ...; dates are text."),
    ] = []


class QueryBody(StatementBody):
    """One SELECT, and optionally what to spend on it."""

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
    nobody_adds_more_than: Annotated[float | None, of_setting("nobody_adds_more_than")] = None
    max_relative_error: Annotated[float | None, of_setting("max_relative_error")] = None
    max_absolute_error: Annotated[float | None, of_setting("max_absolute_error")] = None
    reuse: Annotated[Reuse, of_setting("reuse")] = "auto"

    @model_validator(mode="after")
    def _one_accuracy(self) -> Self:
        if self.max_relative_error is not None and self.max_absolute_error is not None:
            raise ValueError("give max_relative_error or max_absolute_error, not both")
        return self

    def request(self, analyst: str, request_id: str, idempotency_key: str = "") -> QueryRequest:
        """The question as the pipeline takes it."""
        return QueryRequest(
            analyst,
            self.sql,
            request_id=request_id,
            parameters=tuple(self.parameters),
            idempotency_key=idempotency_key,
            **{name: getattr(self, name) for name in SETTINGS},
        )


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
    "epsilon_if_fanouts_fail": None,
    "tables": [{"alias": "orders_0", "table": "orders", "join": "inner", "added": False}],
    "conditions": [],
    "ownership": ["orders_0: o_custkey references customer"],
    "n_groups": 1,
    "group_sources": [],
    "groups_reason": "there is one group",
    "mechanisms": [
        {
            "release": "count(*)",
            "mechanism": "gem",
            "epsilon": 1.0,
            "reason": "selects one threshold, then releases once",
        }
    ],
}


class JoinedTableBody(BaseModel):
    """A table of the join."""

    alias: str = Field(description="Its name in the statements.")
    table: str
    join: Literal["inner", "left"]
    added: bool = Field(description="Was it added to find the owners?")


class JoinConditionBody(BaseModel):
    """A condition on the rows of the join."""

    sql: str
    added: bool = Field(description="Was it added to find the owners?")


class ReleaseMechanismBody(BaseModel):
    """What releases one number per group."""

    release: str
    mechanism: str
    epsilon: float = Field(description="The part of the charge that it spends.")
    reason: str
    delta: float = Field(0.0, description="Likewise; releases that are composed under zCDP share the one they name.")


class RelativeErrorBody(BaseModel):
    """How far a column is expected to be from the truth, in multiples of its values."""

    column: str
    typical: float | None = Field(
        description="Of the median row, if contribution bounds stay those of your earlier answer to this question;"
        " more epsilon mostly raises them. 0.03 is 3%; null: nothing bounds it."
    )
    most: float | None = Field(
        description="Of the median row: nine of ten answers stay within this. It is what your earlier answer had,"
        " where you name more epsilon now."
    )
    worst: float | None = Field(description="Of the worst row.")


class CannotPayBody(BaseModel):
    """That a question would be refused, since an account that pays for it cannot."""

    message: str
    hint: str
    without_delta: bool = Field(description="Would the same question fit with `delta` 0?")


class ExplanationBody(BaseModel):
    """What a query would do and cost, from public facts only."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    rewritten_sql: str = Field(description="The statements over private rows that the database would get.")
    privacy_units: list[str] = Field(description="The relations whose people the answer protects.")
    owners: list[str] = Field(description="SQL of each owner of a row.")
    weight_bounds: list[tuple[str, float]] = Field(description="The public bound of one row's weight per release.")
    groups_per_unit: int | None = Field(description="How many groups one person can reach, if bounded.")
    mechanism: str
    reason: str = Field(description="Why this mechanism and these numbers.")
    epsilon: float
    delta: float
    most_epsilon: float | None = Field(
        None,
        description="The most that is charged in the end, where an accuracy was asked for and nothing tells"
        " beforehand what it needs: epsilon is then the first release's. Null: epsilon is all.",
    )
    most_delta: float | None = Field(None, description="Likewise.")
    expected_noise: list[tuple[str, list[tuple[float, float]]]] = Field(
        description="Per release: pairs of a contribution bound tau and the noise's half-width at 95%."
    )
    columns: list[ColumnBody]
    tuples_per_unit: int | None = Field(description="The most join tuples of one person, if fan-outs are declared.")
    sampling: str | None = Field(description="How the join is sampled, and why that is sound.")
    sampling_rate: float | None
    epsilon_if_fanouts_fail: float | None = Field(
        description="What a person may lose who breaks the declared fan-outs, where anything rests on them."
    )
    tables: list[JoinedTableBody] = Field(description="The tables of the join.")
    conditions: list[JoinConditionBody] = Field(description="The conditions of the join.")
    ownership: list[str] = Field(description="Per owner, the foreign keys that lead to it.")
    n_groups: int | None = Field(
        description="How many groups the answer has, before HAVING and LIMIT; null where private rows decide."
    )
    group_sources: list[tuple[str, str]] = Field(description="Per group key, its SQL and where its values come from.")
    groups_reason: str = Field(description="Why one person reaches so many groups.")
    mechanisms: list[ReleaseMechanismBody] = Field(description="One per release.")
    selection: str | None = Field(None, description="Which groups are shown, where not all of them are.")

    reuse: str | None = Field(
        None, description="What follows for free from answers that you have paid for, beside what a new one would be."
    )
    follows: bool = Field(
        False, description="That is what would be served, for nothing; epsilon and delta are those of a new answer."
    )

    cannot_pay: CannotPayBody | None = Field(
        None,
        description="How it would be refused now, whichever account is short: yours, your group's or the dataset's.",
    )
    paid: bool = Field(False, description="Have you paid for this very answer? Then it is free.")
    likely_cut: float | None = Field(
        None,
        description="The share of rows that would be marked cut, by your own earlier answers or the policy's rule of"
        " groups per unit; null where nothing tells.",
    )
    relative_errors: list[RelativeErrorBody] = Field(
        [], description="Per noisy column, as your own earlier answers to the same query let expect; else empty."
    )

    @classmethod
    def of(cls, explanation: Explanation) -> ExplanationBody:
        """The body of an explanation."""
        return cls.model_validate(asdict(explanation))
