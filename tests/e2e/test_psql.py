"""psql as people have it, against a real proxy: TLS, SCRAM with channel binding, catalogs, errors, budgets."""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
import signal
import subprocess
import time
from contextlib import closing

import pytest

from server.demo.queries import QUERIES, DemoQuery
from server.ledger.analyst import Act
from server.policy.accepted_policy import read_policy
from server.policy.open_ledger_of_policy import open_policy_ledger
from tests.e2e.clients.contract import NEVER_ENDS
from tests.support.wire_proxy import WireProxy

PSQL = shutil.which("psql")
pytestmark = pytest.mark.skipif(PSQL is None, reason="psql is not installed (postgresql-client)")

COUNT = "SELECT count(*) FROM orders"


class Psql:
    """A psql of one analyst."""

    def __init__(self, proxy: WireProxy, epsilon: float) -> None:
        self.proxy = proxy
        self.name, self.key = proxy.analyst(epsilon)

    def command(self, *commands: str, conninfo: str = "") -> list[str]:
        assert PSQL is not None
        arguments = [argument for command in commands for argument in ("-c", command)]
        return [
            PSQL,
            conninfo or self.proxy.conninfo(self.name, self.key),
            "-X",
            "-v",
            "VERBOSITY=verbose",
            *arguments,
        ]

    def run(self, *commands: str, conninfo: str = "", script: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*commands, conninfo=conninfo),
            input=script,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={**os.environ, "PAGER": ""},
        )

    def left(self) -> float:
        shown = self.run(r"\pset format unaligned", r"\pset tuples_only on", "SHOW noisegate.budget").stdout
        return float(shown.splitlines()[-1].split("|")[2])


def test_a_count_with_its_charge(wire: WireProxy) -> None:
    psql = Psql(wire, 2.0)
    done = psql.run("SET noisegate.epsilon = 0.5", COUNT)
    assert done.returncode == 0, done.stderr
    assert re.search(r"\n\s*\d+\n\(1 row\)", done.stdout)
    assert "charged epsilon 0.5; 1.5 of 2 left" in done.stderr
    assert psql.left() == 1.5


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
def test_the_demonstrations_questions_twice_and_paid_once(query: DemoQuery, wire: WireProxy) -> None:
    psql = Psql(wire, 1.5)
    first, second = psql.run(query.sql), psql.run(query.sql)
    assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    assert first.stdout == second.stdout
    assert "charged" in first.stderr
    assert "charged" not in second.stderr
    assert psql.left() == 0.5


def test_catalogs_show_the_policys_tables(wire: WireProxy) -> None:
    psql = Psql(wire, 1.0)
    done = psql.run(r"\l", r"\dn", r"\dt+", r"\d+ orders", r"\di", r"\du", r"\df", r"\dp", r"\conninfo", r"\encoding")
    assert done.returncode == 0, done.stderr
    assert "ERROR" not in done.stderr
    for shown in ("demo", "public", "lineitem", "o_custkey", "orders_o_custkey_fkey", "private:"):
        assert shown in done.stdout
    assert psql.left() == 1.0


def test_the_schema_by_information_schema(wire: WireProxy) -> None:
    sql = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'orders' ORDER BY 1"
    assert "o_orderdate" in Psql(wire, 1.0).run(sql).stdout


def test_a_table_cannot_be_smuggled_into_a_catalog_query(wire: WireProxy) -> None:
    done = Psql(wire, 1.0).run("SELECT count(*) FROM orders, pg_catalog.pg_class")
    assert "42501" in done.stderr
    assert "ask orders apart" in done.stderr


def test_the_shadow_does_nothing_for_clients(wire: WireProxy) -> None:
    psql = Psql(wire, 1.0)
    for sql, code in {
        "SELECT pg_sleep(5)": "42501",
        "SELECT pg_read_file('/etc/passwd')": "42501",
        "SELECT lo_create(0)": "42501",
        "SELECT pg_terminate_backend(1)": "you have no session 1",
        "SELECT count(*) FROM pg_class a, pg_class b, pg_class c, pg_class d": "57014",
    }.items():
        done = psql.run(sql)
        assert code in done.stderr, sql


def test_timing_gset_watch_and_prepared(wire: WireProxy) -> None:
    psql = Psql(wire, 2.0)
    script = f"\\timing on\n{COUNT} \\gset n_\n\\echo got :n_count\n"
    done = psql.run(script=script)
    assert re.search(r"got \d+", done.stdout)
    assert "Time:" in done.stdout
    assert psql.left() == 1.0


def test_copy_to_csv(wire: WireProxy) -> None:
    psql = Psql(wire, 4.0)
    sql = "SELECT n_name, count(*) AS n FROM customer JOIN nation ON c_nationkey = n_nationkey GROUP BY n_name"
    done = psql.run(rf"\copy ({sql}) TO STDOUT CSV HEADER")
    assert done.returncode == 0, done.stderr
    rows = list(csv.reader(io.StringIO(done.stdout)))
    assert rows[0] == ["n_name", "n"]
    assert len(rows) == 26


def test_intervals_are_columns(wire: WireProxy) -> None:
    done = Psql(wire, 2.0).run("SET noisegate.intervals = on", "SELECT count(*) AS n FROM orders")
    assert re.search(r"n\s+\|\s+n_lo\s+\|\s+n_hi\s+\|\s+weak", done.stdout)


def test_explain_and_dry_run_are_free(wire: WireProxy) -> None:
    psql = Psql(wire, 1.0)
    assert "o_custkey" in psql.run(f"EXPLAIN {COUNT}").stdout
    assert "o_custkey" in psql.run("SET noisegate.dry_run = on", COUNT).stdout
    assert psql.left() == 1.0


def test_group_keys_alone_are_named_free_of_charge(wire: WireProxy) -> None:
    psql = Psql(wire, 1.0)
    named = "SELECT n_name FROM customer JOIN nation ON c_nationkey = n_nationkey GROUP BY n_name ORDER BY 1"
    done = psql.run(named)
    assert "VIETNAM" in done.stdout
    assert "(25 rows)" in done.stdout
    assert "no private row is read" in psql.run(f"EXPLAIN {named}").stdout
    assert psql.left() == 1.0


def test_the_columns_of_private_rows_for_tools_that_ask(wire: WireProxy) -> None:
    psql = Psql(wire, 1.0)
    rows = "SELECT o_orderdate AS day, n_name FROM orders, nation LIMIT 1"
    assert "0A000" in psql.run(rows).stderr
    done = psql.run("SET noisegate.empty_rows = on", rows)
    assert re.search(r"day\s+\|\s+n_name", done.stdout)
    assert "(0 rows)" in done.stdout
    assert "private rows are not shown" in done.stderr
    assert psql.left() == 1.0


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("DELETE FROM orders", "25006"),
        ("SELECT o_orderkey FROM orders", "0A000"),
        ("SELECT count(*) FROM nowhere", "42P01"),
        ("SELECT count(*) FROM orders WHERE o_nothing = 1", "42703"),
        ("SELEKT 1", "0A000"),
    ],
)
def test_refusals_have_their_sqlstate_and_place(sql: str, code: str, wire: WireProxy) -> None:
    psql = Psql(wire, 1.0)
    done = psql.run(sql)
    assert f"ERROR:  {code}" in done.stderr
    assert "LINE 1:" in done.stderr
    assert psql.left() == 1.0


def test_an_exhausted_budget(wire: WireProxy) -> None:
    psql = Psql(wire, 0.25)
    done = psql.run(COUNT)
    assert "ERROR:  PD001" in done.stderr
    assert "0.25" in done.stderr


def test_a_running_query_is_cancelled(wire: WireProxy) -> None:
    psql = Psql(wire, 2.0)
    running = subprocess.Popen(psql.command(NEVER_ENDS), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    time.sleep(3)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=20)
    assert "57014" in said
    assert psql.run("SELECT 1").returncode == 0


def test_who_may_not_come_in(wire: WireProxy) -> None:
    psql = Psql(wire, 1.0)
    wrong = wire.conninfo(psql.name, "ng_wrong")
    assert "There is no analyst of this name with this key" in psql.run("SELECT 1", conninfo=wrong).stderr
    nobody = wire.conninfo("nobody", psql.key)
    assert "There is no analyst of this name with this key" in psql.run("SELECT 1", conninfo=nobody).stderr
    elsewhere = wire.conninfo(psql.name, psql.key).replace("dbname=demo", "dbname=other")
    refused = psql.run("SELECT 1", conninfo=elsewhere).stderr
    assert "there is no such database" in refused and "dbname=demo" in refused
    unproved = psql.run("SELECT 1", conninfo=wrong.replace("dbname=demo", "dbname=other")).stderr
    assert "dbname=demo" not in unproved, "who has no key is not told what there is"


def test_the_disabled_are_told_so_once_the_key_is_right(wire: WireProxy) -> None:
    psql, policy = Psql(wire, 1.0), wire.demonstration.policy
    with closing(open_policy_ledger(read_policy(policy), policy)) as ledger:
        ledger.set_enabled(psql.name, False, Act("a test"))
    assert "your account is disabled" in psql.run(COUNT).stderr
    wrong = psql.run(COUNT, conninfo=wire.conninfo(psql.name, "ng_wrong")).stderr
    assert "disabled" not in wrong and "with this key" in wrong
