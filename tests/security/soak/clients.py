"""What analysts do in a soak, and what they remember of it: by HTTP and by the wire, honestly and not."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import httpx
import psycopg

from server.demo.demonstration import client
from tests.support.wire_proxy import WireProxy

CHARGED = "it was charged"
"""What the one error of a charged failure, and that of a charged cancellation, say."""

_QUESTIONS = (
    "SELECT count(*) FROM orders WHERE o_orderkey <> {n}",
    "SELECT sum(l_quantity) FROM lineitem WHERE l_orderkey <> {n}",
    "SELECT o_orderpriority, count(*) FROM orders WHERE o_orderkey <> {n} GROUP BY 1",
    "SELECT count(*) FROM customer JOIN orders ON c_custkey = o_custkey WHERE o_orderkey <> {n}",
)
_ATTACKS = (
    "SELECT * FROM customer",
    "SELECT c_name, count(*) FROM customer GROUP BY c_name HAVING 1 / 0 > 1",
    "SELECT count(*) FROM orders; DROP TABLE orders",
    "SELECT count(*) FROM orders WHERE o_orderkey = (SELECT CAST(max(c_name) AS integer) FROM customer)",
    "SELECT pg_sleep(10), count(*) FROM orders",
    "SELECT count(*) FROM pg_read_file('/etc/passwd')",
)
"""What is answered to none of these is a row, or anything for nothing."""

_EPSILONS = (0.01, 0.02, 0.05)
_numbers = itertools.count(1)


@dataclass
class Told:
    """What one analyst was told, in a form that the ledger can be compared with.

    Attributes:
      answers: the idempotency key of each question that was answered by HTTP, with what it was said to cost.
      perhaps_free: those of them that were answered before, or follow: of an own answer nothing is charged.
      failures: the keys of questions that were said to be charged, and not answered.
      refusals: those that were said to have cost nothing.
      unknown: those of which nothing was heard, as the connection broke.
      by_wire, wire_failures, wire_unknown: how many of each there were where a question has no key.
      attacks, held: how many were tried, and how many got nothing.
    """

    answers: dict[str, float] = field(default_factory=dict)
    perhaps_free: set[str] = field(default_factory=set)
    failures: set[str] = field(default_factory=set)
    refusals: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    by_wire: int = 0
    wire_failures: int = 0
    wire_refusals: int = 0
    wire_unknown: int = 0
    attacks: int = 0
    held: int = 0
    served: int = 0


@dataclass
class Analyst:
    """An account, and who uses it.

    Attributes:
      wire: the running proxy; another one after it was killed. None while there is none.
    """

    name: str
    key: str
    granted: float
    draw: random.Random
    wire: Callable[[], WireProxy | None]
    told: Told = field(default_factory=Told)

    def until(self, stop: threading.Event) -> None:
        """Do one thing after the other."""
        things = (self._ask, self._ask, self._ask_by_wire, self._cancel, self._look, self._attack)
        while not stop.is_set():
            wire = self.wire()
            if wire is None:
                stop.wait(0.2)
                continue
            self.draw.choice(things)(wire)
            self.told.served += 1

    def _ask(self, wire: WireProxy) -> None:
        """A question; one in four times one that was put before, under another name."""
        number = next(_numbers) if self.draw.random() < 0.75 else 7
        body = {"sql": self.draw.choice(_QUESTIONS).format(n=-number), "epsilon": self.draw.choice(_EPSILONS)}
        self._send(wire, body)

    def _send(self, wire: WireProxy, body: dict[str, object], **headers: str) -> httpx.Response | None:
        name = f"{self.name}-{next(_numbers)}"
        try:
            with client(wire.http, self.key) as http:
                reply = http.post("/v1/query", json=body, headers={"Idempotency-Key": name, **headers})
                if reply.status_code == 202:
                    reply = self._ended(http, reply.json()["id"])
        except (httpx.TransportError, KeyError, ValueError):
            self.told.unknown.add(name)
            return None
        if reply.is_success:
            answer = reply.json()
            self.told.answers[name] = float(answer["charge"]["epsilon"])
            if answer["cached"] or answer["derived_from"]:
                self.told.perhaps_free.add(name)
        elif CHARGED in reply.text:
            self.told.failures.add(name)
        elif reply.status_code == 404:
            self.told.unknown.add(name)  # its job is forgotten: another proxy runs now
        else:
            self.told.refusals.add(name)
        return reply

    def _ended(self, http: httpx.Client, job: str) -> httpx.Response:
        time.sleep(self.draw.random() / 5)
        if self.draw.random() < 0.5:
            http.delete(f"/v1/jobs/{job}")
        while True:
            state = http.get(f"/v1/jobs/{job}")
            if not state.is_success or state.json()["state"] == "done":
                return http.get(f"/v1/jobs/{job}/result")
            time.sleep(0.05)

    def _cancel(self, wire: WireProxy) -> None:
        """A job, of which every second one is given up."""
        sql = (
            "SELECT count(*) FROM lineitem a JOIN lineitem b ON a.l_orderkey = b.l_orderkey WHERE a.l_orderkey <> {}"
        )
        body: dict[str, object] = {"sql": sql.format(-next(_numbers)), "epsilon": 0.02}
        self._send(wire, body, Prefer="respond-async")

    def _ask_by_wire(self, wire: WireProxy) -> None:
        """The same through psycopg, prepared, with a parameter."""
        sql = self.draw.choice(_QUESTIONS).format(n="%s")
        told = self.told
        try:
            where = (
                f"host=127.0.0.1 port={wire.port} dbname=demo user={self.name} password={self.key} sslmode=disable"
            )
            with psycopg.connect(where, autocommit=True) as session:
                session.execute("SET noisegate.epsilon = 0.02")
                session.execute(sql.encode(), [-next(_numbers)], prepare=True).fetchall()
        except psycopg.Error as error:
            if CHARGED in str(error):
                told.wire_failures += 1
            elif error.sqlstate is None or error.sqlstate.startswith("57P"):
                told.wire_unknown += 1
            else:
                told.wire_refusals += 1
        else:
            told.by_wire += 1

    def _look(self, wire: WireProxy) -> None:
        """What is free: the budget, a description, an explanation."""
        try:
            with client(wire.http, self.key) as http:
                http.get("/v1/budget")
                http.post("/v1/explain", json={"sql": _QUESTIONS[0].format(n=-1)})
        except httpx.TransportError:
            pass

    def _attack(self, wire: WireProxy) -> None:
        """What nobody may: rows, another's account, more than there is."""
        self.told.attacks += 1
        form = self.draw.randrange(4)
        try:
            with client(wire.http, self.key if form else "ng_" + "A" * 43) as http:
                if form == 0:
                    reply = http.get("/v1/budget", headers={"X-Forwarded-User": self.name})
                elif form == 1:
                    reply = http.get("/v1/admin/charges")
                elif form == 2:
                    reply = http.post("/v1/query", json={"sql": _QUESTIONS[0].format(n=-1), "epsilon": 1e6})
                else:
                    reply = http.post("/v1/query", json={"sql": self.draw.choice(_ATTACKS), "epsilon": 0.01})
            self.told.held += not reply.is_success and CHARGED not in reply.text
        except httpx.TransportError:
            self.told.held += 1
