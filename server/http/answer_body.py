"""The body of an answer. Numbers that JSON does not have (NaN, infinities) are null."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict
from pydantic_core import to_json

from planner.sql.sql_types import ResultType
from server.answer_columns import blocks
from server.note import Note, NoteKind, kind_of
from server.query import Budget, Cell, Interval, KeptPeriods, QueryResponse, ResultColumn

_EXAMPLE: JsonDict = {
    "columns": [{"name": "count", "type": "int8"}],
    "rows": [[150113]],
    "intervals": [[{"low": 149990.0, "high": 150236.0}]],
    "confidence": 0.95,
    "covers": "clipped value",
    "mechanism": "gem",
    "weak": [False],
    "cut": [False],
    "raw": [],
    "nobody_adds_more_than": None,
    "kept": [],
    "taus": [[[32.0]]],
    "charge": {"epsilon": 1.0, "delta": 0.0},
    "cached": False,
    "derived_from": [],
    "budget": {"epsilon": 10.0, "delta": 0.0, "epsilon_left": 9.0, "delta_left": 0.0},
    "notes": ["An interval covers the noise; what people contribute beyond the bound tau is outside of it."],
    "note_kinds": ["plain"],
    "request_id": "0f8fad5bd9cb469fa16570867728950e",
}


_MARKS = ("weak", "cut")
"""One per row, not one per cell."""


class ColumnBody(BaseModel):
    """A column of the answer."""

    name: str
    type: ResultType


class IntervalBody(BaseModel):
    """An interval of one cell; null stands for unbounded."""

    low: float | None
    high: float | None


class KeptPeriodsBody(BaseModel):
    """Groups that were measured over an earlier load of the data, and hold for this one: their rows are closed."""

    version: int = Field(description="Of the data that they were measured over.")
    first: str | None = Field(description="The first of the days that their rows lie on; null: no first one.")
    last: str | None = Field(description="The last of these days.")
    groups: int = Field(description="How many groups of the answer, before HAVING and LIMIT.")


class ChargeBody(BaseModel):
    """What the answer cost."""

    epsilon: float
    delta: float


class BudgetBody(BaseModel):
    """An analyst's budget: what was granted and what is left."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE["budget"]]})

    epsilon: float
    delta: float
    epsilon_left: float
    delta_left: float

    @classmethod
    def of(cls, budget: Budget) -> BudgetBody:
        """The body of a budget."""
        return cls(
            epsilon=budget.epsilon,
            delta=budget.delta,
            epsilon_left=budget.epsilon_left,
            delta_left=budget.delta_left,
        )


class AnswerBody(BaseModel):
    """A noisy answer: rows, an interval per aggregate cell, what it cost and what is left."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    columns: list[ColumnBody]
    rows: list[list[Cell]] = Field(
        description="One list of cells per group that is shown; counts are whole, and 0 where noise put them below."
    )
    intervals: list[list[IntervalBody | None]] = Field(
        description="Like rows; null for group keys, texts, conditions and what is always NULL."
    )
    confidence: float = Field(description="Of each interval, over the noise.")
    covers: str = Field(
        description="`clipped value`, `clipped sample`, `smoothed value`, `truth from below`; `truth` if "
        "what keys, fan-outs, the policy or `nobody_adds_more_than` say is true; `exact` without noise."
    )
    mechanism: str
    weak: list[bool] = Field(
        default_factory=list,
        description="Per row: is an interval wider than its value? The noise may then be as large as what it hides.",
    )
    cut: list[bool] = Field(
        default_factory=list,
        description="Per row: may more have been cut away than the noise moves, since the budget was too small for "
        "the data or by the policy's rule of groups per unit? The notes say which.",
    )
    taus: list[list[list[float | None] | None]] = Field(description="Like rows: the contribution bounds chosen.")
    charge: ChargeBody = Field(description="Of this request; 0 for an answer that the analyst had paid for before.")
    cached: bool = Field(default=False, description="Was it measured for an earlier request, and kept?")
    derived_from: list[int] = Field(
        default_factory=list,
        description="The numbers of your charges from whose answers it was computed, free; empty where it was not.",
    )
    budget: BudgetBody
    notes: list[str]
    note_kinds: list[NoteKind] = Field(
        description="Of each note, for programs: `confidence`, why that of the intervals is lower; `missing`, how "
        "much may be missing above; `order`, which neighbours the noise does not tell apart; `plain`, anything else.",
    )
    raw: list[list[Cell]] = Field(
        default_factory=list,
        description="Empty where all values are shown as they were released. Else like rows: of the columns in which "
        "some value is not, all values as released, for sums over groups; null in others.",
    )
    nobody_adds_more_than: float | None = Field(
        default=None, description="As in the request, where `covers` rests on it."
    )
    kept: list[KeptPeriodsBody] = Field(
        default_factory=list, description="Which groups are kept from earlier loads of the data, and cost nothing."
    )
    request_id: str

    @classmethod
    def of(cls, response: QueryResponse) -> AnswerBody:
        """The body of an answer."""
        return cls(
            columns=[ColumnBody(name=column.name, type=column.type) for column in response.columns],
            rows=[[_finite_cell(cell) for cell in row] for row in response.rows],
            intervals=[[_interval_body(interval) for interval in row] for row in response.intervals],
            confidence=response.confidence,
            covers=response.covers,
            mechanism=response.mechanism,
            weak=list(response.weak),
            cut=list(response.cut),
            raw=[[_finite_cell(cell) for cell in row] for row in response.raw],
            nobody_adds_more_than=response.nobody_adds_more_than,
            taus=[
                [None if taus is None else [_finite(tau) for tau in taus] for taus in row] for row in response.taus
            ],
            charge=ChargeBody(epsilon=response.epsilon, delta=response.delta),
            cached=response.cached,
            derived_from=list(response.derived_from),
            budget=BudgetBody.of(response.budget),
            notes=[str(note) for note in response.notes],
            note_kinds=[kind_of(note) for note in response.notes],
            kept=[KeptPeriodsBody(**asdict(one)) for one in response.kept],
            request_id=response.request_id,
        )

    def response(self) -> QueryResponse:
        """The answer of a body, for clients written in Python; what was not finite is None."""
        return QueryResponse(
            columns=tuple(ResultColumn(column.name, column.type) for column in self.columns),
            rows=tuple(tuple(row) for row in self.rows),
            intervals=tuple(
                tuple(None if cell is None else Interval(cell.low, cell.high) for cell in row)
                for row in self.intervals
            ),
            confidence=self.confidence,
            covers=self.covers,
            mechanism=self.mechanism,
            epsilon=self.charge.epsilon,
            delta=self.charge.delta,
            budget=Budget(**self.budget.model_dump()),
            request_id=self.request_id,
            weak=tuple(self.weak),
            cut=tuple(self.cut),
            raw=tuple(tuple(row) for row in self.raw),
            nobody_adds_more_than=self.nobody_adds_more_than,
            taus=tuple(
                tuple(
                    None if cell is None else tuple(math.nan if tau is None else tau for tau in cell) for cell in row
                )
                for row in self.taus
            ),
            notes=tuple(Note(*each) for each in zip(self.notes, self.note_kinds, strict=True)),
            cached=self.cached,
            kept=tuple(KeptPeriods(**one.model_dump()) for one in self.kept),
            derived_from=tuple(self.derived_from),
        )


def without_rows(response: QueryResponse) -> QueryResponse:
    """What an answer says beside its rows."""
    return replace(response, rows=(), intervals=(), weak=(), cut=(), taus=(), raw=())


def json_pieces(response: QueryResponse) -> Iterator[bytes]:
    """The body in pieces that together are `AnswerBody.of(response)` as JSON, made when they are asked for."""
    long: dict[str, Sequence[object]] = {
        "rows": response.rows,
        "intervals": response.intervals,
        "weak": response.weak,
        "cut": response.cut,
        "taus": response.taus,
        "raw": response.raw,
    }
    short = AnswerBody.of(without_rows(response))
    for place, name in enumerate(AnswerBody.model_fields):
        start = b"," if place else b"{"
        yield start + to_json(name) + b":"
        if name not in long:
            yield to_json(getattr(short, name), inf_nan_mode="null")
            continue
        yield b"["
        comma = b""
        for block in blocks(long[name], 1 if name in _MARKS else len(response.columns)):
            yield comma + to_json(block, inf_nan_mode="null")[1:-1]
            comma = b","
        yield b"]"
    yield b"}"


def _interval_body(interval: Interval | None) -> IntervalBody | None:
    return None if interval is None else IntervalBody(low=_finite(interval.low), high=_finite(interval.high))


def _finite_cell(cell: Cell) -> Cell:
    return _finite(cell) if isinstance(cell, float) else cell


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
