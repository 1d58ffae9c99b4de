"""What a database's URL leaves out is not taken from the environment of the process."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from psycopg import Connection, pq

from server import libpq
from server.backends.embedded import EmbeddedPostgres
from server.backends.postgres import connected
from server.demo.workplace import add_analyst, proxy
from server.ledger import postgres as postgres_connection
from tests.support.proxies import tpch_demonstration

HOSTILE = {
    "PGAPPNAME": "somebody",
    "PGCHANNELBINDING": "require",
    "PGCLIENTENCODING": "LATIN1",
    "PGCONNECT_TIMEOUT": "never",
    "PGDATABASE": "nowhere",
    "PGDATESTYLE": "SQL, DMY",
    "PGGEQO": "of course",
    "PGHOST": "nowhere.invalid",
    "PGHOSTADDR": "192.0.2.1",
    "PGOPTIONS": "-c TimeZone=Asia/Tokyo -c statement_timeout=1",
    "PGPORT": "1",
    "PGREQUIREAUTH": "scram-sha-256",
    "PGREQUIREPEER": "nobody_at_all",
    "PGSERVICE": "no_such_service",
    "PGSSLMODE": "surely",
    "PGSSLNEGOTIATION": "somehow",
    "PGTARGETSESSIONATTRS": "standby",
    "PGTZ": "Asia/Tokyo",
    "PGUSER": "nobody_at_all",
    "PGMINPROTOCOLVERSION": "7",
}
BESIDE_URLS = {"PGTZ", "PGDATESTYLE", "PGGEQO", "PGREQUIRESSL"}
"""What libpq reads though no URL can say it."""
_MEANING = "SELECT name, setting FROM pg_settings WHERE source IN ('client', 'session') ORDER BY name"


def test_no_variable_changes_a_session(embedded_postgres: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch) -> None:
    url = embedded_postgres.url()

    def seen(opened: AbstractContextManager[Connection]) -> tuple[object, str]:
        with opened as connection:
            return connection.execute(_MEANING).fetchall(), connection.info.dsn

    for connect in (lambda url: connected(url, 10_000), postgres_connection.connect, libpq.connect):
        usual = seen(connect(url))
        for name, value in HOSTILE.items():
            with monkeypatch.context() as hostile:
                hostile.setenv(name, value)
                assert seen(connect(url)) == usual, name


def test_every_variable_of_libpq_is_forgotten_or_is_a_secret_or_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {option.envvar.decode() for option in pq.Conninfo.get_defaults() if option.envvar} | BESIDE_URLS
    assert set(HOSTILE) <= known
    for name in known | {"PGSERVICEFILE"}:
        monkeypatch.setenv(name, "value")
    forgotten = libpq.forget_environment()
    assert set(forgotten) >= known - libpq.KEPT and not set(forgotten) & libpq.KEPT
    assert {name for name in os.environ if name in known} == known & libpq.KEPT
    assert libpq.forget_environment() == ()


def test_a_password_in_the_environment_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "sesame")
    libpq.forget_environment()
    defaults = {option.keyword: option.val for option in pq.Conninfo.get_defaults()}
    assert defaults[b"password"] == b"sesame"


@pytest.mark.slow
def test_a_proxy_starts_whatever_the_environment_says(
    embedded_postgres: EmbeddedPostgres, tpch_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    demonstration = tpch_demonstration(tmp_path, embedded_postgres, tpch_url)
    add_analyst(demonstration, epsilon=1.0)
    for name, value in HOSTILE.items():
        monkeypatch.setenv(name, value)
    with proxy(demonstration, port=0, options=("--wire-port", "0")):
        said = (tmp_path / "proxy.log").read_text()
    assert "PGPORT" in said and "in the environment are ignored" in said
    assert not set(HOSTILE.values()) & set(said.split()), "a variable may hold what is nobody's business"
