"""Simulated histories: proxies die, ledgers fill up, clocks jump; promises that are broken, planted bugs found."""

from __future__ import annotations

import os
from collections import Counter
from itertools import count

import structlog

from tests.benchmarks.blocks import Found, spans
from tests.benchmarks.parts import Measured
from tests.benchmarks.rows import Row
from tests.benchmarks.security.kept import blocks
from tests.support.simulation.history import Simulation
from tests.support.simulation.invariants import violations
from tests.support.simulation.planted import PLANTED

_HISTORIES, _QUICK_HISTORIES = 10_000, 60
_BLOCK = 50
_MOST_UNTIL_FOUND = 1_000


def histories(quick: bool) -> Measured:
    """What happened in all of them together, and after how many each planted bug was found."""
    wanted = _QUICK_HISTORIES if quick else int(os.environ.get("HISTORIES", _HISTORIES))
    lived = blocks("histories", wanted, "histories", whole=wanted == _HISTORIES)
    each = spans(wanted, _BLOCK)
    lived.in_processes(_lived, each, {name: count for name, (_, count) in each.items()})
    planted = blocks("planted", len(PLANTED), "planted bugs", whole=not quick)
    planted.in_processes(_until_found, {name: name for name in PLANTED}, dict.fromkeys(PLANTED, 1))
    found: Counter[str] = Counter()
    for one in lived.kept.values():
        found.update(one)
    case = "simulated histories"
    rows = [Row(case, "histories", lived.done, "1", least=None if quick else _HISTORIES)]
    told = ("steps", "faults injected", "requests", "answers", "requests whose proxy ended", "charges")
    rows += [Row(case, name, found[name], "1") for name in told]
    rows.append(Row(case, "promises broken", found["violations"], "1", most=0))
    rows.append(Row(case, "kinds of fault", sum(name.startswith("fault: ") for name in found), "1"))
    for name, one in planted.kept.items():
        metric = "histories until it is found"
        rows.append(Row(f"planted: {name}", metric, one["until"], "1", most=_MOST_UNTIL_FOUND))
    return Measured(rows, (lived, planted))


def _lived(seeds: tuple[int, int]) -> Found:
    """Some histories, by their seeds: the first, and how many."""
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())  # their failures are many, and wanted
    found: Counter[str] = Counter()
    for seed in range(seeds[0], seeds[0] + seeds[1]):
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
    return dict(found)


def _until_found(name: str) -> Found:
    """How many histories it takes."""
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    for seed in count():
        if list(violations(PLANTED[name](seed).run())) or seed >= _MOST_UNTIL_FOUND:
            return {"until": seed + 1}
    raise AssertionError("the count goes on")
