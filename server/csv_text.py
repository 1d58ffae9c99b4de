"""An answer as CSV, for people who open it in a spreadsheet."""

from __future__ import annotations

import csv
import io

from server.flat_answer import flat
from server.query import Cell, QueryResponse

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_text(response: QueryResponse, end: str = "\r\n") -> str:
    """The flat table by RFC 4180, names first; NULL and an interval's open end are empty, no text is a formula.

    Args:
      end: of each line.
    """
    table = flat(response)
    written = io.StringIO(newline="")
    lines = csv.writer(written, lineterminator=end)
    lines.writerow([harmless(name) for name, _ in table.columns])
    texts = [kind == "text" for _, kind in table.columns]
    lines.writerows([list(map(_spelled, row, texts)) for row in table.rows])
    return written.getvalue()


def harmless(text: str) -> str:
    """The text, with an apostrophe before what spreadsheets take for a formula: who opens an answer wrote none.

    Group keys may be texts that anybody has put into the data. JSON and Arrow have them as they are.

    >>> harmless("=1+1"), harmless("FRANCE")
    ("'=1+1", 'FRANCE')
    """
    return f"'{text}" if text.startswith(_FORMULA) else text


def _spelled(cell: Cell, is_text: bool) -> str:
    if cell is None:
        return ""
    if is_text:
        return harmless(str(cell))
    return str(cell).lower() if isinstance(cell, bool) else str(cell)
