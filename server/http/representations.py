"""An answer in the form that a client accepts: JSON, CSV or an Arrow stream."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from starlette.responses import Response

from planner.plan import ResultType
from server.csv_text import harmless
from server.errors import NotAcceptable
from server.flat_answer import FlatAnswer, flat
from server.http.answer_body import AnswerBody
from server.query import Cell, QueryResponse

JSON, CSV, ARROW = "application/json", "text/csv", "application/vnd.apache.arrow.stream"

_MANY_CELLS = 1_000

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


def represented(response: QueryResponse, kind: str) -> AnswerBody | Response:
    """The answer in a form.

    Args:
      kind: from `accepted`.
    """
    if kind == JSON:
        return AnswerBody.of(response)
    headers = {CHARGE: repr(response.epsilon), LEFT: repr(response.budget.epsilon_left)}
    write = _csv if kind == CSV else _arrow
    return Response(write(response), media_type=kind, headers=headers)


def is_large(response: QueryResponse) -> bool:
    """Does it take milliseconds to write it down?"""
    return len(response.rows) * len(response.columns) > _MANY_CELLS


def written(response: QueryResponse, kind: str) -> Response:
    """The answer in a form, down to its bytes: for large ones, in a thread."""
    made = represented(response, kind)
    if isinstance(made, Response):
        return made
    return Response(made.model_dump_json(), media_type=JSON)


def _csv(response: QueryResponse) -> bytes:
    """RFC 4180, names first; NULL is an empty cell, a text that is empty is quoted, and none is a formula."""
    table = flat(response)
    written = io.StringIO(newline="")
    lines = csv.writer(written, quoting=csv.QUOTE_STRINGS) if hasattr(csv, "QUOTE_STRINGS") else csv.writer(written)
    lines.writerow([harmless(name) for name, _ in table.columns])
    texts = [kind == "text" for _, kind in table.columns]
    lines.writerows([list(map(_spelled, row, texts)) for row in table.rows])
    return written.getvalue().encode()


def _spelled(cell: Cell, is_text: bool) -> str:
    if cell is None:
        return ""
    if is_text:
        return harmless(str(cell))
    return str(cell).lower() if isinstance(cell, bool) else str(cell)


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
