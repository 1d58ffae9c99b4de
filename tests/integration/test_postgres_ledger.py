"""The ledger in PostgreSQL does what every ledger does, and survives what a server can do to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from planner.policy.policy import parse_policy
from server.backends.embedded import EmbeddedPostgres
from server.errors import (
    ChargeUnsettled,
    LedgerFull,
    LedgerInvalid,
    LedgerMissing,
    LedgerUnavailable,
    LedgerUncertain,
)
from server.ledger.analyst import key_hash
from server.ledger.ledger import Ledger
from server.ledger.postgres import SCHEMA, create_postgres_ledger, open_postgres_ledger
from server.ledger.store import Writing
from server.policy.open_ledger_of_policy import open_or_create
from tests.support.charging import reserve
from tests.support.ledger_database import empty_ledger_database
from tests.support.planning import DEMO_POLICY
from tests.unit.server.ledger.charges import ACT, charge
from tests.unit.server.ledger.ledger_suite import LedgerSuite
from tests.unit.server.ledger.suite.cached_answers import CachedAnswers
from tests.unit.server.ledger.suite.claims import Claims
from tests.unit.server.ledger.suite.crashes import Crashes
from tests.unit.server.ledger.suite.ledger_case import Clock, Reopen
from tests.unit.server.ledger.tampering import EDITS, fill


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    return tmp_path / "policy.ledger.json"


@pytest.fixture
def ledger_url(embedded_postgres: EmbeddedPostgres) -> str:
    return empty_ledger_database(embedded_postgres)


@pytest.fixture
def ledger(ledger_url: str, marker: Path, clock: Clock) -> Iterator[Ledger]:
    made = create_postgres_ledger(ledger_url, marker, clock)
    made.add_analyst("ada", key_hash("ng_ada"), 1.0, 1e-6)
    yield made
    made.close()


@pytest.fixture
def reopen(ledger: Ledger, ledger_url: str, marker: Path, clock: Clock) -> Iterator[Reopen]:
    opened: list[Ledger] = []

    def once_more() -> Ledger:
        opened.append(open_postgres_ledger(ledger_url, marker, clock))
        return opened[-1]

    yield once_more
    for book in opened:
        book.close()


class TestPostgresLedger(Claims, CachedAnswers, Crashes):
    """The fixtures above are those of the suite."""


@pytest.mark.slow
class TestAllOfThePostgresLedger(LedgerSuite):
    """What an account adds up to is worked out in Python, whatever the store."""


Cut = Callable[[], None]


@pytest.fixture
def cut(ledger_url: str) -> Cut:
    """End every session of the ledger's processes, as a server that fails over does."""

    def cut_all() -> None:
        with psycopg.connect(ledger_url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"  # which waits until they have ended
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    return cut_all


def test_lost_connections_are_made_anew(ledger: Ledger, cut: Cut) -> None:
    reservation = reserve(ledger, charge(0.25))
    cut()
    assert ledger.budget("ada").epsilon_left == 0.75
    cut()
    assert ledger.commit(reservation, b"noisy").epsilon_left == 0.75


def test_a_lost_connection_charges_once(ledger: Ledger, cut: Cut, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server is lost when it is told to commit; whether it had done so, the client cannot know."""
    execute: Callable[..., object] = psycopg.Connection.execute
    cuts: list[str] = []
    committed = False

    def cutting(connection: object, statement: str, *more: object) -> object:
        if statement == "COMMIT" and not cuts:
            cuts.append(statement)
            if committed:
                execute(connection, statement)
            cut()
        return execute(connection, statement, *more)

    monkeypatch.setattr(psycopg.Connection, "execute", cutting)
    for number in (1, 2):
        committed = number == 2
        left = 1 - 0.25 * number
        cuts.clear()
        reservation = reserve(ledger, charge(0.25, answer_key=f"question {number}"))
        assert cuts and reservation.id == number
        assert ledger.budget("ada").epsilon_left == left
        cuts.clear()
        assert ledger.commit(reservation, b"noisy").epsilon_left == left
        cuts.clear()
        assert ledger.bump_data(ACT) == 1 + number
        assert [entry.kind for entry in ledger.entries()][-3:] == ["reserved", "committed", "data"]
    assert ledger.verify().fault is None


def _lost_after_its_commit(monkeypatch: pytest.MonkeyPatch, cut: Cut, then: Callable[[str], None]) -> None:
    """The first commit is done, and its answer lost; `then` is called before every statement after that."""
    execute: Callable[..., object] = psycopg.Connection.execute
    cuts: list[str] = []

    def losing(connection: object, statement: str, *more: object) -> object:
        if cuts:
            then(statement)
        elif statement == "COMMIT":
            execute(connection, statement)
            cut()
            cuts.append(statement)
        return execute(connection, statement, *more)

    monkeypatch.setattr(psycopg.Connection, "execute", losing)


def test_a_clock_that_is_set_back_after_a_lost_commit_charges_once(
    ledger: Ledger, cut: Cut, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found by a simulated history: that the clock is behind is noted first, and what was done was done again."""
    before = clock.seconds
    _lost_after_its_commit(monkeypatch, cut, lambda _: setattr(clock, "seconds", before - 7200.0))
    assert reserve(ledger, charge(0.25)).id == 1
    assert ledger.budget("ada").epsilon_left == 0.75
    assert reserve(ledger, charge(0.25)).id == 2, "and by then the clock is noted"
    assert [entry.kind for entry in ledger.entries()][-3:] == ["reserved", "clock", "reserved"]
    assert ledger.verify().fault is None


def _full(statement: str) -> None:
    if statement.startswith("LOCK"):
        raise psycopg.errors.DiskFull


def test_a_disk_that_fills_up_after_a_lost_commit_does_not_say_that_nothing_was_charged(
    ledger: Ledger, cut: Cut, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found by a simulated history: the second attempt was told of the disk, and the first one had been done."""
    with monkeypatch.context() as during:
        _lost_after_its_commit(during, cut, _full)
        with pytest.raises(LedgerUncertain):
            reserve(ledger, charge(0.25))
        with pytest.raises(LedgerFull):
            reserve(ledger, charge(0.25))
    assert ledger.budget("ada").epsilon_left == 0.75


def test_what_may_have_been_given_back_is_not_said_to_stand(
    ledger: Ledger, cut: Cut, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found by two simulated histories: what cannot be settled stands, but here nobody knows, and it does not."""
    given_back, answered = reserve(ledger, charge(0.25)), reserve(ledger, charge(0.5))
    with monkeypatch.context() as during:
        _lost_after_its_commit(during, cut, _full)
        with pytest.raises(LedgerUncertain):
            ledger.release(given_back)
    assert ledger.budget("ada").epsilon_left == 0.5
    with monkeypatch.context() as during:
        _lost_after_its_commit(during, cut, _full)
        with pytest.raises(ChargeUnsettled):
            ledger.commit(answered, b"noisy")
    assert ledger.budget("ada").epsilon_left == 0.5


def test_a_writer_that_is_cut_off_while_it_waits_charges_once(ledger: Ledger, ledger_url: str) -> None:
    with psycopg.connect(ledger_url) as holder, ThreadPoolExecutor(1) as proxy:
        holder.execute(f"LOCK TABLE {SCHEMA}.identity IN EXCLUSIVE MODE".encode())
        reserving = proxy.submit(reserve, ledger, charge(0.25))
        waiting = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        while not holder.execute(waiting).fetchall():
            time.sleep(0.01)
        holder.rollback()
        assert reserving.result(timeout=60).id == 1
    assert ledger.budget("ada").epsilon_left == 0.75


def test_a_view_that_waits_for_the_lock_does_not_keep_the_one_that_holds_it(
    ledger: Ledger, reopen: Reopen, ledger_url: str
) -> None:
    """Two ledgers of one process: what the waiting one computes may take no lock that the writing one needs."""
    writes, other = ledger._store.write, reopen()._store.write

    def look(view: Writing) -> bool:
        waiting = "SELECT count(*) FROM pg_locks WHERE relation IS NOT NULL AND NOT granted"
        deadline = time.monotonic() + 60
        while not (seen := bool(view.rows(waiting)[0][0])) and time.monotonic() < deadline:
            time.sleep(0.01)
        return seen and view.head.number + view.now_ms + view.offset_ms > 0

    with ThreadPoolExecutor(2) as threads:
        looking = threads.submit(writes, look)
        while not _holds_the_lock(ledger_url) and not looking.done():
            time.sleep(0.01)
        threads.submit(other, lambda view: (view.head, view.now_ms, view.offset_ms)).result(120)
        assert looking.result(120), "it looked on while the other one waited"


def _holds_the_lock(url: str) -> bool:
    held = "SELECT count(*) FROM pg_locks WHERE mode = 'ExclusiveLock' AND relation IS NOT NULL AND granted"
    with psycopg.connect(url) as connection:
        return bool(connection.execute(held).fetchall()[0][0])


def test_a_proxy_whose_lease_has_lapsed_cannot_commit(ledger: Ledger, reopen: Reopen, cut: Cut) -> None:
    reservation = reserve(ledger, charge(0.25, answer_key="question"))
    second = reopen()
    assert second.recover() == ()
    cut()  # the first proxy works on and does not know
    assert [one.id for one in second.recover()] == [reservation.id]
    with pytest.raises(LedgerInvalid):
        ledger.commit(reservation, b"noisy")
    with pytest.raises(LedgerInvalid):
        ledger.release(reservation)
    assert ledger.cached_answer("question", "ada") is None
    assert ledger.budget("ada").epsilon_left == 0.75
    assert ledger.commit(reserve(ledger, charge(0.25))).epsilon_left == 0.5  # it goes on with a new lease


def test_one_that_was_cut_off_and_came_back_is_alive(ledger: Ledger, reopen: Reopen, cut: Cut) -> None:
    reservation = reserve(ledger, charge(0.25))
    cut()
    ledger.budget("ada")
    assert reopen().recover() == ()
    ledger.commit(reservation)


def test_a_server_that_is_gone_is_said_to_be(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnavailable):
        open_postgres_ledger(f"postgresql://nobody@/none?host={tmp_path}", tmp_path / "marker.json")


def test_a_ledger_is_created_once(ledger: Ledger, ledger_url: str, marker: Path) -> None:
    with pytest.raises(LedgerInvalid, match="already"):
        create_postgres_ledger(ledger_url, marker)
    assert ledger.budget("ada").epsilon == 1.0


def test_a_dropped_ledger_is_missed(ledger: Ledger, ledger_url: str, marker: Path, tmp_path: Path) -> None:
    ledger.close()
    with psycopg.connect(ledger_url, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA {SCHEMA} CASCADE".encode())
    for start in (open_postgres_ledger, create_postgres_ledger):
        with pytest.raises(LedgerMissing, match="gone"):
            start(ledger_url, marker)
    with pytest.raises(LedgerMissing, match="no ledger"):
        open_postgres_ledger(ledger_url, tmp_path / "other.json")


def test_a_server_that_forgot_is_refused(ledger: Ledger, ledger_url: str, marker: Path, cut: Cut) -> None:
    """A standby that had not received the last charge takes over."""
    reserve(ledger, charge(0.25))
    reserve(ledger, charge(0.25))
    with psycopg.connect(ledger_url, autocommit=True) as connection:
        connection.execute(f"SET search_path = {SCHEMA}".encode())
        connection.execute("SET session_replication_role = replica")  # no triggers, no foreign keys
        connection.execute("DELETE FROM charges")
        connection.execute("DELETE FROM entries WHERE number > 3")
    cut()
    with pytest.raises(LedgerInvalid, match="lost entries that it had confirmed"):
        reserve(ledger, charge(0.25))
    with pytest.raises(LedgerInvalid, match="older copy"):
        open_postgres_ledger(ledger_url, marker)


def test_another_version_is_refused(ledger: Ledger, ledger_url: str, marker: Path) -> None:
    with psycopg.connect(ledger_url, autocommit=True) as connection:
        connection.execute(f"UPDATE {SCHEMA}.version SET number = 4".encode())
    with pytest.raises(LedgerInvalid, match="version 4"):
        open_postgres_ledger(ledger_url, marker)


def test_the_servers_clock_is_everyones(ledger_url: str, marker: Path) -> None:
    ledger = create_postgres_ledger(ledger_url, marker)
    with psycopg.connect(ledger_url) as connection:
        row = connection.execute("SELECT extract(epoch FROM now()) * 1000").fetchone()
    assert row is not None
    assert abs(ledger.entries()[0].at_ms - float(row[0])) < 60_000
    ledger.close()


def test_tampering_is_found(ledger: Ledger, ledger_url: str) -> None:
    fill(ledger)
    with psycopg.connect(ledger_url, autocommit=True) as foreign:
        foreign.execute(f"SET search_path = {SCHEMA}".encode())
        foreign.execute("SET session_replication_role = replica")  # no triggers, no foreign keys
        tables = [
            name for (name,) in foreign.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (SCHEMA,))
        ]
        for table in tables:
            foreign.execute(f"CREATE TEMPORARY TABLE saved_{table} AS TABLE {table}".encode())
        for edit, statements in EDITS.items():
            assert ledger.verify().fault is None
            for statement in statements:
                assert foreign.execute(statement.encode()).rowcount >= 1, edit
            assert ledger.verify().fault is not None, edit
            for table in tables:
                foreign.execute(f"DELETE FROM {table}; INSERT INTO {table} TABLE saved_{table}".encode())


def test_the_server_refuses_what_the_ledger_never_does(ledger: Ledger, ledger_url: str) -> None:
    fill(ledger)
    added = "INSERT INTO charges SELECT"
    with psycopg.connect(ledger_url, autocommit=True) as foreign:
        foreign.execute(f"SET search_path = {SCHEMA}".encode())
        for statement in (
            "DELETE FROM charges",
            "TRUNCATE answers",
            "UPDATE entries SET content = ''",
            "UPDATE charges SET state = 'released', settled_by = 1 WHERE number = 1",
            "UPDATE charges SET state = 'committed', settled_by = 1, analyst = 'eve' WHERE number = 4",
            'UPDATE accounts SET spent = \'{"nano_epsilon":9000000000,"atto_delta":0}\'',
            'UPDATE accounts SET spent = \'{"nano_epsilon":-1,"atto_delta":0}\'',
            "UPDATE accounts SET name = 'group:mine' WHERE name = 'dataset'",
            "UPDATE analysts SET name = 'mallory' WHERE name = 'eve'",
            "INSERT INTO entries SELECT number + 100, at_ms, kind, instance, operation, content, hash FROM entries",
            f"{added} 9, entry, analyst, '', '', '', NULL, '', 'reserved', NULL FROM charges LIMIT 1",
            f"{added} 5, entry, analyst, '', '', '', NULL, '', 'failed', 1 FROM charges LIMIT 1",
        ):
            try:
                foreign.execute(statement.encode())
            except psycopg.IntegrityError:
                continue
            pytest.fail(statement)


def test_a_policy_that_names_a_database_gets_its_ledger_there(
    ledger_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEDGER_URL", ledger_url)
    text = DEMO_POLICY.read_text().replace('path = "ledger.sqlite"', 'url = "env:LEDGER_URL"')
    here = tmp_path / "policy.toml"
    made, first = open_or_create(parse_policy(text), here)
    made.close()
    opened, second = open_or_create(parse_policy(text), here)
    opened.close()
    assert (first, second, made.id) == (True, False, opened.id)
