"""Columns of whole numbers, from a database to arrays without an object per value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NONE = -(1 << 63)
"""Stands for NULL on the way; a column that holds it is read row by row."""

_HEADER, _ELEMENT, _LENGTH = 20, 12, 4
"""Bytes of PostgreSQL's binary form of an array of one dimension, of each bigint in it, and of that one's length."""


@dataclass(frozen=True, eq=False, repr=False)
class Integers:
    """A column of whole numbers. Private.

    Attributes:
      values: (m,) int64; undefined where `missing`.
      missing: (m,) bool, where the value is NULL.
    """

    values: NDArray[np.int64]
    missing: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[int | None]:
        for value, missing in zip(self.values.tolist(), self.missing.tolist(), strict=True):
            yield None if missing else value

    def __repr__(self) -> str:
        return "Integers(<private>)"


Column = tuple[object, ...] | Integers
"""One value per row, None for NULL."""


def whole(column: Column) -> NDArray[np.int64]:
    """The values of a column that holds no NULL."""
    if isinstance(column, Integers):
        assert not column.missing.any(), "a count or a weight is never NULL"
        return column.values
    return np.array(column, dtype=np.int64)


def arrays_sql(statement: str, names: Sequence[str], most: int) -> str:
    """PostgreSQL's SQL of one row: how many rows a statement has, is `NONE` in any of them, each column as an array.

    A row of a result costs the driver a microsecond per value and two hundred bytes; an array of a million values is
    one value. What the database holds for it is nine bytes per value, which `most` bounds.

    Args:
      statement: a SELECT of bigint, integer and smallint columns.
      names: of its columns.
      most: rows that are read; one more is counted.

    >>> print(arrays_sql("SELECT o_custkey AS o0 FROM orders", ["o0"], 9).replace(", ", ",\\n"))
    SELECT count(*),
    coalesce(bool_or("o0" = '-9223372036854775808'::bigint),
    FALSE),
    array_agg(coalesce("o0",
    '-9223372036854775808'::bigint)) FROM (SELECT * FROM (SELECT o_custkey AS o0 FROM orders) q LIMIT 10) r
    """
    none = f"'{NONE}'::bigint"
    held = " OR ".join(f'"{name}" = {none}' for name in names)
    columns = ", ".join(f'array_agg(coalesce("{name}", {none}))' for name in names)
    rows = f"SELECT * FROM ({statement}) q LIMIT {most + 1}"
    return f"SELECT count(*), coalesce(bool_or({held}), FALSE), {columns} FROM ({rows}) r"


def from_array(data: bytes | None) -> Integers:
    """A column from PostgreSQL's binary form of an array of bigint without NULL; of no row there is none."""
    if data is None:
        return Integers(np.zeros(0, np.int64), np.zeros(0, np.bool_))
    elements = np.frombuffer(data, np.uint8, offset=_HEADER).reshape(-1, _ELEMENT)
    values = np.ascontiguousarray(elements[:, _LENGTH:]).view(">i8").ravel().astype(np.int64)
    return Integers(values, values == NONE)
