"""A question reuses the connection of the one before, and nothing of its session."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import psycopg
import pytest

from server.backends import postgres
from server.backends.postgres import PostgresBackend, ReadLimits
from server.backends.postgres_catalog import read_schema
from server.errors import QueryCancelled

_PID = b"SELECT pg_backend_pid()"


@pytest.fixture(autouse=True)
def _none_kept() -> Iterator[None]:
    postgres._close_kept()
    yield
    postgres._close_kept()


@pytest.fixture
def backend(scratch_url: str) -> PostgresBackend:
    return PostgresBackend(scratch_url)


def _fingerprint(backend: PostgresBackend) -> str:
    with psycopg.connect(backend.url, options="-c search_path=pg_catalog") as connection:
        return read_schema(connection, backend.namespaces, checks=False).fingerprint


def _asked(backend: PostgresBackend, *statements: bytes) -> int:
    """Run statements as a question does. Returns: the number of the server's process."""
    with backend._snapshot(_fingerprint(backend)) as connection:
        for statement in statements:
            connection.execute(statement)
        row = connection.execute(_PID).fetchone()
    assert row is not None
    return int(row[0])


def test_the_next_question_has_the_same_connection_in_a_transaction_of_its_own(backend: PostgresBackend) -> None:
    process = _asked(backend)
    with psycopg.connect(backend.url, autocommit=True) as other:
        other.execute("CREATE TABLE made_meanwhile (x int)")
    assert _asked(backend, b"SELECT x FROM public.made_meanwhile") == process
    with backend._snapshot(_fingerprint(backend)) as connection:
        shown = [connection.execute(f"SHOW {name}".encode()).fetchone() for name in ("transaction_read_only", "jit")]
        isolation = connection.execute("SHOW transaction_isolation").fetchone()
    assert shown == [("on",), ("off",)] and isolation == ("repeatable read",)


def test_nothing_of_its_session_is_kept(backend: PostgresBackend) -> None:
    process = _asked(
        backend,
        b"SELECT set_config('TimeZone', 'Asia/Tokyo', false), set_config('search_path', 'public', false)",
        b"SELECT pg_advisory_lock(1)",
        b"PREPARE one AS SELECT 1",
    )
    with backend._snapshot(_fingerprint(backend)) as connection:
        assert connection.execute(_PID).fetchone() == (process,)
        assert connection.execute("SHOW TimeZone").fetchone() == ("UTC",)
        assert connection.execute("SHOW search_path").fetchone() == ("pg_catalog",)
        assert connection.execute("SELECT count(*) FROM pg_prepared_statements").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'").fetchone() == (0,)


def test_a_connection_that_the_server_ended_is_replaced(backend: PostgresBackend) -> None:
    process = _asked(backend)
    with psycopg.connect(backend.url, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [process])
    assert _asked(backend) != process


def test_a_failed_question_keeps_none(backend: PostgresBackend) -> None:
    slow = replace(backend, limits=ReadLimits(statement_ms=100))
    with pytest.raises(QueryCancelled):
        _asked(slow, b"SELECT pg_sleep(10)")
    assert not postgres._KEPT


def test_other_limits_and_old_age_need_another(backend: PostgresBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    first = _asked(backend)
    second = _asked(replace(backend, limits=ReadLimits(work_mem_mb=8)))
    assert second != first
    monkeypatch.setattr(postgres, "_KEPT_S", -1.0)
    assert _asked(replace(backend, limits=ReadLimits(work_mem_mb=8))) != second


def test_no_repr_shows_the_url_which_may_hold_a_password(backend: PostgresBackend) -> None:
    _asked(backend)
    assert postgres._KEPT and backend.url not in repr(postgres._KEPT)
