"""Rows of public tables as clients see them: exact, in few types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Any

import numpy as np

from planner.errors import StatementTooComplex, UnsupportedSQL
from planner.limits import MAX_PUBLIC_BYTES, MAX_PUBLIC_ROWS
from planner.postprocessing.write_outer import OuterStatement
from planner.sql.datetimes import zoned_text
from planner.sql.sql_types import ResultType
from server.errors import ComputationFailed
from server.query import Cell, text_bytes

Rows = tuple[tuple[Cell, ...], ...]

_CELL_BYTES = 8
_FETCH_ROWS = 64
"""A small block, because the size of a row is known only once it has arrived."""


@dataclass(frozen=True)
class Computed:
    """The result of a statement over released answers and public tables.

    Attributes:
      rows: empty if only the columns were requested.
    """

    columns: tuple[tuple[str, ResultType], ...]
    rows: Rows = ()


_SHOWN_TYPES: Mapping[str, ResultType] = {
    "int2": "int8", "int4": "int8", "int8": "int8", "smallint": "int8", "integer": "int8", "bigint": "int8",
    "tinyint": "int8", "numeric": "numeric", "decimal": "numeric", "hugeint": "numeric",
    "float4": "float4", "real": "float4", "float": "float4", "float8": "float8", "double": "float8",
    "bool": "bool", "boolean": "bool", "date": "date", "timestamp": "timestamp",
    "timestamptz": "timestamptz", "timestamp with time zone": "timestamptz",
}  # fmt: skip
"""Result types by the database's name of a type, without its size. Other types are shown as text."""


def computed_type(name: str) -> ResultType:
    """The result type of a computed column.

    >>> computed_type("DECIMAL(18,3)"), computed_type("interval")
    ('numeric', 'text')
    """
    return _SHOWN_TYPES.get(name.lower().split("(")[0].strip(), "text")


def shown_sql(place: int, kind: ResultType) -> str:
    """SQL that converts the computed column c0, c1, ... to its result type; dates and timestamps become ISO text."""
    column = f"c{place}"
    if kind == "timestamptz":
        return f"CAST({column} AT TIME ZONE 'UTC' AS TEXT)"
    if kind in ("text", "date", "timestamp"):
        return f"CAST({column} AS TEXT)"
    return f"CAST({column} AS BIGINT)" if kind == "int8" else column


def not_computable(statement: OuterStatement, reason: str) -> UnsupportedSQL:
    """The error for a statement that the database cannot parse or plan.

    The reason is the database's own message. The statement ran over no rows, so the message reveals none.
    """
    what = "the outer SELECT around the noisy answers" if statement.relations else "the statement"
    return UnsupportedSQL(f"{what} cannot be computed: {reason}", hint="nothing was charged")


def not_computed(statement: OuterStatement, reason: str) -> ComputationFailed:
    """The error for a statement without a value. The client may see all rows that it computes with."""
    if not statement.relations:
        return ComputationFailed(
            f"the statement failed: {reason}", hint="change the statement and ask again; nothing was charged"
        )
    hint = "the answers are cached: change the outer SELECT and ask again; nothing more is charged"
    return ComputationFailed(f"the outer SELECT around the noisy answers failed: {reason}", hint=hint)


def public_rows(arriving: Iterable[Sequence[Any]], types: Sequence[ResultType], *, computed: bool = False) -> Rows:
    """Convert streamed rows to cells, up to the limits of an answer.

    Args:
      computed: are they of `shown_sql`? Then moments with a zone are texts without it.
    Raises: StatementTooComplex beyond MAX_PUBLIC_ROWS or MAX_PUBLIC_BYTES.
    """
    made = [_zoned if computed and kind == "timestamptz" else _MADE.get(kind) for kind in types]
    rows: list[tuple[Cell, ...]] = []
    size = 0
    coming = iter(arriving)
    while fetched := list(islice(coming, _FETCH_ROWS)):
        block = [
            tuple(value if cell is None else cell(value) for value, cell in zip(row, made, strict=True))
            for row in fetched
        ]
        rows += block
        size += _CELL_BYTES * len(block) * len(made) + text_bytes(block)
        if len(rows) > MAX_PUBLIC_ROWS:
            hint = "add LIMIT or conditions"
            raise StatementTooComplex(f"the answer has more than {MAX_PUBLIC_ROWS} rows", hint=hint)
        if size > MAX_PUBLIC_BYTES:
            hint = "add LIMIT or conditions, or select less"
            raise StatementTooComplex(f"the answer has more than {MAX_PUBLIC_BYTES >> 20} MiB", hint=hint)
    return tuple(rows)


def _numeric(value: int | float | Decimal | None) -> Cell:
    """A number without loss in JSON: an integer, a double with the same digits, or else a text.

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


def _real(value: float | None) -> Cell:
    """A real by its shortest digits, as PostgreSQL shows it.

    >>> _real(0.10000000149011612), _real(None)
    (0.1, None)
    """
    return value if value is None else float(str(np.float32(value)))


def _zoned(value: str | None) -> Cell:
    return None if value is None else zoned_text(value)


_MADE: Mapping[ResultType, Callable[[Any], Cell]] = {"numeric": _numeric, "float4": _real}

_DOUBLE_DIGITS = 14


def no_value() -> ComputationFailed:
    """The error for an overflow, and for a scalar subquery with several rows."""
    hint = "check for overflows, and for scalar subqueries with several rows; nothing was charged"
    return ComputationFailed("an expression of the query has no value", hint=hint)
