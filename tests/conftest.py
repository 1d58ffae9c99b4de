"""What every test may use: a PostgreSQL of the session, and the rule that no test is silently left out."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import settings
from hypothesis.configuration import set_hypothesis_home_dir
from rich.progress import Progress

from server.backends import embedded
from server.backends.embedded import EmbeddedPostgres
from server.demo.database import ROLE, load_once
from tests.support.seeds import ALL, SEED
from tests.support.selection import (
    pytest_addoption,
    pytest_collection_modifyitems,
    pytest_collectstart,
    pytest_ignore_collect,
    pytest_report_header,
    pytest_terminal_summary,
    pytest_xdist_make_scheduler,
)
from tests.support.tpch_duckdb import load_tpch

# How fast a machine is, is not a property of the code. `make test` derives the examples from the test and the seed.
settings.register_profile("few", deadline=None, derandomize=SEED == 1, database=None, max_examples=25)
settings.register_profile("all", deadline=None)
settings.load_profile("all" if ALL else "few")
set_hypothesis_home_dir(Path(".noisegate") / "cache" / "hypothesis")

__all__ = [  # hooks, which pytest finds here
    "pytest_addoption",
    "pytest_collection_modifyitems",
    "pytest_collectstart",
    "pytest_ignore_collect",
    "pytest_report_header",
    "pytest_terminal_summary",
    "pytest_xdist_make_scheduler",
]

# What tests write lies in memory where that has room: a ledger syncs every commit, and no test waits for a disk.
_MEMORY, _ROOM_BYTES = Path("/dev/shm"), 2 << 30
if _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ROOM_BYTES:
    os.environ["PYTEST_DEBUG_TEMPROOT"] = str(_MEMORY)

SMALL_SCALE = 0.01
"""TPC-H's scale in tests: 1,500 customers, 60,000 lines, 7,500 edges."""


@pytest.fixture(scope="session")
def embedded_postgres() -> Iterator[EmbeddedPostgres]:
    """A running server of this test process; its data is kept for the next run."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    server = embedded.start(Path(".noisegate") / "tests" / worker / "postgres")
    yield server
    server.stop()


@pytest.fixture(scope="session")
def tpch_url(embedded_postgres: EmbeddedPostgres) -> str:
    """TPC-H and the graph at a small scale, as the proxy's SELECT-only role."""
    with Progress(disable=True) as progress:
        return load_once(embedded_postgres, "tpch", SMALL_SCALE, progress)


@pytest.fixture(scope="session")
def tpch_duckdb() -> Path:
    """The same rows in a DuckDB file, in the schema `public`."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    path = Path(".noisegate") / "tests" / worker / "tpch-1.duckdb"
    if not path.exists():
        load_tpch(path, SMALL_SCALE)
    return path


@pytest.fixture(scope="session")
def tpch_owner_url(embedded_postgres: EmbeddedPostgres, tpch_url: str) -> str:
    """The same database as its owner."""
    assert ROLE in tpch_url
    return embedded_postgres.url(database="tpch")


@pytest.fixture
def scratch_url(embedded_postgres: EmbeddedPostgres, request: pytest.FixtureRequest) -> Iterator[str]:
    """An empty database of this test, as its owner; dropped afterwards."""
    name = f"scratch_{abs(hash(request.node.nodeid)) % 10**12}"
    with psycopg.connect(embedded_postgres.url(), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode())
        connection.execute(f"CREATE DATABASE {name}".encode())
        yield embedded_postgres.url(database=name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Generator[None, Any, Any]:
    """With NOISEGATE_NO_SKIPS a skipped test has failed: nothing that must be shown goes unseen."""
    report = yield
    if report.skipped and os.environ.get("NOISEGATE_NO_SKIPS") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, which is not allowed here: {report.longrepr}"
    return report
