"""Errors and times of the demonstration's queries over many runs through the whole proxy, at epsilon 1."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import numpy as np
from rich.console import Console
from rich.progress import Progress

from server.demo.demonstration import QUERIES, Answer, DemoQuery, ask, client, true_values
from server.demo.workplace import ROOT, add_analyst, new_data, prepare, proxy
from tests.benchmarks.rows import Row

_RUNS = 200
_QUICK_RUNS = 3
_TIMED_RUNS = 20  # asked one at a time; the rest two at a time, as many as there are workers
_STEP = 1e-6
_HEALTH_INTERVAL_S = 0.02


def run(quick: bool) -> list[Row]:
    """Ask every demonstration query many times, and /health all the while."""
    runs = _QUICK_RUNS if quick else _RUNS
    console = Console(stderr=True)
    with Progress(console=console, disable=bool(os.environ.get("CI"))) as progress:
        demonstration = prepare(ROOT / "demo", progress, console.print)
        key = add_analyst(demonstration, epsilon=float(runs * len(QUERIES)))
        new_data(demonstration)
        rows: list[Row] = []
        try:
            truths = {query.name: true_values(demonstration.owner_url, query) for query in QUERIES}
            with proxy(demonstration) as address, _polled_health(address) as health:
                for query in QUERIES:
                    task = progress.add_task(query.name, total=runs)
                    with client(address, key) as http:
                        asker = _Asker(http, query, truths[query.name], lambda: progress.advance(task))  # noqa: B023
                        rows += _rows(query, asker.many(runs))
        finally:
            demonstration.server.stop()
    return [*rows, *_health_rows(health)]


class _Asker:
    """Asks one question many times."""

    def __init__(
        self, http: httpx.Client, query: DemoQuery, truth: dict[object, float], advance: Callable[[], None]
    ) -> None:
        self._http, self._query, self._truth, self._advance = http, query, truth, advance

    def many(self, runs: int) -> list[Answer]:
        timed = min(runs, _TIMED_RUNS)
        with ThreadPoolExecutor(2) as pool:
            return [self._once(number) for number in range(timed)] + list(pool.map(self._once, range(timed, runs)))

    def _once(self, number: int) -> Answer:
        epsilon = 1.0 - number * _STEP  # the same question would get the same answer
        answer = ask(self._http, self._query, self._truth, epsilon)
        self._advance()
        return answer


@contextmanager
def _polled_health(address: str) -> Iterator[list[float]]:
    """Ask /health every few milliseconds; yields the list that the latencies in seconds are put into."""
    latencies: list[float] = []
    done = threading.Event()

    def poll() -> None:
        with httpx.Client(base_url=address) as http:
            while not done.wait(_HEALTH_INTERVAL_S):
                start = time.perf_counter()
                http.get("/health").raise_for_status()
                latencies.append(time.perf_counter() - start)

    thread = threading.Thread(target=poll)
    thread.start()
    try:
        yield latencies
    finally:
        done.set()
        thread.join()


def _rows(query: DemoQuery, answers: list[Answer]) -> list[Row]:
    """Quantiles of the error, untrimmed; with groups, the median over groups of each group's quantile."""
    errors = np.array([answer.errors for answer in answers])
    seconds = [answer.seconds for answer in answers[:_TIMED_RUNS]]
    rows = [
        Row(
            query.name, f"relative error, {name}", float(np.median(np.quantile(errors, level, axis=0))), "1", most=bar
        )
        for name, level, bar in (("median", 0.5, None), ("95th percentile", 0.95, query.most), ("largest", 1.0, None))
    ]
    return [
        *rows,
        Row(query.name, "time, median", float(np.median(seconds)), "s"),
        Row(query.name, "time, 95th percentile", float(np.quantile(seconds, 0.95)), "s"),
        Row(query.name, "runs", float(len(answers)), "1"),
    ]


def _health_rows(latencies: list[float]) -> list[Row]:
    levels = (("median", 0.5), ("99th percentile", 0.99), ("largest", 1.0))
    rows = [Row("/health", f"time, {name}", float(np.quantile(latencies, level)), "s") for name, level in levels]
    return [*rows, Row("/health", "requests while queries ran", float(len(latencies)), "1")]
