"""Spellings of dates and times mean what they mean to PostgreSQL, by the type that they take."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, time
from itertools import product

import psycopg
import pytest

from planner.sql.datetimes import MomentText, read_moment
from server.backends.embedded import EmbeddedPostgres

DAYS = ["2023-06-01", "2023-6-1", "20230601", " 2023-06-01", "2024-02-29", "2023-02-29", "2023-13-01", "0001-01-01",
        "9999-12-31", "2023-006-01", "23-6-1"]  # fmt: skip
TIMES = ["", " 00:00:00", "T00:00:00", "t12:30", " 12:30", "  1:02:03", " 23:59:59.999999", " 12:00:00.1234567",
         " 12:00:00.0000005", " 12:00:00.", " 24:00:00", " 24:00:01", " 12:60:00", " 12:59:60", " 12:00:61", " 25:00",
         "T1", " 1:2:3", " T 12:00", "T12:00:00,5", " 23:59:60", " 00:00:60.5"]  # fmt: skip
ZONES = ["", "Z", "z", " Z", "+00", "-00", "+0530", "+05:30", " +05:30", "-8", "+530", "+5:30", "+05:30:15", "+15:59",
         "+16", "-16", "+05:60", " UTC", "utc", "+", " -", "+5:3", "+053015", " "]  # fmt: skip
SPELLINGS = list(map("".join, product(DAYS, TIMES, ZONES)))


@pytest.fixture(scope="module")
def connection(embedded_postgres: EmbeddedPostgres) -> Iterator[psycopg.Connection]:
    with psycopg.connect(embedded_postgres.url(), autocommit=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection


def _given(spellings: list[str], kind: str, connection: psycopg.Connection) -> list[str | None]:
    """PostgreSQL's reading as text, None for what it refuses."""
    rows = connection.execute(
        "SELECT CASE WHEN pg_input_is_valid(t, %s) THEN t END FROM unnest(%s::text[]) WITH ORDINALITY AS u(t, n) "
        "ORDER BY n",
        (kind, spellings),
    ).fetchall()
    valid = [text for (text,) in rows]
    sql = f"SELECT CAST(CAST(CAST(t AS {kind}) AS timestamp) AS text) FROM unnest(%s::text[]) WITH ORDINALITY u(t, n)"
    return [text for (text,) in connection.execute(f"{sql} ORDER BY n".encode(), (valid,)).fetchall()]


def _ours(read: MomentText | None, kind: str) -> str | None:
    if read is None:
        return None
    moments = {"date": datetime.combine(read.day, time()), "timestamp": read.local, "timestamptz": read.utc}
    moment = moments[kind]
    return None if moment is None else moment.isoformat(sep=" ")


def _plain(text: str | None) -> str | None:
    """Without the last zeros of a fraction, and beyond the years 1 to 9999 nothing."""
    if text is None or text[4] != "-" or text.endswith("BC"):
        return None
    whole, _, fraction = text.partition(".")
    return f"{whole}.{fraction.rstrip('0')}".rstrip(".")


def test_a_spelling_means_what_it_means_to_postgresql(connection: psycopg.Connection) -> None:
    for kind in ("date", "timestamp", "timestamptz"):
        given = _given(SPELLINGS, kind, connection)
        pairs = zip(SPELLINGS, given, strict=True)
        found = [(text, _plain(_ours(read_moment(text), kind)), _plain(expected)) for text, expected in pairs]
        assert [entry for entry in found if entry[1] != entry[2]] == [], kind
        assert 1_000 < sum(ours is not None for _, ours, _ in found) < len(SPELLINGS)
