"""An answer as CSV, for people who open it in a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from server.answer_columns import blocks
from server.query import QueryResponse
from server.results.flat_table import flat
from server.results.result_types import RESULT_TYPES, harmless


def csv_text(response: QueryResponse, end: str = "\r\n") -> str:
    """The flat table by RFC 4180, names first; NULL and an interval's open end are empty, no text is a formula.

    Args:
      end: of each line.
    """
    return "".join(csv_pieces(response, end))


def csv_pieces(response: QueryResponse, end: str = "\r\n") -> Iterator[str]:
    """As `csv_text`, some lines at a time, made when they are asked for."""
    table = flat(response)
    forms = [RESULT_TYPES[kind].csv for _, kind in table.columns]
    yield _lines([[harmless(name) for name, _ in table.columns]], end)
    for rows in blocks(table.rows, len(table.columns)):
        written = [
            ["" if cell is None else form(cell) for cell, form in zip(row, forms, strict=True)] for row in rows
        ]
        yield _lines(written, end)


def _lines(rows: list[list[str]], end: str) -> str:
    written = io.StringIO(newline="")
    csv.writer(written, lineterminator=end).writerows(rows)
    return written.getvalue()
