"""What people type into psql, against a real proxy: TLS, SCRAM with channel binding, catalogs, errors, budgets.

Most of it is also sent by psycopg, which comes with the lock; psql itself is a client (`make test-clients`).
"""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial

import psycopg
import pytest

from server.demo.demonstration import QUERIES
from server.ledger.analyst import Act
from server.policy.accepted_policy import read_policy
from server.policy.open_ledger_of_policy import open_policy_ledger
from tests.e2e.clients.contract import NEVER_ENDS
from tests.support.wire_proxy import WireProxy

COUNT = "SELECT count(*) FROM orders"

Done = subprocess.CompletedProcess[str]


class Psql:
    """A psql of one analyst."""

    def __init__(self, proxy: WireProxy, epsilon: float) -> None:
        self.proxy = proxy
        self.name, self.key = proxy.analyst(epsilon)

    def command(self, *commands: str, conninfo: str = "") -> list[str]:
        program = shutil.which("psql")
        assert program is not None, "psql is not installed (postgresql-client)"
        arguments = [argument for command in commands for argument in ("-c", command)]
        place = conninfo or self.proxy.conninfo(self.name, self.key)
        return [program, place, "-X", "-v", "VERBOSITY=verbose", *arguments]

    def run(self, *commands: str, conninfo: str = "", script: str = "") -> Done:
        return subprocess.run(
            self.command(*commands, conninfo=conninfo),
            input=script,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            env={**os.environ, "PAGER": ""},
        )

    def left(self) -> float:
        return float(self.run("SHOW noisegate.budget").stdout.splitlines()[2].split("|")[2])


class Typed(Psql):
    """psycopg instead, which shows what it is told as psql would."""

    def run(self, *commands: str, conninfo: str = "", script: str = "") -> Done:
        shown: list[str] = []
        told: list[str] = []
        failed = 0
        try:
            with psycopg.connect(conninfo or self.proxy.conninfo(self.name, self.key), autocommit=True) as session:
                session.add_notice_handler(lambda notice: told.append(notice.message_primary or ""))
                for command in commands:
                    try:
                        shown += self._table(psycopg.ClientCursor(session).execute(command.encode()))
                    except psycopg.Error as error:
                        said, failed = error.diag, 1
                        told += [f"ERROR:  {said.sqlstate}: {said.message_primary}", said.message_hint or ""]
                        told += ["LINE 1:"] if said.statement_position else []
        except psycopg.OperationalError as error:
            told.append(str(error))
            failed = 2
        return Done([], failed, "\n".join(shown) + "\n", "\n".join(told))

    def _table(self, cursor: psycopg.Cursor) -> list[str]:
        if cursor.description is None:
            return [cursor.statusmessage or ""]
        rows = cursor.fetchall()
        lines = [" | ".join(column.name for column in cursor.description), "---"]
        lines += [" | ".join(map(str, row)) for row in rows]
        return [*lines, f"({len(rows)} row{'s' * (len(rows) != 1)})"]


Make = Callable[[float], Psql]


@pytest.fixture(params=["psycopg", pytest.param("psql", marks=pytest.mark.clients)])
def client(wire: WireProxy, request: pytest.FixtureRequest) -> Make:
    """Makes an analyst with a budget, and what they type into."""
    return partial({"psycopg": Typed, "psql": Psql}[request.param], wire)


def test_a_count_with_its_charge(client: Make) -> None:
    psql = client(2.0)
    done = psql.run("SET noisegate.epsilon = 0.5", COUNT)
    assert done.returncode == 0, done.stderr
    assert re.search(r"\n\s*\d+\n\(1 row\)", done.stdout)
    assert "charged epsilon 0.5; 1.5 of 2 left" in done.stderr
    assert psql.left() == 1.5


def test_the_demonstrations_questions_twice_and_paid_once(client: Make) -> None:
    psql = client(len(QUERIES) + 0.5)
    asked = [query.sql for query in QUERIES]
    first, second = psql.run(*asked), psql.run(*asked)
    assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    assert first.stdout == second.stdout
    assert first.stderr.count("charged") == len(QUERIES)
    assert "charged" not in second.stderr
    assert psql.left() == 0.5


@pytest.mark.clients
def test_catalogs_show_the_policys_tables(wire: WireProxy) -> None:
    psql = Psql(wire, 1.0)
    done = psql.run(r"\l", r"\dn", r"\dt+", r"\d+ orders", r"\di", r"\du", r"\df", r"\dp", r"\conninfo", r"\encoding")
    assert done.returncode == 0, done.stderr
    assert "ERROR" not in done.stderr
    for shown in ("demo", "public", "lineitem", "o_custkey", "orders_o_custkey_fkey", "private:"):
        assert shown in done.stdout
    assert psql.left() == 1.0


def test_the_schema_by_information_schema(client: Make) -> None:
    sql = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'orders' ORDER BY 1"
    assert "o_orderdate" in client(1.0).run(sql).stdout


def test_a_table_cannot_be_smuggled_into_a_catalog_query(client: Make) -> None:
    done = client(1.0).run("SELECT count(*) FROM orders, pg_catalog.pg_class")
    assert "42501" in done.stderr
    assert "query orders separately" in done.stderr


def test_the_shadow_does_nothing_for_clients(client: Make) -> None:
    psql = client(1.0)
    for sql, code in {
        "SELECT pg_sleep(5)": "42501",
        "SELECT pg_read_file('/etc/passwd')": "42501",
        "SELECT lo_create(0)": "42501",
        "SELECT pg_terminate_backend(1)": "you have no session 1",
        "SELECT count(*) FROM pg_class a, pg_class b, pg_class c, pg_class d": "57014",
    }.items():
        done = psql.run(sql)
        assert code in done.stderr, sql


@pytest.mark.clients
def test_timing_gset_watch_and_prepared(wire: WireProxy) -> None:
    psql = Psql(wire, 2.0)
    script = f"\\timing on\n{COUNT} \\gset n_\n\\echo got :n_count\n"
    done = psql.run(script=script)
    assert re.search(r"got \d+", done.stdout)
    assert "Time:" in done.stdout
    assert psql.left() == 1.0


@pytest.mark.clients
def test_copy_to_csv(wire: WireProxy) -> None:
    psql = Psql(wire, 4.0)
    sql = "SELECT n_name, count(*) AS n FROM customer JOIN nation ON c_nationkey = n_nationkey GROUP BY n_name"
    done = psql.run(rf"\copy ({sql}) TO STDOUT CSV HEADER")
    assert done.returncode == 0, done.stderr
    rows = list(csv.reader(io.StringIO(done.stdout)))
    assert rows[0] == ["n_name", "n"]
    assert len(rows) == 26


def test_intervals_are_columns(client: Make) -> None:
    done = client(2.0).run("SET noisegate.intervals = on", "SELECT count(*) AS n FROM orders")
    assert re.search(r"n\s+\|\s+n_lo\s+\|\s+n_hi\s+\|\s+low_precision", done.stdout)


def test_explain_and_dry_run_are_free(client: Make) -> None:
    psql = client(1.0)
    assert "o_custkey" in psql.run(f"EXPLAIN {COUNT}").stdout
    assert "o_custkey" in psql.run("SET noisegate.dry_run = on", COUNT).stdout
    assert psql.left() == 1.0


def test_group_keys_alone_are_named_free_of_charge(client: Make) -> None:
    psql = client(1.0)
    named = "SELECT n_name FROM customer JOIN nation ON c_nationkey = n_nationkey GROUP BY n_name ORDER BY 1"
    done = psql.run(named)
    assert "VIETNAM" in done.stdout
    assert "(25 rows)" in done.stdout
    assert "no private row is read" in psql.run(f"EXPLAIN {named}").stdout
    assert psql.left() == 1.0


def test_the_columns_of_private_rows_for_tools_that_ask(client: Make) -> None:
    psql = client(1.0)
    rows = "SELECT o_orderdate AS day, n_name FROM orders, nation LIMIT 1"
    assert "0A000" in psql.run(rows).stderr
    done = psql.run("SET noisegate.empty_rows = on", rows)
    assert re.search(r"day\s+\|\s+n_name", done.stdout)
    assert "(0 rows)" in done.stdout
    assert "private rows are not shown" in done.stderr
    assert psql.left() == 1.0


def test_refusals_have_their_sqlstate_and_place(client: Make) -> None:
    psql = client(1.0)
    for sql, code in (
        ("DELETE FROM orders", "25006"),
        ("SELECT o_orderkey FROM orders", "0A000"),
        ("SELECT count(*) FROM nowhere", "42P01"),
        ("SELECT count(*) FROM orders WHERE o_nothing = 1", "42703"),
        ("SELEKT 1", "0A000"),
    ):
        done = psql.run(sql)
        assert f"ERROR:  {code}" in done.stderr, sql
        assert "LINE 1:" in done.stderr, sql
    assert psql.left() == 1.0


def test_an_exhausted_budget(client: Make) -> None:
    psql = client(0.25)
    done = psql.run(COUNT)
    assert "ERROR:  PD001" in done.stderr
    assert "0.25" in done.stderr


def _runs(wire: WireProxy) -> None:
    """Wait until the database works on the question that never ends."""
    statement = "SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query ~ 'p_siz[e]'"
    with psycopg.connect(wire.demonstration.owner_url, autocommit=True) as owner:
        end = time.monotonic() + 120
        while not owner.execute(statement.encode()).fetchall():
            assert time.monotonic() < end, "it does not run"
            time.sleep(0.05)


def test_a_running_query_is_cancelled(wire: WireProxy) -> None:
    conninfo = wire.conninfo(*wire.analyst(2.0))
    with psycopg.connect(conninfo, autocommit=True) as session, ThreadPoolExecutor(1) as threads:
        asked = threads.submit(session.execute, NEVER_ENDS.encode())
        _runs(wire)
        session.cancel_safe()
        with pytest.raises(psycopg.errors.QueryCanceled):
            asked.result(120)
        assert session.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.clients
def test_ctrl_c_cancels(wire: WireProxy) -> None:
    psql = Psql(wire, 2.0)
    running = subprocess.Popen(psql.command(NEVER_ENDS), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    _runs(wire)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=120)
    assert "57014" in said
    assert psql.run("SELECT 1").returncode == 0


def test_who_may_not_come_in(wire: WireProxy, client: Make) -> None:
    psql = client(1.0)
    wrong = wire.conninfo(psql.name, "ng_wrong")
    assert "There is no analyst of this name with this key" in psql.run("SELECT 1", conninfo=wrong).stderr
    nobody = wire.conninfo("nobody", psql.key)
    assert "There is no analyst of this name with this key" in psql.run("SELECT 1", conninfo=nobody).stderr
    elsewhere = wire.conninfo(psql.name, psql.key).replace("dbname=demo", "dbname=other")
    refused = psql.run("SELECT 1", conninfo=elsewhere).stderr
    assert "there is no such database" in refused and "dbname=demo" in refused
    unproved = psql.run("SELECT 1", conninfo=wrong.replace("dbname=demo", "dbname=other")).stderr
    assert "dbname=demo" not in unproved, "who has no key is not told what there is"


def test_practice_is_another_database_and_leaves_the_budget_alone(wire: WireProxy, client: Make) -> None:
    psql = client(1.0)
    practice = wire.conninfo(psql.name, psql.key).replace("dbname=demo", "dbname=demo_practice")
    per_nation = "SELECT n_name, count(*) AS n FROM customer JOIN nation ON c_nationkey = n_nationkey GROUP BY n_name"
    for sql in (COUNT, f"SELECT n_name, rank() OVER (ORDER BY n) FROM ({per_nation}) AS q"):
        done = psql.run(sql, conninfo=practice)
        assert done.returncode == 0 and "practice: charged epsilon 1; 0 of " in done.stderr, done.stderr
        assert "This is practice: the rows are made up, and your budget is not charged." in done.stderr
    wrong = "SELECT nothing(o_orderkey) FROM orders"
    refused, same = psql.run(wrong, conninfo=practice).stderr, psql.run(wrong).stderr
    assert refused.partition("DETAIL")[0] == same.partition("DETAIL")[0]
    assert psql.left() == 1.0


def test_the_disabled_are_told_so_once_the_key_is_right(wire: WireProxy, client: Make) -> None:
    psql, policy = client(1.0), wire.demonstration.policy
    with closing(open_policy_ledger(read_policy(policy), policy)) as ledger:
        ledger.set_enabled(psql.name, False, Act("a test"))
    assert "your account is disabled" in psql.run(COUNT).stderr
    wrong = psql.run(COUNT, conninfo=wire.conninfo(psql.name, "ng_wrong")).stderr
    assert "disabled" not in wrong and "with this key" in wrong
