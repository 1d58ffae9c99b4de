"""An answer as one flat table, with interval columns after each noisy column and marks at the end; and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from planner.sql.sql_types import ResultType
from server.answer_columns import MadeRows, blocks
from server.query import MARKS, Cell, Interval, QueryResponse
from server.results.result_types import RESULT_TYPES, harmless

Columns = tuple[tuple[str, ResultType], ...]

_MARKS: Columns = tuple((name, "bool") for name in MARKS)


@dataclass(frozen=True)
class FlatTable:
    """Columns and rows.

    Attributes:
      rows: one cell per column; an unbounded end of an interval is None.
    """

    columns: Columns
    rows: Sequence[tuple[Cell, ...]]


def flat_columns(columns: Sequence[tuple[str, ResultType]], noisy: Sequence[bool]) -> Columns:
    """The columns, with `name_lo` and `name_hi` after each noisy one, and the marks at the end if any is noisy.

    >>> [name for name, _ in flat_columns([("nation", "text"), ("count", "int8")], [False, True])]
    ['nation', 'count', 'count_lo', 'count_hi', 'low_precision', 'clipped']
    >>> flat_columns([("n_name", "text")], [False])
    (('n_name', 'text'),)
    """
    wide: list[tuple[str, ResultType]] = []
    for (name, kind), has_interval in zip(columns, noisy, strict=True):
        wide.append((name, kind))
        if has_interval:
            wide += [(f"{name}_lo", "float8"), (f"{name}_hi", "float8")]
    return (*wide, *_MARKS) if any(noisy) else tuple(wide)


def flat(response: QueryResponse, noisy: Sequence[bool] | None = None) -> FlatTable:
    """The flat table of an answer.

    Args:
      noisy: which columns have intervals; None: those where any row has one.
    """
    columns = tuple((column.name, column.type) for column in response.columns)
    if noisy is None:
        noisy = [response.has_intervals(index) for index in range(len(columns))]
    return FlatTable(flat_columns(columns, noisy), _FlatRows(response, tuple(noisy)))


class _FlatRows(MadeRows[Cell]):
    """The rows of a flat table."""

    def __init__(self, response: QueryResponse, noisy: tuple[bool, ...]) -> None:
        self._response = response
        self._noisy = noisy

    def __len__(self) -> int:
        return len(self._response.rows)

    def _made(self, places: slice) -> tuple[tuple[Cell, ...], ...]:
        response = self._response
        rows, intervals = response.rows[places], response.intervals[places]
        if not any(self._noisy):
            return tuple(map(tuple, rows))
        marked = [marks[places] or (False,) * len(rows) for marks in response.marks.values()]
        return tuple(
            (*self._wide(cells, around), *marks)
            for cells, around, *marks in zip(rows, intervals, *marked, strict=True)
        )

    def _wide(self, cells: Sequence[Cell], around: Sequence[Interval | None]) -> Iterator[Cell]:
        """Each cell, followed by the ends of its interval if its column is noisy."""
        for cell, interval, noisy in zip(cells, around, self._noisy, strict=True):
            yield cell
            if noisy:
                yield from (None, None) if interval is None else (interval.low, interval.high)


def csv_text(response: QueryResponse, end: str = "\r\n") -> str:
    """The flat table as CSV (RFC 4180) with a header. NULL and unbounded ends are empty, and no text is a formula."""
    return "".join(csv_pieces(response, end))


def csv_pieces(response: QueryResponse, end: str = "\r\n") -> Iterator[str]:
    """As `csv_text`, in pieces of some lines that are made on demand."""
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
