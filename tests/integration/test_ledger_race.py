"""Two processes with eight threads each spend one budget at once."""

from __future__ import annotations

import multiprocessing
import random
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing.synchronize import Barrier
from pathlib import Path

from server.errors import BudgetExhausted
from server.keys import key_hash
from server.ledger.amounts import charged_epsilon, granted_epsilon
from server.ledger.book import Book
from server.ledger.charge import Charge
from server.ledger.open_ledger import create_ledger, open_ledger

BUDGET = 20.0
LARGEST = 0.1
THREADS = 8

_all_ready: Barrier
"""In a spender: the barrier that the threads of both processes pass together."""


def test_racing_charges_never_exceed_the_budget(tmp_path: Path) -> None:
    path, marker = tmp_path / "ledger.sqlite", tmp_path / "marker.json"
    ledger = create_ledger(path, marker)
    ledger.add_analyst("ada", key_hash("ng_ada"), BUDGET, 0.0)
    spawn = multiprocessing.get_context("spawn")
    barrier = spawn.Barrier(2 * THREADS, timeout=60)
    with ProcessPoolExecutor(2, spawn, initializer=prepare, initargs=(barrier,)) as processes:
        spenders = [processes.submit(spend, path, marker, seed) for seed in (1, 2)]
        granted_by = [spender.result(timeout=120) for spender in spenders]
    granted = [nano for part in granted_by for nano in part]
    print("SHARES", [len(p) for p in granted_by])
    assert min(len(part) for part in granted_by) >= 10  # both had a share, so they did race
    assert sum(granted) <= granted_epsilon(BUDGET)
    assert sum(granted) > granted_epsilon(BUDGET) - charged_epsilon(LARGEST)  # and the budget is used up
    left = ledger.budget("ada").epsilon_left
    assert granted_epsilon(BUDGET) - sum(granted) == (charged_epsilon(left) if left else 0)
    ledger.close()
    open_ledger(path, marker).close()  # the sums still agree, and the marker is not ahead


def prepare(barrier: Barrier) -> None:
    """Give a spender the barrier, which only an initializer can carry."""
    global _all_ready
    _all_ready = barrier


def spend(path: Path, marker: Path, seed: int) -> list[int]:
    """What eight threads of one process were granted, in nano-epsilon; some of it given back in between."""
    ledger = open_ledger(path, marker)
    with ThreadPoolExecutor(THREADS) as threads:
        parts = list(threads.map(lambda thread: spend_in_thread(ledger, 100 * seed + thread), range(THREADS)))
    ledger.close()
    return [nano for part in parts for nano in part]


def spend_in_thread(ledger: Book, seed: int) -> list[int]:
    """Ask until even the hardly measurable is refused."""
    choice = random.Random(seed)
    _all_ready.wait()
    granted = []
    ceiling = LARGEST
    while ceiling > LARGEST / 4:
        epsilon = choice.uniform(ceiling / 2, ceiling)
        try:
            reservation = ledger.reserve(Charge("ada", epsilon, 0.0, f"request-{seed}", "policy", "plan", "gem"))
        except BudgetExhausted:
            ceiling /= 2
            continue
        if choice.random() < 0.2:
            ledger.release(reservation)
        else:
            ledger.commit(reservation)
            granted.append(charged_epsilon(epsilon))
    return granted
