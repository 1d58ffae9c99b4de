"""A statement's columns from Arrow: whole numbers without an object per value, texts with one per distinct value.

A text may hold bytes that are no UTF-8, and Spark takes two texts for one where all bytes are equal. So does the
proxy: were such bytes written as letters, texts that Spark counts apart would be one key here, and a unit with many
spellings of it would be truncated in each of them. Of files a session shows none (`FileTable.values_sql`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute

from server.backends.integer_columns import Column, Integers


def arrow_columns(tables: Sequence[pa.Table], width: int) -> list[Column]:
    """The columns of a result that came in parts.

    Cost: linear; whole numbers are copied once.
    """
    if not tables:
        return [()] * width
    whole = pa.concat_tables(tables)
    return [_column(whole.column(place)) for place in range(whole.num_columns)]


def _column(values: pa.ChunkedArray) -> Column:
    if pa.types.is_integer(values.type):
        missing = np.asarray(compute.is_null(values).to_numpy(), np.bool_)
        known = compute.fill_null(values, 0) if values.null_count else values
        return Integers(np.asarray(known.to_numpy(), np.int64), missing)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return _texts(values)
    return tuple(values.to_pylist())


def _texts(values: pa.ChunkedArray) -> tuple[object, ...]:
    """Different bytes are different texts, also where they are no UTF-8: an error would tell of the row with them."""
    coded = compute.dictionary_encode(values.combine_chunks())
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.combine_chunks()
    words = np.empty(len(coded.dictionary) + 1, object)
    words[: len(coded.dictionary)] = [_text(word) for word in coded.dictionary]
    words[-1] = None
    places = compute.fill_null(coded.indices, len(coded.dictionary)).to_numpy(zero_copy_only=False)
    return tuple(words[places].tolist())


def _text(word: Any) -> str:
    """A byte that is no UTF-8 is half of a surrogate pair, which no UTF-8 has: no text is written so otherwise."""
    data: bytes = word.as_buffer().to_pybytes()
    return data.decode(errors="surrogateescape")


def shown_text(value: object) -> object:
    r"""A text that a client can be sent, its bytes that are no UTF-8 as \xff; anything else as it is.

    >>> shown_text("a\udcff"), shown_text(7)
    ('a\\xff', 7)
    """
    if not isinstance(value, str) or value.isascii():
        return value
    return value.encode(errors="surrogateescape").decode(errors="backslashreplace")
