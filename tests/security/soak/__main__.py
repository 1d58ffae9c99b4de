"""`make soak MINUTES=60 SEED=1`: clients and faults against one proxy, and a table of what became of them.

An interrupt (Ctrl-C, SIGTERM) ends it early and compares all the same. Exit code 1 where anything does not agree.
"""

from __future__ import annotations

import random
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from server.backends import embedded
from server.demo.database import load_once
from server.demo.workplace import Demonstration, add_analyst
from server.policy.accepted_policy import read_policy
from server.policy.open_ledger_of_policy import open_or_create
from tests.security.soak.clients import Analyst
from tests.security.soak.faults import Injector
from tests.security.soak.reconcile import charges_of, mismatches
from tests.support.proxies import tpch_demonstration
from tests.support.wire_proxy import WireProxy, wire_proxy

FOLDER = Path(".noisegate") / "soak"
_SCALE = 0.01
_ANALYSTS, _AT_ONCE = 4, 2
"""Accounts, and threads that use each."""

_GRANTED = 20.0
_POOR = 1.0
"""One of the accounts is soon empty: what is refused then is compared, too."""

_FAULT_EVERY_S = 5.0
_TELL_EVERY_S = 10.0


@dataclass
class Running:
    """The proxy of the moment, over one ledger.

    Attributes:
      ended: proxies that were killed.
    """

    demonstration: Demonstration
    stack: ExitStack = field(default_factory=ExitStack)
    wire: WireProxy | None = None
    ended: int = 0

    def start(self) -> None:
        """Start one; its catalog is there from the last time."""
        self.wire = self.stack.enter_context(wire_proxy(self.demonstration, self.demonstration.server, tls=False))

    def restart(self) -> None:
        """Kill it at whatever it does, and start another."""
        wire, self.wire = self.wire, None
        assert wire is not None
        wire.kill()
        with suppress(ProcessLookupError):
            self.stack.close()
        self.ended += 1
        self.start()

    def stop(self) -> None:
        """End the last one in order."""
        self.wire = None
        self.stack.close()


@dataclass(frozen=True)
class Outcome:
    """What the table says, and each thing that does not agree."""

    rows: dict[str, int]
    mismatches: tuple[str, ...]


def soak(seconds: float, seed: int, folder: Path = FOLDER, every_s: float = _FAULT_EVERY_S) -> Outcome:
    """Let it run, end it in order, and compare.

    Args:
      seconds: how long clients and faults go on.
      seed: of both; threads and clocks have none, so a run is alike and not the same.
      every_s: about how long it is between two faults.
    """
    made = _made(folder)
    try:
        with _interruptible():
            return _soaked(made, seconds, seed, every_s)
    finally:
        made.server.stop()


@contextmanager
def _interruptible() -> Iterator[None]:
    """Whoever ends it by Ctrl-C or by SIGTERM has it compared, also where a shell runs it in the background."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ends = (signal.SIGINT, signal.SIGTERM)
    before = {end: signal.signal(end, signal.default_int_handler) for end in ends}
    try:
        yield
    finally:
        for end, handler in before.items():
            signal.signal(end, handler)


def _soaked(made: Demonstration, seconds: float, seed: int, every_s: float) -> Outcome:
    running = Running(made)
    analysts = [_analyst(made, running, number, seed) for number in range(_ANALYSTS)]
    injector = Injector(lambda: running.wire, running.restart, random.Random(seed), every_s)
    stop = threading.Event()
    running.start()
    try:
        with ThreadPoolExecutor(_ANALYSTS * _AT_ONCE + 1) as threads:
            going = [threads.submit(one.until, stop) for one in analysts for _ in range(_AT_ONCE)]
            going.append(threads.submit(injector.until, stop))
            try:
                _wait(seconds, stop, analysts, injector)
            except KeyboardInterrupt:
                print("interrupted: what there is is compared")
            finally:
                stop.set()
            for one in going:
                one.result()
    finally:
        running.stop()
    return _compared(made, analysts, injector)


def _made(folder: Path) -> Demonstration:
    """A small database that stays, and a ledger that does not."""
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    server = embedded.start(folder / "postgres", announce=print)
    with Progress(disable=True) as progress:
        url = load_once(server, "tpch", _SCALE, progress)
    shutil.rmtree(folder / "proxy", ignore_errors=True)
    (folder / "proxy").mkdir()
    return tpch_demonstration(folder / "proxy", server, url)


def _analyst(made: Demonstration, running: Running, number: int, seed: int) -> Analyst:
    granted = _GRANTED if number else _POOR
    name = f"analyst-{number}"
    key = add_analyst(made, granted, name=name)
    return Analyst(name, key, granted, random.Random(seed * 100 + number), lambda: running.wire)


def _wait(seconds: float, stop: threading.Event, analysts: list[Analyst], injector: Injector) -> None:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        stop.wait(min(_TELL_EVERY_S, left))
        served = sum(one.told.served for one in analysts)
        met = f"{injector.injected.total()} faults of {len(injector.injected)} kinds"
        print(f"{max(0, left):.0f} s left: {served} requests, {met}", flush=True)


def _compared(made: Demonstration, analysts: list[Analyst], injector: Injector) -> Outcome:
    """The ledger is opened as the next proxy would: what the last one left behind is called crashed."""
    ledger, _ = open_or_create(read_policy(made.policy), made.policy)
    try:
        ledger.recover()
        found = tuple(mismatches(ledger, analysts, made.folder / "proxy.log"))
        charges = charges_of(ledger)
    finally:
        ledger.close()
    told = [one.told for one in analysts]
    rows = {
        "attacks tried": sum(one.attacks for one in told),
        "attacks held": sum(one.held for one in told),
        "faults injected": injector.injected.total(),
        "faults survived": injector.survived,
        "kinds of fault": len(injector.injected),
        "requests served": sum(one.served for one in told),
        "answers released": sum(len(one.answers) + one.by_wire for one in told),
        "charges": sum(one.state != "released" for one in charges),
        "mismatches": len(found),
    }
    return Outcome(rows | {f"fault: {name}": count for name, count in sorted(injector.injected.items())}, found)


def main(minutes: float, seed: int) -> int:
    """Run, tell, and say by the exit code whether all agrees."""
    outcome = soak(minutes * 60, seed)
    table = Table("what", "how many", title=f"soak of {minutes:g} minutes, seed {seed}", title_justify="left")
    for name, count in outcome.rows.items():
        table.add_row(name, str(count))
    Console().print(table)
    for one in outcome.mismatches[:20]:
        print(f"mismatch: {one}")
    held = outcome.rows["attacks held"] == outcome.rows["attacks tried"]
    survived = outcome.rows["faults survived"] == outcome.rows["faults injected"]
    return int(bool(outcome.mismatches) or not held or not survived)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), int(sys.argv[2])))
