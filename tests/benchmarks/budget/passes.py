"""Every dashboard over its loads with some levers, each in a process of its own; what was measured is kept.

A dashboard is its analyst's own and shares nothing with another but the rows, so that which of them run beside one
another changes no figure. With RESUME=x what a run of the same x has left of a dashboard is taken instead.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

from server.workers.pool import WorkerLimits, WorkerPool
from tests.benchmarks.budget.dashboards import Dashboard
from tests.benchmarks.budget.growing_data import FOLDER, GrowingData
from tests.benchmarks.budget.levers import Levers
from tests.benchmarks.budget.replay import Cost, Replay, replay

_LEFT = FOLDER / "budget" / "passes"
_WORKERS = 2


@contextmanager
def reading_workers() -> Iterator[WorkerPool]:
    """The processes that read rows."""
    pool = WorkerPool(WorkerLimits(workers=_WORKERS, call_s=300.0), preload="server.pipeline")
    try:
        pool.warm()
        yield pool
    finally:
        pool.close()


@dataclass(frozen=True)
class Pass:
    """All dashboards with some levers."""

    replays: Sequence[Replay]
    loads: int
    seconds: float

    @property
    def skipped(self) -> frozenset[str]:
        """The templates of which no figure speaks."""
        return frozenset(template for one in self.replays for template in (*one.excluded, *one.beyond, *one.refused))

    @property
    def costs(self) -> list[Cost]:
        """Of every question that figures speak of."""
        skipped = self.skipped
        early = (cost for one in self.replays for cost in one.costs if cost.load < self.loads)
        return [cost for cost in early if cost.template not in skipped]

    @property
    def epsilon(self) -> float:
        """What they were charged together."""
        return sum(cost.epsilon for cost in self.costs)

    def part(self, dashboards: Sequence[Dashboard], loads: int) -> Pass:
        """The first loads of some dashboards."""
        names = {one.name for one in dashboards}
        return Pass([one for one in self.replays if one.dashboard in names], loads, self.seconds)

    def of(self, skipped: frozenset[str]) -> float:
        """The epsilon of all but these."""
        return sum(cost.epsilon for cost in self.costs if cost.template not in skipped)


@dataclass(frozen=True)
class Bench:
    """What is looked at.

    Attributes:
      dashboards: all of them.
      data: what they are over, by name.
      run: what a run that was broken off is known by; empty for a new one.
    """

    dashboards: Sequence[Dashboard]
    data: dict[str, GrowingData]
    run: str

    def passed(self, levers: Levers, loads: int, skipped: frozenset[str] | None = None) -> Pass:
        """Every dashboard over its loads; see `replay` for the templates that are skipped."""
        started = time.perf_counter()
        at_once = 2 * (os.cpu_count() or 1)  # a viewer and the worker who reads for it take turns
        with ProcessPoolExecutor(at_once, mp_context=get_context("spawn"), max_tasks_per_child=1) as processes:
            one = partial(_replay, levers=levers, loads=loads, skipped=skipped, run=self.run)
            data = [self.data[each.data] for each in self.dashboards]
            replays = list(processes.map(one, self.dashboards, data))
        return Pass(replays, loads, time.perf_counter() - started)


def _replay(
    dashboard: Dashboard, data: GrowingData, levers: Levers, loads: int, skipped: frozenset[str] | None, run: str
) -> Replay:
    """One dashboard; or what an earlier run of the same has left of it."""
    asked = (levers, loads, dashboard.name, data.name, run, skipped and tuple(sorted(skipped)))
    left = _LEFT / f"{hashlib.sha256(repr(asked).encode()).hexdigest()[:16]}.pickle"
    if run and left.exists():
        found: Replay = pickle.loads(left.read_bytes())
        return found
    with reading_workers() as workers:
        (replayed,) = replay([dashboard], data, levers, workers, loads, skipped)
    _LEFT.mkdir(parents=True, exist_ok=True)
    left.write_bytes(pickle.dumps(replayed))
    return replayed
