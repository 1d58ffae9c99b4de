"""Columns of whole numbers from PostgreSQL, as arrays and row by row: the same values either way."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from server.backends import postgres
from server.backends.integer_columns import NONE, Integers
from server.backends.postgres import PostgresBackend, ReadLimits, connected
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
        return list(backend._columns(connection, statement, width))


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


@pytest.mark.parametrize("why", ["text", "sentinel", "many"])
def test_otherwise_they_come_row_by_row(backend: PostgresBackend, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    statement = NUMBERS
    expected = list(_expected())
    if why == "text":
        statement = statement.replace("(i % 7)::smallint", "(i % 7)::text")
        expected[1] = [str(one) for one in expected[1]]  # type: ignore[misc]
    elif why == "sentinel":
        statement = statement.replace("THEN i END", f"THEN i ELSE '{NONE}'::bigint END")
        expected[0] = [NONE if one is None else one for one in expected[0]]
    else:
        monkeypatch.setattr(postgres, "_ARRAY_ROWS", 39)
    columns = _read(backend, statement)
    assert not any(isinstance(column, Integers) for column in columns)
    assert [list(column) for column in columns] == expected  # type: ignore[call-overload]


def test_more_rows_than_the_proxy_takes_in_are_refused(scratch_url: str) -> None:
    with pytest.raises(QueryCancelled, match="more than the proxy takes in"):
        _read(PostgresBackend(scratch_url, ReadLimits(rows=39)), NUMBERS)
    assert len(_read(PostgresBackend(scratch_url, ReadLimits(rows=40)), NUMBERS)) == 3
