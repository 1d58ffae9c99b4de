"""The catalog's database: whose it is, what it lets clients do, and how much it answers."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import psycopg
import pytest
from psycopg import conninfo

from planner.policy.policy import Policy, parse_policy
from planner.schema import Column, Schema, Table
from server.backends import embedded
from server.backends.embedded import EmbeddedPostgres
from server.errors import ConfigurationInvalid
from server.pgwire.errors import CatalogRefused
from server.pgwire.shadow import MAX_BYTES, ShadowDatabase
from server.pgwire.shadow_setup import READER, create_shadow, open_shadow, renew_shadow

NAME = "shadow_of_a_test"
POLICY = parse_policy(
    f"""
    name = "{NAME}"
    [database]
    url = "env:NOWHERE"
    [ledger]
    path = "ledger.sqlite"
    [privacy]
    epsilon = 1.0
    max_epsilon = 1.0
    [privacy_units]
    person = "id"
    [tables.person]
    """
)
STATE = Column("state", "enum('in', 'it''s out')", True)
PERSON = Table("person", "public", (Column("id", "integer", False), STATE), (("id",),), (), ("id",))
SCHEMA = Schema({"person": PERSON})


@pytest.fixture
def shadow(embedded_postgres: EmbeddedPostgres) -> Iterator[ShadowDatabase]:
    made = ShadowDatabase(partial(create_shadow, embedded_postgres.url()), SCHEMA, POLICY)
    yield made
    made.close()
    with psycopg.connect(embedded_postgres.url(), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {NAME} WITH (FORCE)".encode())


def refused(shadow: ShadowDatabase, sql: str) -> str:
    with pytest.raises(CatalogRefused) as caught:
        shadow.ask(sql, (), (), (), 0)
    return caught.value.code


def test_a_catalog_is_made_anew_and_a_database_of_the_same_name_is_not_dropped(
    embedded_postgres: EmbeddedPostgres, shadow: ShadowDatabase
) -> None:
    create_shadow(embedded_postgres.url(), SCHEMA, POLICY)
    assert len(shadow.ask("SELECT relname FROM pg_class WHERE relname = 'person'", (), (), (), 0)) == 1
    with psycopg.connect(embedded_postgres.url(), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {NAME} WITH (FORCE)".encode())
        connection.execute(f"CREATE DATABASE {NAME}".encode())
    with pytest.raises(ConfigurationInvalid, match="which Noisegate did not make"):
        create_shadow(embedded_postgres.url(), SCHEMA, POLICY)


@pytest.mark.slow
def test_a_catalog_that_could_not_be_made_is_made_by_the_next_proxy(
    embedded_postgres: EmbeddedPostgres, shadow: ShadowDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr("server.pgwire.shadow_setup._ROLE_SETTINGS", {"work_mem": "much"})
        with pytest.raises(ConfigurationInvalid, match="cannot be set up"):
            create_shadow(embedded_postgres.url(), SCHEMA, POLICY)
    shadow.renew(SCHEMA, POLICY)
    assert len(shadow.ask("SELECT relname FROM pg_class WHERE relname = 'person'", (), (), (), 0)) == 1


def test_an_enum_is_a_text_that_says_its_labels(shadow: ShadowDatabase) -> None:
    shown = "format_type(atttypid, -1), col_description(attrelid, attnum)"
    sql = f"SELECT {shown} FROM pg_attribute WHERE attname = 'state' AND attrelid = 'person'::regclass"
    assert shadow.ask(sql, (), (), (), 0).cells == ((b"text", b"may be grouped by: in, it's out"),)


def test_nothing_acts_on_others_or_writes_and_who_may_not_is_told_what(shadow: ShadowDatabase) -> None:
    for sql in (
        "SELECT count(*) FROM person",
        "SELECT pg_notify('a', 'b')",
        "SELECT pg_try_advisory_lock(1)",
        "SELECT pg_advisory_xact_lock(1)",
        "SELECT pg_logical_emit_message(false, 'a', 'b')",
        "SELECT lo_from_bytea(0, 'a')",
        "SELECT pg_sleep_for('1 s')",
    ):
        assert refused(shadow, sql) == "42501", sql
    for sql, words in (
        ("SELECT pg_read_file('x')", "function pg_read_file"),
        ("SELECT * FROM pg_catalog.pg_authid", "pg_authid"),
        ("SELECT * FROM person", "a query cannot combine tables of the data set with catalogs"),
    ):
        with pytest.raises(CatalogRefused, match=words) as refusal:
            shadow.ask(sql, (), (), (), 0)
        assert refusal.value.code == "42501", sql


def test_an_answer_is_bounded_in_bytes_and_its_connection_goes_on(shadow: ShadowDatabase) -> None:
    assert refused(shadow, f"SELECT repeat('x', {MAX_BYTES + 1})") == "54000"
    assert refused(shadow, "SELECT repeat('x', 100000) FROM generate_series(1, 100000)") == "54000"
    assert refused(shadow, "SELECT 1 / (3 - a) FROM generate_series(1, 5) a") == "22012"
    assert shadow.ask("SELECT a FROM generate_series(1, 3) a", (), (), (), 0).cells == ((b"1",), (b"2",), (b"3",))
    assert shadow.ask("SELECT 1 AS one WHERE false", (), (), (), 0).fields[0].name == "one"


def test_the_process_goes_on_while_the_catalog_works(shadow: ShadowDatabase) -> None:
    """Nothing of the wait may hold the interpreter's lock: else this thread goes on once it is over."""
    slow = "SELECT count(*) FROM pg_class a, pg_class b, pg_class c, pg_class d"
    looks = 0
    with ThreadPoolExecutor(1) as thread:
        asked = thread.submit(refused, shadow, slow)
        while not asked.done():
            time.sleep(0.01)
            looks += 1
    assert asked.result() == "57014"
    assert looks > 3  # the statement takes two seconds


WIDER = Schema({"person": replace(PERSON, columns=(*PERSON.columns, Column("born", "date", True)))})
COLUMNS = "SELECT attname FROM pg_attribute WHERE attrelid = 'person'::regclass AND attnum > 0 ORDER BY attnum"
BEFORE = tuple((column.name.encode(),) for column in PERSON.columns)


def test_it_is_made_anew_with_the_policy_and_statements_wait(shadow: ShadowDatabase) -> None:
    assert shadow.ask(COLUMNS, (), (), (), 0).cells == BEFORE
    with ThreadPoolExecutor(4) as threads:
        slow = [threads.submit(shadow.ask, "SELECT count(*) FROM generate_series(1, 200000)", (), (), (), 0)] * 2
        renewed = threads.submit(shadow.renew, WIDER, POLICY)
        asked = [threads.submit(shadow.ask, "SELECT 1", (), (), (), 0) for _ in range(20)]
        renewed.result(60)
        assert {one.result(60).cells for one in asked} == {((b"1",),)}
        assert [one.result(60).cells for one in slow] == [((b"200000",),)] * 2
    assert shadow.ask(COLUMNS, (), (), (), 0).cells == (*BEFORE, (b"born",))


def test_what_cannot_be_made_anew_tells_nothing_of_the_policy_before(
    embedded_postgres: EmbeddedPostgres, capsys: pytest.CaptureFixture[str]
) -> None:
    fails = iter([False, True, False])

    def make(schema: Schema, policy: Policy) -> str:
        if next(fails):
            raise ConfigurationInvalid("the shadow catalog cannot be set up")
        return create_shadow(embedded_postgres.url(), schema, policy)

    with closing(ShadowDatabase(make, SCHEMA, POLICY)) as shadow:
        assert shadow.ask(COLUMNS, (), (), (), 0).cells == BEFORE
        renew_shadow(shadow, WIDER, POLICY)
        assert "no catalog until the next reload" in "".join(capsys.readouterr())
        for _ in range(3):
            assert refused(shadow, COLUMNS) == "57P03"
        renew_shadow(shadow, SCHEMA, POLICY)
        assert shadow.ask(COLUMNS, (), (), (), 0).cells == BEFORE


def folder(name: str) -> Path:
    return Path(".noisegate") / "tests" / os.environ.get("PYTEST_XDIST_WORKER", "main") / name


@pytest.mark.slow
def test_sessions_of_an_embedded_catalog_are_bounded_in_memory() -> None:
    with open_shadow(folder("catalog"), SCHEMA, POLICY, None, lambda _: None) as shadow:
        assert shadow is not None
        assert refused(shadow, "SELECT length(repeat(repeat('x', 10000), 20000))") == "53200"
        growing = "SELECT x || x, n + 1 FROM t WHERE n < 29"
        doubled = f"WITH RECURSIVE t(x, n) AS (SELECT 'x', 0 UNION ALL {growing}) SELECT max(length(x)) FROM t"
        assert refused(shadow, doubled) in ("53200", "53400")  # memory, or files
        assert len(shadow.ask("SELECT count(*), max(relname) FROM pg_class", (), (), (), 0)) == 1


def test_a_server_that_does_not_answer_holds_nobody_up(
    shadow: ShadowDatabase, embedded_postgres: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(embedded_postgres.url(), autocommit=True) as connection:
        connection.execute(f"ALTER ROLE {READER} IN DATABASE {NAME} SET statement_timeout = 0".encode())
    monkeypatch.setattr("server.pgwire.shadow._ANSWER_S", 1.0)  # and else it does not end
    assert refused(shadow, "SELECT count(*) FROM pg_class a, pg_class b, pg_class c, pg_class d") == "57014"


@pytest.fixture
def locked() -> Iterator[str]:
    """A server that asks everybody for a password, as a superuser."""
    server = embedded.start(folder("locked"))
    rules = server.data / "pg_hba.conf"
    try:
        _reload(server, rules, "trust", "")
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute(f"ALTER ROLE {embedded.OWNER} PASSWORD 'between us'".encode())
        _reload(server, rules, "scram-sha-256", "between us")
        yield conninfo.make_conninfo(server.url(), password="between us")
    finally:
        server.stop()


def _reload(server: EmbeddedPostgres, rules: Path, method: str, password: str) -> None:
    before = rules.read_text().strip().endswith("scram-sha-256")
    rules.write_text(f"local all all {method}\n")
    with psycopg.connect(server.url(), password="between us" if before else password, autocommit=True) as connection:
        connection.execute("SELECT pg_reload_conf()")


@pytest.mark.slow
def test_a_server_that_asks_for_passwords_is_a_catalog_too(locked: str) -> None:
    with closing(ShadowDatabase(partial(create_shadow, locked), SCHEMA, POLICY)) as shadow:
        assert shadow.ask(COLUMNS, (), (), (), 0).cells == BEFORE
        create_shadow(locked, SCHEMA, POLICY)  # another proxy's: the reader keeps its password
        shadow.renew(SCHEMA, POLICY)
        assert shadow.ask(COLUMNS, (), (), (), 0).cells == BEFORE
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(locked, user=READER, dbname=NAME)  # not with the superuser's password


def test_a_server_where_the_reader_cannot_come_in_is_refused_at_once(locked: str) -> None:
    with psycopg.connect(locked, autocommit=True) as connection:
        data = connection.execute("SHOW data_directory").fetchall()[0][0]
        Path(data, "pg_hba.conf").write_text(f"local all {embedded.OWNER} scram-sha-256\n")
        connection.execute("SELECT pg_reload_conf()")
    with pytest.raises(ConfigurationInvalid, match="cannot connect to the shadow catalog") as refusal:
        create_shadow(locked, SCHEMA, POLICY)
    assert "between us" not in str(refusal.value.__cause__)
