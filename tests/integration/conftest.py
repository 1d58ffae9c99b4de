"""What tests of several files share: workers, a file of visits, ledgers; and noise that follows from a seed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from server.backends.duckdb import DuckdbBackend
from server.ledger.ledger import Ledger
from server.ledger.sqlite import create_ledger
from server.workers.pool import WorkerLimits, WorkerPool
from tests.support.seeded_noise import DRAWN_FROM, seed_noise
from tests.support.visits import visits


@pytest.fixture(autouse=True)
def _seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test measures in its own process is the same in every run."""
    for module, name in DRAWN_FROM:
        monkeypatch.setattr(module, name, getattr(module, name))  # so that they are put back
    seed_noise()


@pytest.fixture(scope="session")
def worker_pool() -> Iterator[WorkerPool]:
    """One worker for all tests of a process: each takes seconds of computation to start."""
    pool = WorkerPool(WorkerLimits(workers=1, call_s=120.0), "server.pipeline", "tests.support.seeded_worker")
    pool.warm()
    yield pool
    pool.close()


@pytest.fixture
def workers(worker_pool: WorkerPool) -> WorkerPool:
    """That worker, which measures by the same seed at the beginning of each test."""
    worker_pool.call(seed_noise)
    return worker_pool


@pytest.fixture(scope="session")
def backend(tmp_path_factory: pytest.TempPathFactory) -> DuckdbBackend:
    """A file of visits (`tests.support.visits`), which nobody changes."""
    return visits(tmp_path_factory.mktemp("visits") / "visits.duckdb")


@pytest.fixture
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    """A new ledger of the analysts in the module's ANALYSTS, with the epsilon and the delta of each."""
    with closing(create_ledger(tmp_path / "ledger.sqlite", tmp_path / "marker.json")) as made:
        for number, (name, (epsilon, delta)) in enumerate(request.module.ANALYSTS.items()):
            made.add_analyst(name, str(number) * 64, epsilon=epsilon, delta=delta)
        yield made
