"""Starts of a proxy over the demonstration's data: until it is ready, and each one's first question."""

from __future__ import annotations

import os
import time
from statistics import median

from rich.console import Console
from rich.progress import Progress

from server.demo.demonstration import QUERIES, ask, client, true_values
from server.demo.workplace import ROOT, add_analyst, new_data, prepare, proxy
from tests.benchmarks.rows import Row

_RUNS, _QUICK_RUNS = 5, 1
_FIRST = ("revenue", "Q5 join", "by nation")
_READY_S, _FIRST_S = 3.0, 1.0


def run(quick: bool) -> list[Row]:
    """Starts with both protocols. Each question is the first of as many starts, and is asked a second time."""
    console = Console(stderr=True)
    with Progress(console=console, disable=bool(os.environ.get("CI"))) as progress:
        demonstration = prepare(ROOT / "demo", progress, console.print)
    ready, rows = [], []
    try:
        for query in (one for one in QUERIES if one.name in _FIRST):
            truth = true_values(demonstration.owner_url, query)
            first, second = [], []
            for _ in range(_QUICK_RUNS if quick else _RUNS):
                key = add_analyst(demonstration, epsilon=2.0)
                new_data(demonstration)
                begun = time.perf_counter()
                with proxy(demonstration, options=("--wire-port", "0")) as address, client(address, key) as http:
                    ready.append(time.perf_counter() - begun)
                    first.append(ask(http, query, truth).seconds)
                    second.append(ask(http, query, truth).seconds)
            rows += [
                Row(query.name, "first question, median", median(first), "s", most=_FIRST_S),
                Row(query.name, "first question, largest", max(first), "s"),
                Row(query.name, "second question, median", median(second), "s"),
            ]
    finally:
        demonstration.server.stop()
    return [Row("start", "ready, median", median(ready), "s", most=_READY_S), *rows]
