"""Columns of whole numbers, from a database to arrays without an object per value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.kernel import kernel

_HEADER, _ELEMENT, _LENGTH = 20, 12, 4
"""Bytes of PostgreSQL's binary form of an array of one dimension, of each bigint in it, and of that one's length."""
_NULLS, _ROWS = slice(4, 8), slice(12, 16)
"""Where that form says whether an element is NULL, and how many there are."""
_LENGTH_OF_NULL = np.uint32(0xFFFFFFFF)


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
    """PostgreSQL's SQL of one row: how many rows a statement has, and each of its columns as an array.

    A row of a result costs the driver a microsecond per value and two hundred bytes; an array of a million values is
    one value. While it is made, the database holds some thirty bytes per value, which `most` bounds.

    Args:
      statement: a SELECT of bigint, integer and smallint columns.
      names: of its columns.
      most: rows that are read; one more is counted.

    >>> arrays_sql("SELECT a FROM t", ["a"], 9)
    'SELECT count(*), array_agg("a"::bigint) FROM (SELECT * FROM (SELECT a FROM t) q LIMIT 10) r'
    """
    columns = ", ".join(f'array_agg("{name}"::bigint)' for name in names)
    rows = f"SELECT * FROM ({statement}) q LIMIT {most + 1}"
    return f"SELECT count(*), {columns} FROM ({rows}) r"


def grouped_arrays_sql(statement: str, keys: Sequence[str], names: Sequence[str], most: int) -> str:
    """PostgreSQL's SQL of one row per combination of keys: how many rows have it, the keys, and the rest as arrays.

    A group key that is no number would be sent, and made an object of, once per row; here it is once per group.

    Args:
      statement: a SELECT of the keys, of any types that it groups by, and of bigint, integer and smallint columns.
      keys, names: of its columns, apart.
      most: rows that are read; one more is counted.

    >>> grouped_arrays_sql("SELECT k, a FROM t", ["k"], ["a"], 9)
    'SELECT count(*), "k", array_send(array_agg("a"::bigint)) FROM (SELECT * FROM (SELECT k, a FROM t) q LIMIT 10) r \
GROUP BY "k"'
    """
    grouped = ", ".join(f'"{key}"' for key in keys)
    columns = ", ".join(f'array_send(array_agg("{name}"::bigint))' for name in names)
    rows = f"SELECT * FROM ({statement}) q LIMIT {most + 1}"
    return f"SELECT count(*), {grouped}, {columns} FROM ({rows}) r GROUP BY {grouped}"


def from_arrays(data: Sequence[bytes], rows: NDArray[np.int64]) -> Integers:
    """A column from PostgreSQL's binary forms of several arrays of bigint, one behind the other.

    Args:
      data: the G arrays, none of them without elements.
      rows: (G,) how many elements each has.
    Cost: linear in the bytes.
    """
    words = np.frombuffer(b"".join(data), ">u4").astype(np.uint32)
    return Integers(*_behind_headers(words, rows))


def from_array(data: bytes | None) -> Integers:
    """A column from PostgreSQL's binary form of an array of bigint; of no row there is none.

    Cost: linear; an array with a NULL in it is walked through, for a NULL is shorter than a number.
    """
    if data is None:
        return Integers(np.zeros(0, np.int64), np.zeros(0, np.bool_))
    elements = np.frombuffer(data, np.uint8, offset=_HEADER)
    if int.from_bytes(data[_NULLS], "big"):
        words = elements.view(">u4").astype(np.uint32)
        return Integers(*_with_nulls(words, int.from_bytes(data[_ROWS], "big")))
    values = np.ascontiguousarray(elements.reshape(-1, _ELEMENT)[:, _LENGTH:]).view(">i8").ravel().astype(np.int64)
    return Integers(values, np.zeros(len(values), np.bool_))


@kernel
def _behind_headers(
    words: NDArray[np.uint32], rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The elements of arrays that follow one another, each behind its header."""
    values = np.zeros(rows.sum(), np.int64)
    missing = np.zeros(len(values), np.bool_)
    place = row = 0
    for most in rows:
        place += _HEADER // 4
        for _ in range(most):
            if words[place] == _LENGTH_OF_NULL:
                missing[row] = True
                place += 1
            else:
                values[row] = (np.int64(words[place + 1]) << 32) | np.int64(words[place + 2])
                place += 3
            row += 1
    return values, missing


@kernel
def _with_nulls(words: NDArray[np.uint32], rows: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The elements of an array: a word of the length, and two of the value unless the length is that of a NULL."""
    values = np.zeros(rows, np.int64)
    missing = np.zeros(rows, np.bool_)
    place = 0
    for row in range(rows):
        if words[place] == _LENGTH_OF_NULL:
            missing[row] = True
            place += 1
        else:
            values[row] = (np.int64(words[place + 1]) << 32) | np.int64(words[place + 2])
            place += 3
    return values, missing
