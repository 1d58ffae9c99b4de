"""Every result type's values in every form that a client is given, and bound parameters as they are read.

`python -m tests.golden.result_forms.recording` writes the record again. It is written again only where a form is
meant to change, or a type is added; moving code changes no byte of it.
"""

from __future__ import annotations

import io
import json
import math
import struct
from pathlib import Path

import pyarrow as pa

from planner.errors import PlannerError
from planner.sql.sql_types import ResultType
from server.errors import WireError
from server.http.representations import ARROW, CSV, JSON, pieces
from server.pgwire.wire_values import bound_values, encode_cell, field_of
from server.query import Budget, Cell, QueryResponse, ResultColumn
from server.results.result_types import cells_of

RECORD = Path(__file__).parent / "recorded.json"

CELLS: dict[ResultType, list[Cell]] = {
    "int8": [None, 0, 1, -1, 2**53 + 1, 2**63 - 1, -(2**63), 2**70, -(2**70)],
    "float4": [None, 0.0, -0.0, 0.1, -2.5, 7.0, 3e38, 1e-45, math.nan, math.inf, -math.inf],
    "float8": [None, 0.0, -0.0, 0.1, -2.5, 7.0, 1e300, 5e-324, 1e16, math.nan, math.inf, -math.inf],
    "numeric": [None, 0, 12.5, -7, 1e-7, "0.1234567890123456789", "NaN", "Infinity", "-Infinity", "-0", 10**14,
     1e22],
    "text": [None, "", "FRANCE", "Größe 測試 🙂", 'a "quoted", cell', "two\nlines", "=1+1", "@SUM(A1)", "-1", "NULL"],
    "bool": [None, True, False],
    "date": [None, "1970-01-01", "2000-01-01", "0001-01-01", "9999-12-31", "1999-12-31", "2024-02-29"],
    "timestamp": [None, "2000-01-01 00:00:00", "2024-02-29T00:00:00", "1999-12-31 23:59:59.999999",
     "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999", "2024-05-17 12:30:00.5"],
    "timestamptz": [None, *cells_of("timestamptz", ["2000-01-01 00:00:00", "0001-01-01 00:00:00",
     "2024-05-17 12:30:00.5"])],
    "interval": [None, *cells_of("interval", [0, 1.5, -93784.000001, 86400, -86400, 1e9])],
}  # fmt: skip
"""NULL, ends, zeros of both signs, what is not finite, days far away, midnight, what CSV and spreadsheets mistake."""

_OIDS = (0, 16, 19, 20, 21, 23, 25, 700, 701, 705, 1042, 1043, 1082, 1114, 1184, 1700, 2950, 3802)
_TEXTS = (
    "t off 1 -7 +3 12.50 1e-7 NaN -Infinity 1995-03-15 infinity abc Größe",
    "1995-03-15 12:30:00|1995-03-15T00:00:00+05:30|9999-12-31 24:00| 8 |0001-01-01|",
)
_BINARIES = (
    *(struct.pack(form, value) for form in ("!h", "!i", "!q") for value in (0, -1, 32_767)),
    *(struct.pack(form, value) for form in ("!f", "!d") for value in (0.1, -0.0, math.nan, -math.inf)),
    *(bytes.fromhex(text) for text in ("000200004000000100011388", "00000000c0000000", "0001000000000000")),
    *(b"", b"\0", b"\1", b"\xff", "Größe".encode(), bytes(range(16)), struct.pack("!q", 2**62)),
)


def response(kind: ResultType) -> QueryResponse:
    """An answer of one column of the type."""
    rows = tuple((cell,) for cell in CELLS[kind])
    nothing, budget = ((None,),) * len(rows), Budget(1.0, 0.0, 1.0, 0.0)
    columns, low_precision = (ResultColumn("x", kind),), (False,) * len(rows)
    return QueryResponse(
        columns,
        rows,
        nothing,
        1.0,
        "exact",
        "none",
        0.0,
        0.0,
        budget,
        "r",
        low_precision=low_precision,
        taus=nothing,
        notes=(),
    )


def forms(kind: ResultType) -> dict[str, object]:
    """The forms of every cell of a type."""
    answer, field = response(kind), field_of("x", kind)
    stream = pa.ipc.open_stream(io.BytesIO(b"".join(pieces(answer, ARROW))))
    table = stream.read_all()
    return {
        "wire": [field.oid, field.length, field.modifier],
        "text": [_text(encode_cell(cell, field, 0)) for cell in CELLS[kind]],
        "binary": [_hex(encode_cell(cell, field, 1)) for cell in CELLS[kind]],
        "json": b"".join(pieces(answer, JSON)).decode().partition('"rows":')[2].partition(',"intervals"')[0],
        "csv": b"".join(pieces(answer, CSV)).decode(),
        "arrow type": str(table.schema.field("x").type),
        "arrow": [repr(cell.as_py()) for cell in table.column("x")],
    }


def parameters(oid: int) -> dict[str, list[str]]:
    """What is read of a bound value of a type, in both formats; the error's class where nothing is."""
    texts = [text.encode() for text in (*_TEXTS[0].split(), *_TEXTS[1].split("|"))]
    return {
        "text": [_read(raw, 0, oid) for raw in (*texts, b"\xff")],
        "binary": [_read(raw, 1, oid) for raw in _BINARIES],
    }


def recorded() -> dict[str, object]:
    """All of it, as it is now."""
    return {
        "types": {kind: forms(kind) for kind in CELLS},
        "parameters": {str(oid): parameters(oid) for oid in _OIDS},
    }


def _text(encoded: bytes | None) -> str | None:
    return None if encoded is None else encoded.decode()


def _hex(encoded: bytes | None) -> str | None:
    return None if encoded is None else encoded.hex()


def _read(raw: bytes, format_: int, oid: int) -> str:
    try:
        return repr(bound_values([raw], [format_], [oid])[0])
    except (PlannerError, WireError) as error:
        return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    RECORD.write_text(json.dumps(recorded(), indent=1, ensure_ascii=False) + "\n")
