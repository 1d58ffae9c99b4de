"""The catalog's database: whose it is, what it lets clients do, and how much it answers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from planner.policy import parse_policy
from planner.schema import Column, Schema, Table
from server.backends.embedded import EmbeddedPostgres
from server.errors import ConfigurationInvalid
from server.pgwire.errors import CatalogRefused
from server.pgwire.shadow.create import create_shadow
from server.pgwire.shadow.shadow import MAX_BYTES, ShadowDatabase

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
PERSON = Table("person", "public", (Column("id", "integer", False), STATE), (("id",),), ())
SCHEMA = Schema({"person": PERSON})


@pytest.fixture
def shadow(embedded_postgres: EmbeddedPostgres) -> Iterator[ShadowDatabase]:
    made = ShadowDatabase(create_shadow(embedded_postgres.url(), SCHEMA, POLICY))
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
    with pytest.raises(ConfigurationInvalid, match="is no catalog"):
        create_shadow(embedded_postgres.url(), SCHEMA, POLICY)


def test_an_enum_is_a_text_that_says_its_labels(shadow: ShadowDatabase) -> None:
    shown = "format_type(atttypid, -1), col_description(attrelid, attnum)"
    sql = f"SELECT {shown} FROM pg_attribute WHERE attname = 'state' AND attrelid = 'person'::regclass"
    assert shadow.ask(sql, (), (), (), 0).cells == ((b"text", b"may be grouped by: in, it's out"),)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM person",
        "SELECT pg_notify('a', 'b')",
        "SELECT pg_try_advisory_lock(1)",
        "SELECT pg_advisory_xact_lock(1)",
        "SELECT pg_logical_emit_message(false, 'a', 'b')",
        "SELECT lo_from_bytea(0, 'a')",
        "SELECT pg_sleep_for('1 s')",
    ],
)
def test_nothing_acts_on_others_or_writes(sql: str, shadow: ShadowDatabase) -> None:
    assert refused(shadow, sql) == "42501"


def test_an_answer_is_bounded_in_bytes_and_its_connection_goes_on(shadow: ShadowDatabase) -> None:
    assert refused(shadow, f"SELECT repeat('x', {MAX_BYTES + 1})") == "54000"
    assert refused(shadow, "SELECT repeat('x', 100000) FROM generate_series(1, 100000)") == "54000"
    assert refused(shadow, "SELECT 1 / (3 - a) FROM generate_series(1, 5) a") == "22012"
    assert shadow.ask("SELECT a FROM generate_series(1, 3) a", (), (), (), 0).cells == ((b"1",), (b"2",), (b"3",))
    assert shadow.ask("SELECT 1 AS one WHERE false", (), (), (), 0).fields[0].name == "one"


def test_the_process_goes_on_while_the_catalog_works(shadow: ShadowDatabase) -> None:
    """Nothing of the wait may hold the interpreter's lock."""
    slow = "SELECT count(*) FROM pg_class a, pg_class b, pg_class c, pg_class d"
    with ThreadPoolExecutor(1) as thread:
        asked = thread.submit(refused, shadow, slow)
        longest, before = 0.0, time.monotonic()
        while not asked.done():
            time.sleep(0.01)
            longest, before = max(longest, time.monotonic() - before), time.monotonic()
    assert asked.result() == "57014"
    assert longest < 1.5  # the statement takes two seconds
