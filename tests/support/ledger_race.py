"""Many clients in several processes who spend one budget at once."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier

from server.errors import BudgetExhausted
from server.ledger.account import Grant
from server.ledger.analyst import Act, key_hash
from server.ledger.charge import Charge
from server.ledger.ledger import Ledger
from tests.support.charging import reserve

N_ANALYSTS = 8

Open = Callable[[], Ledger]
"""Opens the ledger of the race; can be pickled."""

_all_ready: Barrier
"""In a proxy: the barrier that the clients of all proxies pass together."""


@dataclass(frozen=True)
class Outcome:
    """What a race came to.

    Attributes:
      released: the numbers of the charges under which answers were released, per proxy.
      refused: how many queries were refused.
      seconds: from the first query to the last.
    """

    released: tuple[tuple[int, ...], ...]
    refused: int
    seconds: float


def prepare_race(ledger: Ledger, allowed: int) -> None:
    """Analysts with more than enough, and a dataset whose budget is for so many queries."""
    ledger.grant("dataset", Grant(allowed / 1000), Act())
    for number in range(N_ANALYSTS):
        ledger.add_analyst(f"analyst-{number}", key_hash(f"ng_{number}"), 1e6, 0.0)


def race(open_book: Open, *, proxies: int, clients: int, queries: int) -> Outcome:
    """Ask `queries` queries in all, by as many clients in as many processes."""
    spawn = multiprocessing.get_context("spawn")
    threads = clients // proxies
    barrier = spawn.Barrier(clients, timeout=120)
    with ProcessPoolExecutor(proxies, spawn, initializer=_prepare, initargs=(barrier,)) as pool:
        begun = time.monotonic()
        running = [pool.submit(_proxy, open_book, threads, queries // clients) for _ in range(proxies)]
        parts = [one.result(timeout=1200) for one in running]
    seconds = time.monotonic() - begun
    return Outcome(tuple(part for part, _ in parts), sum(refused for _, refused in parts), seconds)


def _prepare(barrier: Barrier) -> None:
    global _all_ready
    _all_ready = barrier


def _proxy(open_book: Open, threads: int, queries: int) -> tuple[tuple[int, ...], int]:
    """One process: what it released, and how often it was refused."""
    with closing(open_book()) as ledger, ThreadPoolExecutor(threads) as clients:
        parts = list(clients.map(lambda number: _client(ledger, number, queries), range(threads)))
    return tuple(number for part in parts for number in part), threads * queries - sum(map(len, parts))


def _client(ledger: Ledger, number: int, queries: int) -> list[int]:
    analyst = f"analyst-{number % N_ANALYSTS}"
    released = []
    _all_ready.wait()
    for query in range(queries):
        charge = Charge(analyst, 0.001, 0.0, f"{number}-{query}", "policy", "plan", "gem")
        try:
            reservation = reserve(ledger, charge)
        except BudgetExhausted:
            continue
        ledger.commit(reservation, b"noisy")
        released.append(reservation.id)
    return released
