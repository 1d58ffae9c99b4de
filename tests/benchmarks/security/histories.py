"""Simulated histories: proxies die, ledgers fill up, clocks jump; promises that are broken, planted bugs found."""

from __future__ import annotations

import os
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import count
from multiprocessing import get_context

import structlog

from tests.benchmarks.rows import Row
from tests.support.simulation.history import Simulation
from tests.support.simulation.invariants import violations
from tests.support.simulation.planted import PLANTED

_HISTORIES, _QUICK_HISTORIES = 10_000, 60
_PART = 50
_MOST_UNTIL_FOUND = 1_000


def histories(quick: bool) -> list[Row]:
    """What happened in all of them together, and after how many each planted bug was found."""
    wanted = _QUICK_HISTORIES if quick else int(os.environ.get("HISTORIES", _HISTORIES))
    found: Counter[str] = Counter()
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as processes:
        for part in processes.map(_lived, range(0, wanted, _PART), [wanted] * len(range(0, wanted, _PART))):
            found.update(part)
    case = "simulated histories"
    rows = [Row(case, "histories", wanted, "1", least=None if quick else _HISTORIES)]
    told = ("steps", "faults injected", "requests", "answers", "requests whose proxy ended", "charges")
    rows += [Row(case, name, found[name], "1") for name in told]
    rows.append(Row(case, "promises broken", found["violations"], "1", most=0))
    rows.append(Row(case, "kinds of fault", sum(name.startswith("fault: ") for name in found), "1"))
    for name in PLANTED:
        until = _until_found(name)
        rows += [Row(f"planted: {name}", "histories until it is found", until, "1", most=_MOST_UNTIL_FOUND)]
    return rows


def _lived(first: int, end: int) -> Counter[str]:
    """Some histories, by their seeds."""
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())  # their failures are many, and wanted
    found: Counter[str] = Counter()
    for seed in range(first, min(first + _PART, end)):
        history = Simulation(seed).run()
        broken = list(violations(history))
        if broken:
            print(f"seed {seed}: {broken[0]}")
        found["violations"] += len(broken)
        found["steps"] += history.steps
        found["faults injected"] += len(history.injected)
        found["requests"] += len(history.asked)
        found["answers"] += sum(one.value is not None for one in history.asked)
        found["requests whose proxy ended"] += sum(one.broken for one in history.asked)
        found["charges"] += len(history.charges)
        found.update(f"fault: {kind}" for kind in history.injected)
    return found


def _until_found(name: str) -> int:
    """How many histories it takes."""
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    for seed in count():
        if list(violations(PLANTED[name](seed).run())) or seed >= _MOST_UNTIL_FOUND:
            return seed + 1
    raise AssertionError("the count goes on")
