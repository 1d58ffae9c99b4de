"""A proxy that is killed: `python -m tests.support.ledger_victim HOW WHERE MARKER`, told on stdin where to die.

Each line of stdin is a number n. A child is forked for it that opens the ledger, answers query after query, and
ends itself with SIGKILL at the n-th fault point: before or after any statement that the ledger sends to its store,
before or after a write of the marker, and between the steps of the pipeline. Per child one line of JSON says which
charges it had been promised and which answers had left.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg

from server.ledger import postgres as postgres_store
from server.ledger import sqlite
from server.ledger import sqlite as sqlite_store
from server.ledger.charge import Charge
from server.ledger.ledger import Ledger
from server.ledger.postgres import open_postgres_ledger
from server.ledger.sqlite import open_ledger
from tests.support.charging import reserve

QUERIES = 4
"""How many a child would answer; a number beyond their fault points kills it between them and its end."""

EPSILON = 0.001


class FaultPoints:
    """Counts down to the death of this process."""

    def __init__(self, left: int) -> None:
        self.left = left

    def reach(self) -> None:
        """One more fault point."""
        self.left -= 1
        if self.left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(self, done: Callable[..., Any]) -> Callable[..., Any]:
        """The function with a fault point before it and one after it."""

        def reached(*arguments: Any, **more: Any) -> Any:
            self.reach()
            result = done(*arguments, **more)
            self.reach()
            return result

        return reached


class Watched:
    """A SQLite connection with fault points around its statements."""

    def __init__(self, inner: Any, points: FaultPoints) -> None:
        self._inner = inner
        self.execute = points.around(inner.execute)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def main(how: str, where: str, marker: str) -> None:
    """Fork a victim per line of stdin, and say what became of it."""
    for line in sys.stdin:
        read, write = os.pipe()
        if (child := os.fork()) == 0:
            os.close(read)
            _die(how, where, marker, FaultPoints(int(line)), os.fdopen(write, "w"))
        os.close(write)
        with os.fdopen(read) as told:
            lines = [json.loads(one) for one in told if one.endswith("\n")]
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        print(json.dumps({"killed": killed, "told": lines}), flush=True)


def _die(how: str, where: str, marker: str, points: FaultPoints, out: Any) -> None:
    """Answer queries until the fault point is reached."""
    _watch(points)
    ledger = open_ledger(Path(where), Path(marker)) if how == "sqlite" else open_postgres_ledger(where, Path(marker))
    for number in range(QUERIES):
        _answer(
            ledger, f"{os.getpid()}-{number}", points, lambda *told: print(json.dumps(told), file=out, flush=True)
        )
    os.kill(os.getpid(), signal.SIGKILL)


def _answer(ledger: Ledger, key: str, points: FaultPoints, tell: Callable[..., None]) -> None:
    """The way of a query: reserve, read, commit, answer."""
    charge = Charge("ada", EPSILON, 0.0, "request", "policy", "plan", "gem", answer_key=key)
    reservation = reserve(ledger, charge)
    tell("reserved", reservation.id)
    points.reach()  # private rows are read here
    ledger.commit(reservation, key.encode())
    points.reach()
    tell("answered", reservation.id)


def _watch(points: FaultPoints) -> None:
    """Put the fault points around everything that the ledger does to the outside."""
    connect = sqlite.connect
    for module in (sqlite_store, sqlite):
        module.connect = lambda *arguments: Watched(connect(*arguments), points)  # type: ignore[attr-defined]
    psycopg.Connection.execute = points.around(psycopg.Connection.execute)  # type: ignore[method-assign]
    for store in (sqlite_store, postgres_store):
        store.write_marker = points.around(store.write_marker)  # type: ignore[attr-defined]


if __name__ == "__main__":
    main(*sys.argv[1:])
