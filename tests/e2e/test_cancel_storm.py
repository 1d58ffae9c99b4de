"""Somebody's cancelled and timed-out questions, and workers that die idle, cost nobody else an answer or a charge."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import httpx
import psycopg
import pytest

from tests.support.wire_proxy import WireProxy
from tests.support.worker_processes import workers_of

INNOCENTS = 8
GRANTED, EPSILON = 900.0, 0.001
FEW = 5
STORMS = 4
"""Threads of two analysts who cancel."""

# Each supplier's lines with each other, 36 million pairs whose comments are compared: a minute.
LONG = (
    "SELECT count(*) FROM lineitem a JOIN lineitem b ON a.l_suppkey = b.l_suppkey "
    "WHERE upper(a.l_comment) <> lower(b.l_comment) AND a.l_orderkey <> {number}"
)
SHORT = "SELECT count(*) FROM orders WHERE o_orderkey <> {number}"

_numbers = itertools.count(-1, -1)


@dataclass
class Asker:
    """An innocent analyst, and what became of what it asked."""

    http: httpx.Client
    answered: int = 0
    refused: list[str] = field(default_factory=list)

    def ask(self) -> None:
        reply = self.http.post("/v1/query", json={"sql": SHORT.format(number=next(_numbers)), "epsilon": EPSILON})
        if reply.is_success:
            self.answered += 1
        else:
            self.refused.append(reply.text)

    def ask_until(self, stop: threading.Event) -> None:
        while not stop.is_set():
            self.ask()
            stop.wait(0.5)

    def spent(self) -> float:
        return GRANTED - float(self.http.get("/v1/budget").json()["epsilon_left"])


@contextmanager
def _clients(wire: WireProxy, count: int) -> Iterator[list[httpx.Client]]:
    with ExitStack() as stack:
        yield [stack.enter_context(wire.client(GRANTED)) for _ in range(count)]


@pytest.mark.parametrize("ends", [FEW, pytest.param(200, marks=pytest.mark.slow)])
def test_eight_innocents_get_every_answer(wire: WireProxy, ends: int) -> None:
    with _clients(wire, INNOCENTS + 2) as clients, ThreadPoolExecutor(INNOCENTS + STORMS) as threads:
        innocents = [Asker(http) for http in clients[2:]]
        stop, left = threading.Event(), itertools.count()
        asking = [threads.submit(one.ask_until, stop) for one in innocents]
        storms = [threads.submit(_storm, wire, clients[number % 2], left, ends) for number in range(STORMS)]
        try:
            ended = [code for storm in storms for code in storm.result(1200)]
        finally:
            stop.set()
        for done in asking:
            done.result(300)
        assert len(ended) == ends and set(ended) == {"57014"}
        if ends > FEW:  # to start others takes long; one that dies is also in integration/test_worker_pool.py
            _kill_idle_workers(wire)
        list(threads.map(Asker.ask, innocents))
        assert [one.refused for one in innocents] == [[]] * INNOCENTS
        for one in innocents:
            assert one.answered >= 2
            assert one.spent() == pytest.approx(EPSILON * one.answered, abs=1e-9)


def _storm(wire: WireProxy, http: httpx.Client, left: Iterator[int], ends: int) -> list[str]:
    """Ask what takes long and have it ended: nine times by a cancellation, once by the database, as a limit would."""
    codes = []
    while (count := next(left)) < ends:
        number = next(_numbers)
        asked = {"sql": LONG.format(number=number), "epsilon": 4.0}
        accepted = http.post("/v1/query", json=asked, headers={"Prefer": "respond-async"})
        assert accepted.status_code == 202, accepted.text
        job = accepted.json()["id"]
        if count % 10 == 4:
            _cut_off(wire, number, http, job)
        else:
            time.sleep(0.05 * (count % 9))
            http.delete(f"/v1/jobs/{job}")
        while not _done(http, job):
            time.sleep(0.02)
        answer = http.get(f"/v1/jobs/{job}/result")
        assert not answer.is_success, f"end {count} was answered: {answer.text[:2000]}"
        codes.append(answer.json()["code"])
    return codes


def _done(http: httpx.Client, job: str) -> bool:
    return bool(http.get(f"/v1/jobs/{job}").json()["state"] == "done")


def _cut_off(wire: WireProxy, number: int, http: httpx.Client, job: str) -> None:
    """End the question's statements as they run, until the question has ended.

    A cancellation that arrives between two of them ends neither.
    """
    statement = (
        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid()"
        f" AND application_name = 'noisegate' AND query ~ 'l_orderkey.*{number}([^0-9]|$)'"
    )
    with psycopg.connect(wire.demonstration.owner_url, autocommit=True) as owner:
        end, met = time.monotonic() + 120, False
        while not _done(http, job):
            met |= bool(owner.execute(statement.encode()).fetchall())
            assert time.monotonic() < end, "the statement does not run, or does not end"
            time.sleep(0.05)
        assert met, "the question ended before a statement of it was seen"


def _kill_idle_workers(wire: WireProxy) -> None:
    """As the kernel does when memory is short."""
    for worker in workers_of(wire.process):
        os.kill(worker, signal.SIGKILL)
