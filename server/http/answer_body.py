"""The body of an answer. Numbers that JSON lacks (NaN, infinities) are null."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict
from pydantic_core import to_json

from server.answer_columns import blocks
from server.note import Note, NoteKind, kind_of, one_note
from server.query import MARKS, Budget, CachedPeriods, Cell, Interval, QueryResponse, ResultColumn

_EXAMPLE: JsonDict = {
    "columns": [{"name": "count", "type": "int8"}],
    "rows": [[150113]],
    "intervals": [[{"low": 149990.0, "high": 150236.0}]],
    "confidence": 0.95,
    "covers": "clipped value",
    "mechanism": "gem",
    "low_precision": [False],
    "clipped": [False],
    "raw": [],
    "at_most": None,
    "cached_periods": [],
    "taus": [[[32.0]]],
    "charge": {"epsilon": 1.0, "delta": 0.0},
    "cached": False,
    "derived_from": [],
    "budget": {"epsilon": 10.0, "delta": 0.0, "epsilon_left": 9.0, "delta_left": 0.0},
    "note": "The interval is for the clipped value, where people with many rows count in part, and the true "
    "value may lie outside.",
    "details": ["An interval covers the noise; what people contribute beyond the bound tau is outside of it."],
    "detail_kinds": ["plain"],
    "practice": False,
    "request_id": "0f8fad5bd9cb469fa16570867728950e",
}


class ChargeBody(BaseModel):
    """The cost of the answer."""

    epsilon: float
    delta: float


class AnswerBody(BaseModel):
    """A noisy answer: rows, an interval per aggregate cell, the charge and the budget."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    columns: tuple[ResultColumn, ...]
    rows: tuple[tuple[Cell, ...], ...] = Field(
        description="One list of cells per shown group. Counts are whole numbers, and 0 if noise made them negative."
    )
    intervals: tuple[tuple[Interval | None, ...], ...] = Field(
        description="Like rows; null for group keys, texts, conditions and values that are always NULL."
    )
    confidence: float = Field(description="Of each interval, over the noise.")
    covers: str = Field(
        description="`clipped value`, `clipped sample`, `smoothed value`, `truth from below`; `truth` if "
        "keys, fan-outs, the policy or `at_most` bound what people add; `exact` without noise."
    )
    mechanism: str
    low_precision: tuple[bool, ...] = Field(
        default=(),
        description="Per row: is an interval wider than its value? The noise may then be as large as the value.",
    )
    clipped: tuple[bool, ...] = Field(
        default=(),
        description="Per row: may more have been cut away than the noise moves, since the budget was too small for "
        "the data or by the policy's rule of groups per unit? The details say which.",
    )
    taus: tuple[tuple[tuple[float | None, ...] | None, ...], ...] = Field(
        description="Like rows: the contribution bounds chosen."
    )
    charge: ChargeBody = Field(description="The cost of this request; 0 for an answer that you paid for before.")
    cached: bool = Field(default=False, description="Was it measured for an earlier request?")
    derived_from: tuple[int, ...] = Field(
        default=(),
        description="The numbers of your charges from which it was derived, for free; empty if it was measured.",
    )
    budget: Budget
    note: str = Field(
        default="",
        description="The one sentence to read: what may be missing, where noise hides the value, or what "
        "intervals cover. Empty without noise.",
    )
    details: list[str] = Field(description="Further notes, one or two sentences each.")
    detail_kinds: list[NoteKind] = Field(
        description="The kind of each detail: `confidence`, why that of the intervals is lower; `order`, "
        "which neighbours the noise does not separate; `bound`, which extremes are an end of their declared range; "
        "`groups`, that rows with NULL are in no group; `exceeding`, how many people have more than counts; `wide`, "
        "that a free answer is far less precise than a new one; `plain`, anything else.",
    )
    raw: tuple[tuple[Cell, ...], ...] = Field(
        default=(),
        description="Empty if all values are shown as released. Else like rows: the released values of columns in "
        "which some value was moved, for sums over groups; null in other columns.",
    )
    at_most: float | None = Field(default=None, description="As in the request, if `covers` depends on it.")
    cached_periods: tuple[CachedPeriods, ...] = Field(
        default=(), description="The groups that were measured in earlier data versions, which cost nothing."
    )
    practice: bool = Field(default=False, description="Is it from the practice database, whose rows are made up?")
    request_id: str

    @classmethod
    def of(cls, response: QueryResponse) -> AnswerBody:
        """Build the response body of an answer, with all its rows in memory (`json_pieces` makes them on demand)."""
        own: dict[str, Any] = {name: getattr(response, name) for name in _ALIKE}
        own |= {name: tuple(own[name]) for name in _LONG}
        own |= {"note": one_note(response), "details": [str(note) for note in response.notes]}
        own |= {"detail_kinds": [kind_of(note) for note in response.notes]}
        return cls(**own, charge=ChargeBody(epsilon=response.epsilon, delta=response.delta))

    def response(self) -> QueryResponse:
        """Turn a received body into an answer, for clients in Python. Numbers that were not finite are None."""
        return QueryResponse(
            **{name: getattr(self, name) for name in _ALIKE},
            epsilon=self.charge.epsilon,
            delta=self.charge.delta,
            notes=tuple(Note(*each) for each in zip(self.details, self.detail_kinds, strict=True)),
        )


_LONG = ("rows", "intervals", *MARKS, "taus", "raw")
_ALIKE = AnswerBody.model_fields.keys() & {one.name for one in fields(QueryResponse)}
"""The fields that a body and an answer have in common."""


def without_rows(response: QueryResponse) -> AnswerBody:
    """The body of an answer without its rows."""
    nothing: dict[str, Any] = dict.fromkeys(_LONG, ())
    return AnswerBody.of(replace(response, **nothing)).model_copy(update={"note": one_note(response)})


def json_pieces(response: QueryResponse) -> Iterator[bytes]:
    """`AnswerBody.of(response)` as JSON, in pieces that are made on demand."""
    short = without_rows(response)
    for place, name in enumerate(AnswerBody.model_fields):
        start = b"," if place else b"{"
        yield start + to_json(name) + b":"
        if name not in _LONG:
            yield to_json(getattr(short, name), inf_nan_mode="null")
            continue
        yield b"["
        comma = b""
        for block in blocks(getattr(response, name), 1 if name in MARKS else len(response.columns)):
            yield comma + to_json(block, inf_nan_mode="null")[1:-1]
            comma = b","
        yield b"]"
    yield b"}"
