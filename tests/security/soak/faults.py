"""Faults of a soak: what breaks while clients go on, chosen from a seed: first every kind once, then by weight."""

from __future__ import annotations

import os
import random
import resource
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field

import httpx
import psycopg

from tests.support.server_processes import limited, paused, processes_of
from tests.support.wire_proxy import WireProxy
from tests.support.worker_processes import workers_of

_PAUSE_S = 0.5
_RECOVERS_S = 120.0


@dataclass
class Injector:
    """Breaks one thing after the other.

    Attributes:
      wire: the running proxy; None while there is none.
      restart: kills the proxy, and starts another over the same ledger.
      every_s: about how long it waits between faults.
      injected: how often each was.
      survived: after how many of them the proxy was ready again by itself.
    """

    wire: Callable[[], WireProxy | None]
    restart: Callable[[], None]
    draw: random.Random
    every_s: float
    injected: Counter[str] = field(default_factory=Counter)
    survived: int = 0

    def until(self, stop: threading.Event) -> None:
        """Until it is enough; each fault is over before the next begins."""
        names = schedule(self.draw)
        while not stop.wait(self.every_s * self.draw.uniform(0.5, 1.5)):
            wire = self.wire()
            if wire is not None:
                name = next(names)
                self.injected[name] += 1
                FAULTS[name][0](self, wire)
                self.survived += self._goes_on()

    def _goes_on(self) -> bool:
        """Does the proxy answer again, without a hand?"""
        end = time.monotonic() + _RECOVERS_S
        while time.monotonic() < end:
            wire = self.wire()
            with suppress(httpx.TransportError):
                if wire is not None and httpx.get(f"{wire.http}/ready", timeout=_RECOVERS_S).status_code == 200:
                    return True
            time.sleep(0.1)
        return False

    def workers_killed(self, wire: WireProxy) -> None:
        """One of them, whatever it does."""
        if found := sorted(workers_of(wire.process)):
            with suppress(ProcessLookupError):
                os.kill(self.draw.choice(found), signal.SIGKILL)

    def connections_cut(self, wire: WireProxy) -> None:
        """All of the proxy's to the database."""
        with psycopg.connect(wire.demonstration.owner_url, autocommit=True) as owner:
            owner.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'noisegate'"
            )

    def database_paused(self, wire: WireProxy) -> None:
        """It stands still."""
        with paused(processes_of(wire.demonstration.server)):
            time.sleep(_PAUSE_S)

    def proxy_paused(self, wire: WireProxy) -> None:
        """It does."""
        with paused([wire.process]):
            time.sleep(_PAUSE_S)

    def ledger_locked(self, wire: WireProxy) -> None:
        """By another process, for a moment."""
        (path,) = wire.demonstration.folder.glob("*.sqlite")
        with closing(sqlite3.connect(path, isolation_level=None)) as other, suppress(sqlite3.OperationalError):
            other.execute("BEGIN IMMEDIATE")
            time.sleep(_PAUSE_S)
            other.execute("ROLLBACK")

    def disk_full(self, wire: WireProxy) -> None:
        """No file of the proxy may grow."""
        with suppress(ProcessLookupError), limited([wire.process], resource.RLIMIT_FSIZE, 0):
            time.sleep(_PAUSE_S)

    def memory_short(self, wire: WireProxy) -> None:
        """One worker gets no page more."""
        if found := sorted(workers_of(wire.process)):
            with suppress(ProcessLookupError), limited([self.draw.choice(found)], resource.RLIMIT_AS, 1 << 20):
                time.sleep(_PAUSE_S)

    def proxy_killed(self, _: WireProxy) -> None:
        """And started again."""
        self.restart()


FAULTS: dict[str, tuple[Callable[[Injector, WireProxy], None], float]] = {
    "a worker killed": (Injector.workers_killed, 3),
    "connections cut": (Injector.connections_cut, 3),
    "database paused": (Injector.database_paused, 2),
    "proxy paused": (Injector.proxy_paused, 2),
    "ledger locked": (Injector.ledger_locked, 2),
    "disk full": (Injector.disk_full, 2),
    "a worker without memory": (Injector.memory_short, 2),
    "proxy killed": (Injector.proxy_killed, 0.5),
}
"""What happens, and how often beside the others."""


def schedule(draw: random.Random) -> Iterator[str]:
    """The names of faults, without an end.

    Every kind comes once, in some order, so that a short run meets each; then as often as their weights say.
    """
    yield from draw.sample(list(FAULTS), len(FAULTS))
    while True:
        yield from draw.choices(list(FAULTS), [weight for _, weight in FAULTS.values()])
