"""The HTTP API under load, on the demonstration: kept and fresh questions, the ledger's sums, memory, latencies.

Part one, `mixed`: clients that wait for each answer before they ask again. Part two, `offered`: kept answers asked
for at a fixed rate, whether or not the ones before have come, while more fresh questions than the proxy takes at once
keep every worker busy; a latency counts from the moment at which the question was due. SECONDS_OF_LOAD=60 makes part
one that long, and part two a third of it.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles

from rich.console import Console
from rich.progress import Progress

from server.demo.workplace import ROOT, Demonstration, add_analyst, new_data, prepare, running_proxy
from tests.benchmarks.rows import Row
from tests.support.raw_http import RawClient

CLIENTS = 50
OFFERED_PER_SECOND = 100
_SECONDS, _QUICK_SECONDS = 300.0, 15.0
_BUDGET = 1000.0
_KEPT_EPSILON = 0.5
_FRESH_EVERY = 5
_FRESH_AT_ONCE = 20
_STEP = 1e-6
_BAR_MS = 50.0
_BAR_GROWTH = 0.05
_MEMORY_EVERY_S = 0.5

KEPT = (
    "SELECT count(*) FROM orders",
    "SELECT sum(l_quantity) FROM lineitem",
    "SELECT n_name, count(*) FROM customer JOIN nation ON c_nationkey = n_nationkey GROUP BY n_name",
)
FRESH = "SELECT count(*) FROM orders WHERE o_totalprice > 1000"


def run(quick: bool) -> list[Row]:
    """Both parts, one after the other, before one proxy."""
    seconds = _QUICK_SECONDS if quick else float(os.environ.get("SECONDS_OF_LOAD", _SECONDS))
    console = Console(stderr=True)
    with Progress(console=console, disable=bool(os.environ.get("CI"))) as progress:
        demonstration = prepare(ROOT / "demo", progress, console.print)
        try:
            keys = [add_analyst(demonstration, _BUDGET, name=_name(number)) for number in range(CLIENTS)]
            new_data(demonstration)
            with running_proxy(demonstration, port=0) as (process, address):
                port = int(address.rpartition(":")[2])
                return asyncio.run(_both(port, keys, process.pid, seconds))
        finally:
            _stop(demonstration)


def _stop(demonstration: Demonstration) -> None:
    demonstration.server.stop()


def _name(number: int) -> str:
    return f"load-{time.time_ns()}-{number}"


@dataclass
class Seen:
    """What clients saw.

    Attributes:
      statuses: of the responses; 0 for a connection that broke.
      kept, sold, fresh: seconds per answer: free, kept and paid for once more, measured.
      charged: per key, the sum of what the answers say they were charged, in nano-epsilon.
    """

    statuses: Counter[int] = field(default_factory=Counter)
    kept: list[float] = field(default_factory=list)
    sold: list[float] = field(default_factory=list)
    fresh: list[float] = field(default_factory=list)
    charged: Counter[str] = field(default_factory=Counter)

    async def ask(self, client: RawClient, key: str, sql: str, epsilon: float, due: float | None = None) -> None:
        """Ask and note; the clock starts when the question was due."""
        begun = time.perf_counter() if due is None else due
        try:
            status, body = await client.ask(sql, epsilon)
        except (OSError, asyncio.IncompleteReadError):  # the connection broke: no answer, and so an error
            status, body = 0, {}
        self.statuses[status] += 1
        if status == 200:
            nano = round(body["charge"]["epsilon"] * 1e9)
            self.charged[key] += nano
            kind = self.fresh if not body["cached"] else self.sold if nano else self.kept
            kind.append(time.perf_counter() - begun)

    @property
    def errors(self) -> int:
        """How many responses were no answers."""
        return sum(self.statuses.values()) - self.statuses[200]


async def _both(port: int, keys: list[str], pid: int, seconds: float) -> list[Row]:
    """The two parts, and what the ledger says of them together."""
    before = [await _spent(port, key) for key in keys]
    charged: Counter[str] = Counter()
    rows = [
        *await _mixed(port, keys, pid, seconds, charged),
        *await _offered(port, keys, seconds / 3, charged),
    ]
    spent = [await _spent(port, key) - sum_before for key, sum_before in zip(keys, before, strict=True)]
    drifted = sum(nano != charged[key] for nano, key in zip(spent, keys, strict=True))
    return [
        *rows,
        Row("both", "epsilon charged", sum(spent) / 1e9, "1"),
        Row("both", "analysts whose ledger and answers differ", float(drifted), "1", most=0),
    ]


async def _mixed(port: int, keys: list[str], pid: int, seconds: float, charged: Counter[str]) -> list[Row]:
    """Fifty clients, one question in five fresh."""
    seen, memory = Seen(charged=charged), list[int]()
    end = time.perf_counter() + seconds

    async def client(number: int, key: str) -> None:
        http = RawClient(port, key)
        count = number
        while time.perf_counter() < end:
            count += 1
            if count % _FRESH_EVERY:
                await seen.ask(http, key, KEPT[count % len(KEPT)], _KEPT_EPSILON)
            else:
                await seen.ask(http, key, FRESH, 0.1 + _STEP * (count * len(keys) + number))
        await http.close()

    async def watch() -> None:
        while time.perf_counter() < end:
            memory.append(sum(_resident_kib(pid)))
            await asyncio.sleep(_MEMORY_EVERY_S)

    await asyncio.gather(watch(), *(client(number, key) for number, key in enumerate(keys)))
    return [
        Row("mixed", "clients", float(len(keys)), "1"),
        Row("mixed", "seconds", seconds, "s"),
        Row("mixed", "kept answers, free", float(len(seen.kept)), "1"),
        Row("mixed", "kept answers, sold again", float(len(seen.sold)), "1"),
        Row("mixed", "fresh answers", float(len(seen.fresh)), "1"),
        Row("mixed", "errors", float(seen.errors), "1", most=0),
        Row("mixed", "memory at the end", median(memory[-_fifth(memory) :]) / 1024, "MiB"),
        Row("mixed", "that against after a fifth of the time", _growth(memory), "1", most=1 + _BAR_GROWTH),
        *_latencies("mixed", seen),
    ]


async def _offered(port: int, keys: list[str], seconds: float, charged: Counter[str]) -> list[Row]:
    """Kept answers at a fixed rate while fresh questions solve."""
    seen, behind, first = (Seen(charged=charged) for _ in range(3))
    idle: asyncio.Queue[tuple[RawClient, str]] = asyncio.Queue()
    for key in keys[_FRESH_AT_ONCE:]:
        idle.put_nowait((RawClient(port, key), key))
    end = time.perf_counter() + seconds

    async def fresh(number: int) -> None:
        http, count = RawClient(port, keys[number]), 0
        while time.perf_counter() < end:
            count += 1
            await behind.ask(http, keys[number], FRESH, 0.2 + _STEP * (count * _FRESH_AT_ONCE + number))
        await http.close()

    async def once(due: float, sql: str) -> None:
        http, key = await idle.get()
        await seen.ask(http, key, sql, _KEPT_EPSILON, due)
        idle.put_nowait((http, key))

    async def steadily() -> None:
        asked = []
        begun = time.perf_counter()
        for number in range(round(seconds * OFFERED_PER_SECOND)):
            due = begun + number / OFFERED_PER_SECOND
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            asked.append(asyncio.create_task(once(due, KEPT[number % len(KEPT)])))
        await asyncio.gather(*asked)

    for key in keys:  # so that every one of them has paid
        http = RawClient(port, key)
        for sql in KEPT:
            await first.ask(http, key, sql, _KEPT_EPSILON)
        await http.close()
    await asyncio.gather(steadily(), *(fresh(number) for number in range(_FRESH_AT_ONCE)))
    return [
        Row("offered", "kept answers offered", float(OFFERED_PER_SECOND), "1/s"),
        Row("offered", "errors", float(seen.errors + behind.errors + first.errors), "1", most=0),
        Row("offered", "answers that were not kept", float(len(seen.sold) + len(seen.fresh)), "1", most=0),
        Row("offered", "fresh answers meanwhile", float(len(behind.fresh)), "1", least=1),
        *_latencies("offered", seen, most_kept_ms=_BAR_MS),
    ]


def _latencies(case: str, seen: Seen, most_kept_ms: float | None = None) -> Iterator[Row]:
    for name, seconds, most in (("kept", seen.kept, most_kept_ms), ("fresh", seen.fresh, None)):
        if len(seconds) > 1:
            yield Row(case, f"{name}, median", median(seconds) * 1e3, "ms")
            yield Row(case, f"{name}, 99%", quantiles(seconds, n=100)[98] * 1e3, "ms", most=most)


async def _spent(port: int, key: str) -> int:
    """What the ledger says was charged, in nano-epsilon."""
    http = RawClient(port, key)
    _, body = await http.get("/v1/budget")
    await http.close()
    spent: float = body["epsilon"] - body["epsilon_left"]
    return round(spent * 1e9)


def _fifth(memory: list[int]) -> int:
    """How many samples a fifth of the time has."""
    return max(1, len(memory) // 5)


def _growth(memory: list[int]) -> float:
    """The last fifth's median over the second fifth's: the first one warms up."""
    fifth = _fifth(memory)
    return median(memory[-fifth:]) / median(memory[fifth : 2 * fifth] or memory[-fifth:])


def _resident_kib(pid: int) -> Iterator[int]:
    """Resident memory of a process and of all below it."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except FileNotFoundError:  # it has ended meanwhile
        return
    yield from (int(line.split()[1]) for line in text.splitlines() if line.startswith("VmRSS:"))  # a zombie has none
    for child in children:
        yield from _resident_kib(int(child))
