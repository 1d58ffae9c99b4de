"""An answer as one flat table: each noisy column is followed by its interval, each row ends in whether it is weak."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.plan import ResultType
from server.query import Cell, QueryResponse

Columns = tuple[tuple[str, ResultType], ...]

_WEAK: Columns = (("weak", "bool"),)


@dataclass(frozen=True)
class FlatAnswer:
    """Columns and rows.

    Attributes:
      columns: name and type of each.
      rows: one cell per column; an interval's end that is not bounded is None.
    """

    columns: Columns
    rows: tuple[tuple[Cell, ...], ...]


def flat_columns(columns: Sequence[tuple[str, ResultType]], noisy: Sequence[bool]) -> Columns:
    """The columns, with `name_lo` and `name_hi` after each noisy one, and `weak` behind them all if there is one.

    >>> flat_columns([("nation", "text"), ("count", "int8")], [False, True])
    (('nation', 'text'), ('count', 'int8'), ('count_lo', 'float8'), ('count_hi', 'float8'), ('weak', 'bool'))
    >>> flat_columns([("n_name", "text")], [False])
    (('n_name', 'text'),)
    """
    wide: list[tuple[str, ResultType]] = []
    for (name, kind), has_interval in zip(columns, noisy, strict=True):
        wide.append((name, kind))
        if has_interval:
            wide += [(f"{name}_lo", "float8"), (f"{name}_hi", "float8")]
    return (*wide, *_WEAK) if any(noisy) else tuple(wide)


def flat(response: QueryResponse, noisy: Sequence[bool] | None = None) -> FlatAnswer:
    """The table of an answer.

    Args:
      noisy: which columns have intervals; None: those where any row has one.
    """
    columns = tuple((column.name, column.type) for column in response.columns)
    if noisy is None:
        noisy = [any(row[index] is not None for row in response.intervals) for index in range(len(columns))]
    rows = []
    marks = response.weak or (False,) * len(response.rows)
    for cells, intervals, weak in zip(response.rows, response.intervals, marks, strict=True):
        row: list[Cell] = []
        for cell, interval, wide in zip(cells, intervals, noisy, strict=True):
            row.append(cell)
            if wide:
                row += [None, None] if interval is None else [interval.low, interval.high]
        rows.append((*row, weak) if any(noisy) else tuple(row))
    return FlatAnswer(flat_columns(columns, noisy), tuple(rows))
