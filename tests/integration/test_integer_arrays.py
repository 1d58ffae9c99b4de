"""Whole numbers from PostgreSQL come as arrays, one per group key, beside other columns in rows: the same values."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from server.backends.columns import Integers
from server.backends.postgres import PostgresBackend, ReadLimits, connected
from server.backends.query_tuples import Room
from server.errors import QueryCancelled

NUMBERS = (
    "SELECT CASE WHEN i % 5 > 0 THEN i END AS o0, (i % 7)::smallint AS k0, i::integer AS w0 "
    "FROM generate_series(1::bigint, 40) i"
)


@pytest.fixture
def backend(scratch_url: str) -> PostgresBackend:
    return PostgresBackend(scratch_url)


def _read(backend: PostgresBackend, statement: str, width: int = 3) -> list[object]:
    with connected(backend.url, 10_000) as connection:
        return list(backend._columns(connection, Room(backend.limits.rows), statement, width))


def _expected() -> Iterator[list[int | None]]:
    numbers = range(1, 41)
    yield [i if i % 5 else None for i in numbers]
    yield [i % 7 for i in numbers]
    yield list(numbers)


def test_whole_numbers_come_as_arrays(backend: PostgresBackend) -> None:
    columns = _read(backend, NUMBERS)
    assert all(isinstance(column, Integers) for column in columns)
    assert [list(column) for column in columns] == list(_expected())  # type: ignore[call-overload]


def test_nothing_comes_as_arrays_of_nothing(backend: PostgresBackend) -> None:
    assert [list(column) for column in _read(backend, f"{NUMBERS} WHERE i > 99")] == [[], [], []]  # type: ignore[call-overload]


def test_no_value_stands_for_none(backend: PostgresBackend) -> None:
    least = -(1 << 63)
    columns = _read(backend, NUMBERS.replace("THEN i END", f"THEN i WHEN i = 20 THEN '{least}'::bigint END"))
    assert all(isinstance(column, Integers) for column in columns)
    expected = next(_expected())
    assert list(columns[0]) == [*expected[:19], least, *expected[20:]]  # type: ignore[call-overload]


@pytest.mark.parametrize("least", [0, -(1 << 63)])
def test_beside_group_keys_they_come_as_an_array_for_each(backend: PostgresBackend, least: int) -> None:
    """The keys too, NULL among them, and every row with its own."""
    text = "CASE WHEN i % 7 > 0 THEN repeat('long', (i % 7)::integer * 1000) END AS k0, i % 3 = 0 AS k1"
    statement = NUMBERS.replace("(i % 7)::smallint AS k0", text)
    columns = _read(backend, statement.replace("THEN i END", f"THEN i WHEN i = 20 THEN '{least}'::bigint END"), 4)
    assert [isinstance(column, Integers) for column in columns] == [True, False, False, True]
    found = sorted(zip(*columns, strict=True), key=lambda row: row[3])
    assert found == [
        (i if i % 5 else least if i == 20 else None, "long" * (i % 7 * 1000) or None, i % 3 == 0, i)
        for i in range(1, 41)
    ]


def test_nothing_beside_group_keys_is_nothing(backend: PostgresBackend) -> None:
    statement = NUMBERS.replace("(i % 7)::smallint", "(i % 7)::text")
    assert [list(column) for column in _read(backend, f"{statement} WHERE i > 99")] == [[], [], []]  # type: ignore[call-overload]


def test_beside_a_text_that_is_no_group_key_they_come_row_by_row(backend: PostgresBackend) -> None:
    columns = _read(backend, NUMBERS.replace("(i % 7)::smallint AS k0", "(i % 7)::text AS v"))
    first, keys, last = _expected()
    assert not any(isinstance(column, Integers) for column in columns)
    assert [list(column) for column in columns] == [first, [str(key) for key in keys], last]  # type: ignore[call-overload]


KEYS = ("smallint AS k0", "text AS k0", "text AS v")


def test_a_statement_runs_once_whatever_its_rows_hold(
    backend: PostgresBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []
    execute = psycopg.Cursor.execute

    def counted(cursor: psycopg.Cursor[object], sql: bytes, *rest: object, **options: object) -> object:
        ran.append(sql.decode())
        return execute(cursor, sql, *rest, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(psycopg.Cursor, "execute", counted)
    for key in KEYS:
        statement = NUMBERS.replace("(i % 7)::smallint AS k0", f"(i % 7)::{key}")
        for rows in ("THEN i END", f"THEN i ELSE '{-(1 << 63)}'::bigint END", "THEN NULL::bigint END"):
            ran.clear()
            _read(backend, statement.replace("THEN i END", rows))
            read = [sql for sql in ran if "generate_series" in sql and "LIMIT 0" not in sql]
            assert len(read) == 1, (key, rows)


def test_more_rows_than_the_proxy_takes_in_are_refused(scratch_url: str) -> None:
    for key in KEYS:
        statement = NUMBERS.replace("(i % 7)::smallint AS k0", f"(i % 7)::{key}")
        with pytest.raises(QueryCancelled, match="more join rows than the proxy accepts"):
            _read(PostgresBackend(scratch_url, ReadLimits(rows=39)), statement)
        assert len(_read(PostgresBackend(scratch_url, ReadLimits(rows=40)), statement)) == 3, key
