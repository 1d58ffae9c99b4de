"""Faults of a running proxy and of what it stands on: a clear error, the right charge, and nobody mends anything.

Each fault hits one analyst's question while somebody innocent asks; tests/security/README.md has the table of them.
"""

from __future__ import annotations

import itertools
import math
import resource
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field

import httpx
import psycopg
import pytest

from tests.support.server_processes import limited, paused, processes_of
from tests.support.wire_proxy import WireProxy
from tests.support.worker_processes import workers_of

GRANTED, EPSILON = 4.0, 0.01
SHORT = "SELECT count(*) FROM orders WHERE o_orderkey <> {number}"
FAILED = "The query failed; it was charged."
PATIENCE_S = 300.0
MOMENT_S = 2.0
"""A lock of the ledger that is held no longer is waited for."""

_WAITING = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'noisegate' AND wait_event_type = 'Lock'"
_WAITING_HOLDS = """
    SELECT relation::regclass::text FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE application_name = 'noisegate' AND wait_event_type = 'Lock' AND granted AND relation IS NOT NULL
"""
_DEADLOCKS = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"

_numbers = itertools.count(-1_000_000, -1)


@dataclass
class Asker:
    """An analyst of one fault, and what became of the questions.

    Attributes:
      answered, failed: charged, with an answer and without.
      refused: what those were told that were not charged.
    """

    http: httpx.Client
    answered: int = 0
    failed: int = 0
    refused: list[str] = field(default_factory=list)

    def ask(self, sql: str = "", number: int | None = None) -> httpx.Response:
        """One question that nobody has asked before."""
        text = sql or SHORT.format(number=next(_numbers) if number is None else number)
        reply = self.http.post("/v1/query", json={"sql": text, "epsilon": EPSILON}, timeout=PATIENCE_S)
        if reply.is_success:
            self.answered += 1
        elif FAILED in reply.text:
            self.failed += 1
        else:
            self.refused.append(reply.json()["code"])
        return reply

    def is_charged_for_all(self) -> bool:
        """Does the ledger say what the answers say?"""
        left = float(self.http.get("/v1/budget", timeout=PATIENCE_S).json()["epsilon_left"])
        return GRANTED - left == pytest.approx(EPSILON * (self.answered + self.failed), abs=1e-9)


@pytest.fixture
def askers(wire: WireProxy) -> Iterator[tuple[Asker, Asker]]:
    """Whose question is hit, and somebody innocent."""
    with ExitStack() as stack:
        hit, innocent = (Asker(stack.enter_context(wire.client(GRANTED))) for _ in range(2))
        assert hit.ask().is_success, "no fault yet"
        yield hit, innocent
        for one in (hit, innocent):
            assert one.ask().is_success, "afterwards it is as before, without a hand"
            assert one.is_charged_for_all()
        assert not innocent.failed and not innocent.refused


@contextmanager
def _owner(wire: WireProxy) -> Iterator[psycopg.Connection]:
    with psycopg.connect(wire.demonstration.owner_url, autocommit=True) as connection:
        yield connection


def _until(there: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not there():
        assert time.monotonic() < end, "it does not come to that"
        time.sleep(0.02)


def _ended(owner: psycopg.Connection, number: int) -> int:
    """End the sessions in which a question's rows are read just now; how many."""
    statement = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid()"
        f" AND application_name = 'noisegate' AND query ~ 'o_orderkey.*{number}([^0-9]|$)'"
    )
    return len(owner.execute(statement.encode()).fetchall())


@contextmanager
def _held_up(wire: WireProxy, hit: Asker, number: int) -> Iterator[Future[httpx.Response]]:
    """A question that waits for a lock in the middle of reading, for as long as this lasts."""
    with _owner(wire) as locking, ThreadPoolExecutor(1) as threads:
        locking.execute("BEGIN")
        locking.execute("LOCK TABLE orders IN ACCESS EXCLUSIVE MODE")
        asked = threads.submit(hit.ask, "", number)
        try:
            yield asked
        finally:
            locking.execute("ROLLBACK")
            asked.result(PATIENCE_S)


def test_a_database_that_stands_still_is_waited_for(wire: WireProxy, askers: tuple[Asker, Asker]) -> None:
    """The proxy itself goes on: it says what is left, and is healthy. What was asked meanwhile is answered then."""
    hit, _ = askers
    with ThreadPoolExecutor(1) as threads:
        with paused(processes_of(wire.demonstration.server)):
            asked = threads.submit(hit.ask)
            time.sleep(0.3)
            assert not asked.done()
            assert hit.http.get("/health", timeout=PATIENCE_S).is_success
            assert hit.http.get("/v1/budget", timeout=PATIENCE_S).is_success
        reply = asked.result(PATIENCE_S)
    assert reply.is_success or reply.status_code == 503, reply.text


def test_a_connection_that_is_cut_while_rows_are_read_is_made_anew(
    wire: WireProxy, askers: tuple[Asker, Asker]
) -> None:
    """One retry under the same reservation: answered, and charged once."""
    hit, _ = askers
    number = next(_numbers)
    with _owner(wire) as owner, _held_up(wire, hit, number) as asked:
        _until(lambda: _ended(owner, number))
    assert asked.result().is_success, asked.result().text
    assert hit.answered == 2


def test_a_connection_that_is_cut_again_fails_one_question(wire: WireProxy, askers: tuple[Asker, Asker]) -> None:
    """Charged, in words that say nothing of the cause; who asks something else meanwhile is answered."""
    hit, innocent = askers
    number = next(_numbers)
    with _owner(wire) as owner, _held_up(wire, hit, number) as asked:
        assert innocent.ask("SELECT count(*) FROM customer WHERE c_custkey <> -7").is_success
        while not asked.done():
            _ended(owner, number)
            time.sleep(0.02)
    assert FAILED in asked.result().text and hit.failed == 1


def test_a_deadlock_with_somebody_else_is_tried_again(wire: WireProxy, askers: tuple[Asker, Asker]) -> None:
    """A serialization failure that can be had at will: the database ends one of two that wait for each other."""
    hit, _ = askers
    number = next(_numbers)
    sql = f"SELECT count(*) FROM customer JOIN orders ON c_custkey = o_custkey WHERE o_orderkey <> {number}"
    with _owner(wire) as owner, _owner(wire) as looking, ThreadPoolExecutor(1) as threads:
        before = looking.execute(_DEADLOCKS).fetchone()
        held: list[str] = []
        for mine, other in (("orders", "customer"), ("customer", "orders")):
            owner.execute("BEGIN")
            owner.execute(f"LOCK TABLE {mine} IN ACCESS EXCLUSIVE MODE".encode())
            asked = threads.submit(hit.ask, sql.replace(str(number), str(next(_numbers))))
            _until(lambda: looking.execute(_WAITING).fetchall())
            if (other,) in looking.execute(_WAITING_HOLDS).fetchall():
                owner.execute(f"LOCK TABLE {other} IN ACCESS EXCLUSIVE MODE".encode())
                held.append(other)
            owner.execute("ROLLBACK")
            assert asked.result(PATIENCE_S).is_success, asked.result().text
        assert held, "a question holds one table while it waits for the other"
        _until(lambda: looking.execute(_DEADLOCKS).fetchone() != before)
    assert hit.answered == 3


def test_a_schema_that_changes_under_the_proxy_refuses_before_the_charge(
    wire: WireProxy, askers: tuple[Asker, Asker]
) -> None:
    """No plan of other tables is carried out: the question is refused, free; and answered once it is as it was."""
    hit, _ = askers
    with _owner(wire) as owner:
        owner.execute("ALTER TABLE orders ADD COLUMN later integer")
        try:
            reply = hit.ask()
        finally:
            owner.execute("ALTER TABLE orders DROP COLUMN later")
    assert reply.status_code in (409, 503) and not hit.failed, reply.text
    assert hit.answered == 1 and len(hit.refused) == 1


@pytest.mark.slow
def test_a_ledger_that_is_locked_for_long_refuses_and_for_a_moment_is_waited_for(
    wire: WireProxy, askers: tuple[Asker, Asker]
) -> None:
    """Nothing is read without a charge, and no charge is made without the ledger."""
    hit, _ = askers
    (path,) = wire.demonstration.folder.glob("*.sqlite")
    with closing(sqlite3.connect(path, isolation_level=None)) as other, ThreadPoolExecutor(1) as threads:
        held_s = math.inf
        while held_s > MOMENT_S:  # where this process came too late, it was no moment, and the question was refused
            hit.refused.clear()
            begun = time.monotonic()
            other.execute("BEGIN IMMEDIATE")
            asked = threads.submit(hit.ask)
            time.sleep(0.5)
            still = not asked.done()
            other.execute("ROLLBACK")
            held_s = time.monotonic() - begun
            answered = asked.result(PATIENCE_S).is_success
        assert still and answered
        other.execute("BEGIN IMMEDIATE")
        refused = hit.ask()
        other.execute("ROLLBACK")
    assert refused.status_code == 503 and not hit.failed, refused.text


def test_a_full_disk_refuses_and_leaves_as_much_as_there_was(wire: WireProxy, askers: tuple[Asker, Asker]) -> None:
    """No file of the proxy may grow: nothing is charged, nothing is read, and with room again it goes on."""
    hit, _ = askers
    with limited([wire.process], resource.RLIMIT_FSIZE, 0):
        refused = hit.ask()
    assert refused.status_code in (503, 507) and not hit.failed, refused.text
    assert hit.answered == 1


@pytest.mark.slow
def test_a_worker_without_memory_fails_its_question_alone(wire: WireProxy, askers: tuple[Asker, Asker]) -> None:
    """Where no page more is to be had a question has one charged failure; with memory again all goes on.

    It is about every line's customer and supplier, of whom there are sixty thousand pairs: more than a worker holds.
    """
    hit, _ = askers
    wide = "SELECT count(*) FROM lineitem JOIN supplier ON l_suppkey = s_suppkey WHERE l_orderkey <> {}"
    with limited(sorted(workers_of(wire.process)), resource.RLIMIT_AS, 1 << 20):
        reply = hit.ask(wide.format(next(_numbers)))
    assert FAILED in reply.text, reply.text
    assert hit.failed == 1
    assert hit.is_charged_for_all()


@pytest.mark.slow
def test_every_charge_is_an_answer_or_a_failure_while_faults_come_together(
    wire: WireProxy, askers: tuple[Asker, Asker]
) -> None:
    """A database that stands still and connections that are cut: every charge is one answer or one failure."""
    hit, _ = askers
    stop = threading.Event()

    def go_on() -> None:
        while not stop.is_set():
            hit.ask()

    with ThreadPoolExecutor(1) as threads, _owner(wire) as owner:
        asking = threads.submit(go_on)
        try:
            while hit.answered + hit.failed + len(hit.refused) < 6:
                owner.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'noisegate'"
                )
                with paused(processes_of(wire.demonstration.server)):
                    time.sleep(0.2)
        finally:
            stop.set()
        asking.result(PATIENCE_S)
    assert hit.is_charged_for_all()
