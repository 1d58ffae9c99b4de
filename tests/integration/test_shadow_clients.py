"""The shadow database, asked as sessions ask it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial

import psycopg
import pytest

from server.backends.embedded import EmbeddedPostgres
from server.pgwire.errors import CatalogRefused
from server.pgwire.shadow import ShadowDatabase
from server.pgwire.shadow_setup import create_shadow
from server.pgwire.statements.commands import Question
from server.pgwire.statements.session_functions import as_client
from tests.support.planning import demo_policy
from tests.support.tpch_schema import tpch_schema

NAMES = "WITH t AS (SELECT relname, oid FROM pg_class WHERE relname = ANY($1)) SELECT relname FROM t ORDER BY 1"
NAME = "shadow_itself"
TEXTS = 1009
"""The OID of text[]."""


@pytest.fixture(scope="module")
def shadow(embedded_postgres: EmbeddedPostgres) -> Iterator[ShadowDatabase]:
    own = replace(demo_policy(), name=NAME)  # the policy's own name is that of a proxy in other tests
    make = partial(create_shadow, embedded_postgres.url())
    with closing(ShadowDatabase(make, tpch_schema(), own)) as opened:
        yield opened


def test_parameters_and_results_in_either_format(shadow: ShadowDatabase) -> None:
    assert shadow.shape(NAMES, ()).parameters == (1003,), "name[]"
    for form in (0, 1):
        answer = shadow.ask(NAMES, (b"{orders,nation,nothing}",), (0,), (TEXTS,), form)
        assert list(answer.rows(range(len(answer)), (form,))) == [[b"nation"], [b"orders"]]


def test_a_connection_that_was_lost_is_replaced(shadow: ShadowDatabase, embedded_postgres: EmbeddedPostgres) -> None:
    ask = "SELECT 1"
    shadow.ask(ask, (), (), (), 0)
    with psycopg.connect(embedded_postgres.url(), autocommit=True) as owner:
        owner.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (NAME,))
    with pytest.raises(CatalogRefused) as lost:
        shadow.ask(ask, (), (), (), 0)
    assert lost.value.code == "08006"
    assert next(shadow.ask(ask, (), (), (), 0).rows(range(1), (0,))) == [b"1"]


def test_clients_see_their_own_session_and_one_database(shadow: ShadowDatabase) -> None:
    for sql, wanted in [
        ("SELECT datname FROM pg_catalog.pg_database d WHERE NOT datistemplate", [b"shadow_itself"]),
        (
            "SELECT current_user, pg_catalog.pg_backend_pid(), session_user AS s, 'user' AS user",
            [b"ann", b"7", b"ann", b"user"],
        ),
        ("SELECT setting FROM pg_settings WHERE name = 'log_min_error_statement'", [b"panic"]),
        ("SELECT user, pg_backend_pid() FROM pg_class WHERE relname = 'orders'", [b"ann", b"7"]),
        ("SELECT count(*) FROM pg_stat_activity WHERE pid = pg_backend_pid() AND usename = current_user", [b"1"]),
    ]:
        answer = shadow.ask(as_client(Question(sql, True), "ann", 7), (), (), (), 0)
        assert list(answer.rows(range(len(answer)), answer.formats)) == [wanted], sql


def test_it_holds_no_rows_and_lets_nobody_read_them(shadow: ShadowDatabase) -> None:
    with pytest.raises(CatalogRefused) as refused:
        shadow.ask("SELECT count(*) FROM orders", (), (), (), 0)
    assert refused.value.code == "42501"
    shape = shadow.shape("SELECT o_orderkey AS key, n_name FROM orders, nation LIMIT 1", ())
    assert [(field.name, field.oid) for field in shape.fields or ()] == [("key", 20), ("n_name", 25)]
    counts = shadow.ask("SELECT reltuples FROM pg_class WHERE relname = 'orders'", (), (), (), 0)
    assert next(counts.rows(range(1), (0,))) in ([b"-1"], [b"0"])


def test_what_drivers_send_to_reset_a_session(shadow: ShadowDatabase) -> None:
    assert len(shadow.ask("SELECT pg_advisory_unlock_all()", (), (), (), 0)) == 1
