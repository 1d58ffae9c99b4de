"""An answer in the form that a client accepts: JSON, CSV or an Arrow stream."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from starlette.responses import Response

from planner.plan import ResultType
from server.csv_text import csv_text
from server.errors import NotAcceptable
from server.flat_answer import FlatAnswer, flat
from server.http.answer_body import AnswerBody
from server.query import QueryResponse
from server.threads import Threads

SHORT_CELLS = 400
"""Written within a millisecond or two."""

JSON, CSV, ARROW = "application/json", "text/csv", "application/vnd.apache.arrow.stream"

CHARGE, LEFT = "Noisegate-Epsilon", "Noisegate-Epsilon-Left"
"""Headers of the forms that have no place for the charge and for what is left."""


def accepted(accept: str | None) -> str:
    """The media type to answer in: the first of the header's own that there is; JSON where anything goes.

    Raises: NotAcceptable, before anything is charged.

    >>> accepted(None), accepted("text/csv;q=0.9, */*"), accepted("*/*")
    ('application/json', 'text/csv', 'application/json')
    """
    wanted = [part.split(";")[0].strip().lower() for part in (accept or "*/*").split(",")]
    for kind in wanted:
        if kind in (JSON, CSV, ARROW):
            return kind
    if any(kind in ("*/*", "application/*", "") for kind in wanted):
        return JSON
    raise NotAcceptable("The answer cannot be given in that form.", hint=f"Accept {JSON}, {CSV} or {ARROW}.")


async def written(response: QueryResponse, kind: str, analyst: str, threads: Threads) -> Response:
    """The answer in a form; a long one is written in a thread, as the event loop would stand still for a second.

    Args:
      kind: from `accepted`.
      analyst: whose answer it is, who may have half of the threads.
      threads: for long answers.
    Raises: TooManyQueries when too many long answers wait to be written.
    """
    if len(response.rows) * len(response.columns) <= SHORT_CELLS:
        return represented(response, kind)
    return await threads.call_for(analyst, represented, response, kind)


def represented(response: QueryResponse, kind: str) -> Response:
    """The answer in a form.

    Args:
      kind: from `accepted`.
    Cost: 5 us per row as JSON, 3 us as CSV, 10 us as Arrow.
    """
    if kind == JSON:
        return Response(AnswerBody.of(response).model_dump_json(), media_type=JSON)
    headers = {CHARGE: repr(response.epsilon), LEFT: repr(response.budget.epsilon_left)}
    content = csv_text(response) if kind == CSV else _arrow(response)
    return Response(content, media_type=kind, headers=headers)


def _arrow(response: QueryResponse) -> bytes:
    """A stream of one batch; what the answer says beside its rows stands in the schema's metadata, as JSON."""
    import pyarrow as pa  # heavy, and only needed here

    table = flat(response)
    columns = [_array(pa, table, index) for index in range(len(table.columns))]
    beside = AnswerBody.of(response).model_dump(mode="json", exclude={"rows", "columns", "intervals", "taus"})
    metadata = {"noisegate": json.dumps(beside, allow_nan=False)}
    names = [name for name, _ in table.columns]
    schema = pa.schema([pa.field(name, column.type) for name, column in zip(names, columns, strict=True)], metadata)
    written = pa.BufferOutputStream()
    with pa.ipc.new_stream(written, schema) as stream:
        stream.write_batch(pa.record_batch(columns, schema=schema))
    return bytes(written.getvalue().to_pybytes())


def _array(pa: Any, table: FlatAnswer, index: int) -> Any:
    kind = table.columns[index][1]
    read = _READ.get(kind)
    cells = [row[index] for row in table.rows]
    return pa.array([None if cell is None or read is None else read(cell) for cell in cells], _arrow_type(pa, kind))


def _arrow_type(pa: Any, kind: ResultType) -> Any:
    types = {
        "int8": pa.int64(),
        "float8": pa.float64(),
        "numeric": pa.float64(),
        "text": pa.string(),
        "bool": pa.bool_(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us"),
    }
    return types[kind]


def _whole(cell: Any) -> int:
    return max(-(1 << 63), min((1 << 63) - 1, int(cell)))


_READ: Mapping[ResultType, Callable[[Any], object]] = MappingProxyType(
    {
        "int8": _whole,
        "float8": float,
        "numeric": lambda cell: float(Decimal(str(cell))),
        "text": str,
        "bool": bool,
        "date": lambda cell: date.fromisoformat(str(cell)),
        "timestamp": lambda cell: datetime.fromisoformat(str(cell)),
    }
)
