"""Rows of public tables as clients see them: exact, in few types."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Protocol

from planner.errors import StatementTooComplex
from planner.limits import MAX_PUBLIC_BYTES, MAX_PUBLIC_ROWS
from planner.plan import ResultType
from server.errors import ComputationFailed
from server.query import Cell

Rows = tuple[tuple[Cell, ...], ...]

_CELL_BYTES = 8
_FETCH_ROWS = 64
"""Few, since what a row holds is seen only once it is here."""


class Cursor(Protocol):
    """What both databases' drivers give for a statement."""

    def fetchmany(self, size: int, /) -> Sequence[Any]:
        """The next rows."""


def public_rows(cursor: Cursor, types: Sequence[ResultType]) -> Rows:
    """All rows of a statement, no more of which is taken in than may be answered.

    Args:
      cursor: its result, as it comes; the statement ends after MAX_PUBLIC_ROWS rows and one.
      types: of its columns.
    Raises: StatementTooComplex for that one row more, and for more than MAX_PUBLIC_BYTES.
    """
    rows: list[Any] = []
    size = 0
    while block := cursor.fetchmany(_FETCH_ROWS):
        rows += block
        size += sum(_CELL_BYTES + (len(value) if isinstance(value, str) else 0) for row in block for value in row)
        if len(rows) > MAX_PUBLIC_ROWS:
            hint = "add LIMIT, or predicates"
            raise StatementTooComplex(f"the answer has more than {MAX_PUBLIC_ROWS} rows", hint=hint)
        if size > MAX_PUBLIC_BYTES:
            hint = "add LIMIT or predicates, or select less"
            raise StatementTooComplex(f"the answer has more than {MAX_PUBLIC_BYTES >> 20} MiB", hint=hint)
    numerics = [kind == "numeric" for kind in types]
    return tuple(
        tuple(_numeric(value) if numeric else value for value, numeric in zip(row, numerics, strict=True))
        for row in rows
    )


def _numeric(value: int | float | Decimal | None) -> Cell:
    """A number that JSON carries without loss: whole, a double of the same digits, or else its digits as text.

    >>> [_numeric(Decimal(text)) for text in ("12.50", "7", "0.1234567890123456789", "NaN")]
    [12.5, 7, '0.1234567890123456789', 'NaN']
    """
    if not isinstance(value, Decimal):
        return value
    if not value.is_finite():
        return str(value)
    if value == value.to_integral_value() and value.adjusted() <= _DOUBLE_DIGITS:
        return int(value)
    return float(value) if Decimal(repr(float(value))) == value else format(value, "f")


_DOUBLE_DIGITS = 14


def no_value() -> ComputationFailed:
    """What a client is told of a number that overflows, or a subquery of several rows that stands for one value."""
    hint = "look for overflows, and for subqueries of several rows; nothing was charged"
    return ComputationFailed("something that the query computes has no value", hint=hint)
