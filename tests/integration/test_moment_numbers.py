"""Dates and times in the binary form, held against PostgreSQL's own for all of its calendar."""

from __future__ import annotations

import psycopg
import pyarrow as pa
import pytest

from planner.sql.datetimes import zoned_text
from planner.sql.sql_types import ResultType
from server.pgwire.wire_values import encode_cell, field_of
from server.results.result_types import RESULT_TYPES
from tests.support.seeds import examples

DAYS = """
SELECT d::text, date_send(d) FROM (
  SELECT date '4713-11-24 BC' + n * {step} AS d FROM generate_series(0, {days}) AS n
  UNION ALL SELECT unnest(ARRAY['infinity', '-infinity', '0001-12-31 BC', '0001-02-29 BC', '9999-12-31',
    '10000-01-01', '5874897-12-31', '4714-11-24 BC']::date[])
) AS q
"""
MOMENTS = """
SELECT t::text, timestamp_send(t) FROM (
  SELECT timestamp '4713-11-24 00:00:00.000001 BC'
    + n * {step} * interval '39 days 7 hours 11 minutes 1.000031 seconds' AS t
  FROM generate_series(0, {days}) AS n
  UNION ALL SELECT unnest(ARRAY['infinity', '-infinity', '0044-03-15 23:59:59.999999 BC',
    '294276-12-31 23:59:59.999999', '4714-11-24 00:00:00 BC',
    '2000-01-01 00:00:00', '1999-12-31 23:59:59.5']::timestamp[])
) AS q
"""


@pytest.mark.parametrize(("kind", "sql"), [("date", DAYS), ("timestamp", MOMENTS)])
def test_every_date_and_time_of_postgresql_is_sent_as_it_sends_them(
    tpch_url: str, kind: ResultType, sql: str
) -> None:
    days = examples(3_000, 270_000)
    with psycopg.connect(tpch_url) as connection:
        rows = connection.execute(sql.format(days=days, step=270_000 // days).encode()).fetchall()
    assert len(rows) > days
    wrong = [(text, sent) for text, sent in rows if encode_cell(text, field_of("x", kind), 1) != bytes(sent)]
    assert wrong[:5] == []
    if kind == "timestamp":
        assert all(
            encode_cell(zoned_text(text), field_of("x", "timestamptz"), 1) == bytes(sent)
            for text, sent in rows[-1_000:]
        )


def test_arrow_counts_from_1970_and_has_no_end_of_days() -> None:
    cases: list[tuple[ResultType, str, int | None]] = [
        ("date", "1970-01-02", 1),
        ("date", "12026-01-01", 3_672_879),
        ("date", "infinity", None),
        ("timestamp", "1969-12-31 23:59:59.000001", -999_999),
        ("timestamptz", "1970-01-01 00:00:01+00", 1_000_000),
        ("timestamptz", "-infinity", None),
        ("timestamp", "294276-12-31 23:59:59", None),
    ]
    for kind, text, expected in cases:
        forms = RESULT_TYPES[kind]
        column = pa.array([forms.arrow(text), None], forms.arrow_type(pa))
        stored = column.cast(pa.int32() if kind == "date" else pa.int64())
        assert stored.to_pylist() == [expected, None], (kind, text)
