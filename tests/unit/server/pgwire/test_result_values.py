"""The cells of answers, held against psycopg's own reading of both formats."""

from __future__ import annotations

import math
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from psycopg import pq
from psycopg.adapt import Transformer

from planner.sql.sql_types import ResultType
from server.pgwire.result_rows import Table
from server.pgwire.wire_values import encode_cell, field_of, oid_of
from server.query import Cell

FORMATS = (pq.Format.TEXT, pq.Format.BINARY)


def read_back(cell: Cell, kind: ResultType, format_: pq.Format) -> Any:
    encoded = encode_cell(cell, field_of("x", kind), int(format_))
    assert encoded is not None
    return Transformer().get_loader(oid_of(kind), format_).load(encoded)


@given(value=st.integers(-(2**63), 2**63 - 1))
def test_whole_numbers_read_back_as_sent(value: int) -> None:
    for format_ in FORMATS:
        assert read_back(value, "int8", format_) == value, format_


def test_a_count_beyond_int8_is_cut_to_its_end() -> None:
    for format_ in FORMATS:
        for value, cut in [(2**70, 2**63 - 1), (-(2**70), -(2**63))]:
            assert read_back(value, "int8", format_) == cut, (format_, value)


@given(value=st.floats(allow_nan=False))
def test_floats_read_back_as_sent(value: float) -> None:
    for format_ in FORMATS:
        assert read_back(value, "float8", format_) == value, format_


def test_nan_reads_back_as_nan() -> None:
    for format_ in FORMATS:
        assert math.isnan(read_back(math.nan, "float8", format_)), format_


@given(value=st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**25), max_value=10**25))
def test_numerics_read_back_as_sent(value: Decimal) -> None:
    for format_ in FORMATS:
        assert read_back(str(value), "numeric", format_) == value, format_


@given(value=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_texts_read_back_as_sent(value: str) -> None:
    for format_ in FORMATS:
        assert read_back(value, "text", format_) == value, format_


@given(value=st.booleans())
def test_booleans_read_back_as_sent(value: bool) -> None:
    for format_ in FORMATS:
        assert read_back(value, "bool", format_) is value, format_


@given(value=st.dates())
def test_dates_read_back_as_sent(value: date) -> None:
    for format_ in FORMATS:
        assert read_back(value.isoformat(), "date", format_) == value, format_


@given(value=st.datetimes())
def test_timestamps_read_back_as_sent(value: datetime) -> None:
    for separator in ["T", " "]:
        for format_ in FORMATS:
            assert read_back(value.isoformat(sep=separator), "timestamp", format_) == value, (separator, format_)


def test_null_has_no_bytes() -> None:
    cases: list[ResultType] = ["int8", "float8", "numeric", "text", "bool", "date", "timestamp"]
    for kind in cases:
        assert encode_cell(None, field_of("x", kind), 0) is None, kind
        assert encode_cell(None, field_of("x", kind), 1) is None, kind


def test_a_field_tells_how_long_its_values_are() -> None:
    assert (field_of("n", "int8").oid, field_of("n", "int8").length) == (20, 8)
    assert (field_of("t", "text").oid, field_of("t", "text").length) == (25, -1)


def test_moments_are_written_in_the_zone_of_the_session() -> None:
    """As PostgreSQL writes them. A moment without a zone, such as the month of a date, begins in the session's."""
    column = field_of("m", "timestamptz")
    cells = ["2024-07-01 00:30:00.5+00", "2024-07-01 00:00:00", "infinity", "0044-03-15 12:00:00+00 BC", None]
    table = Table((column,), [(cell,) for cell in cells], zone="Asia/Kolkata")
    assert [text for (text,) in table.texts(range(5))] == [
        "2024-07-01 06:00:00.5+05:30", "2024-07-01 00:00:00+05:30", "infinity", "0044-03-15 12:00:00+00 BC", None
    ]  # fmt: skip
    ((packed,),) = table.rows(range(1, 2), (1,))
    assert packed == encode_cell("2024-06-30 18:30:00+00", column, 1)
