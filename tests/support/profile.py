"""Where the suite's time goes: CPU and wall seconds per file, fixture and phase, as `make test-profile` shows them.

A pytest plugin (`-p tests.support.profile`). Each of pytest's processes measures itself and the children that it has
waited for; servers that outlive a test count where they are stopped. Seconds of CPU of two processes add up, those of
the wall overlap. Compilation is what Numba reports, and is part of the phase that waited for it.
"""

from __future__ import annotations

import json
import os
import resource
import time
from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(".noisegate") / "profile"
MOST_ROWS = 25
"""Of files and of fixtures."""


def _cpu() -> float:
    waited_for = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + waited_for.ru_utime + waited_for.ru_stime


class Profile:
    """What one process measured: table -> row -> [CPU seconds, wall seconds, how often]."""

    def __init__(self) -> None:
        self.tables: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(lambda: [0.0, 0.0, 0]))

    @contextmanager
    def timed(self, *rows: tuple[str, str]) -> Generator[None]:
        cpu, wall = _cpu(), time.perf_counter()
        try:
            yield
        finally:
            for table, row in rows:
                self.add(table, row, _cpu() - cpu, time.perf_counter() - wall)

    def add(self, table: str, row: str, cpu: float, wall: float) -> None:
        entry = self.tables[table][row]
        entry[0] += cpu
        entry[1] += wall
        entry[2] += 1

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Generator[None, Any, Any]:
        self.add("phase", "start", _cpu(), 0.0)
        self._hear_of_compilation()
        with self.timed(("phase", "collection")):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, Any]:
        if not isinstance(collector, pytest.File):
            return (yield)
        with self.timed(("collection", collector.nodeid)):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, Any, Any]:
        with self.timed(("fixture", fixturedef.argname)):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        with self.timed(("phase", "set-up"), ("file", item.location[0])):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        with self.timed(("phase", "run"), ("file", item.location[0]), ("test", item.nodeid.partition("@")[0])):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, Any]:
        with self.timed(("phase", "tear-down"), ("file", item.location[0])):
            return (yield)

    def pytest_sessionfinish(self) -> None:
        FOLDER.mkdir(parents=True, exist_ok=True)
        worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
        (FOLDER / f"{worker}.json").write_text(json.dumps(self.tables))

    def _hear_of_compilation(self) -> None:
        from numba.core import event

        class Compilation(event.TimingListener):  # type: ignore[misc]  # it has no types
            def on_start(self, happening: Any) -> None:
                self.cpu, self.wall = _cpu(), time.perf_counter()

            def on_end(self, happening: Any) -> None:
                profile.add("phase", "compilation", _cpu() - self.cpu, time.perf_counter() - self.wall)
                kernel = happening.data["dispatcher"].py_func
                profile.add("kernel", kernel.__qualname__, _cpu() - self.cpu, time.perf_counter() - self.wall)

        profile = self
        event.register("numba:compile", Compilation())


def pytest_configure(config: pytest.Config) -> None:
    """Measure, where this process runs tests; with xdist the first process only hands them out."""
    if config.getoption("numprocesses", None) and "PYTEST_XDIST_WORKER" not in os.environ:
        for stale in FOLDER.glob("*.json"):
            stale.unlink()
        return
    config.pluginmanager.register(Profile(), "noisegate-profile")


def merged() -> dict[str, dict[str, list[float]]]:
    """What all processes of the last run measured, added up."""
    total = Profile()
    for path in sorted(FOLDER.glob("*.json")):
        for table, rows in json.loads(path.read_text()).items():
            for row, (cpu, wall, count) in rows.items():
                entry = total.tables[table][row]
                entry[0] += cpu
                entry[1] += wall
                entry[2] += int(count)
    return total.tables


def table(rows: dict[str, list[float]], heading: str, most: int = MOST_ROWS) -> str:
    """The rows with most CPU, as Markdown."""
    ranked = sorted(rows.items(), key=lambda row: -row[1][0])
    lines = [f"| {heading} | CPU s | wall s | times |", "| --- | ---: | ---: | ---: |"]
    lines += [f"| {row} | {cpu:.1f} | {wall:.1f} | {count:,.0f} |" for row, (cpu, wall, count) in ranked[:most]]
    if rest := ranked[most:]:
        cpu, wall, count = (sum(entry[column] for _, entry in rest) for column in range(3))
        lines.append(f"| {len(rest):,} others | {cpu:.1f} | {wall:.1f} | {count:,.0f} |")
    return "\n".join(lines)


def main() -> None:
    """Print the tables of the last run."""
    tables = merged()
    by_folder: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0])
    for file, entry in tables["file"].items():
        parts = file.split("/")
        folder = "/".join(parts[: 3 if parts[1] == "unit" else 2]) if parts[0] == "tests" else "doctests"
        for column in range(3):
            by_folder[folder][column] += entry[column]
    for rows, heading in (
        (tables["phase"], "phase"),
        (by_folder, "folder"),
        (tables["file"], "file"),
        (tables["fixture"], "fixture"),
        (tables["collection"], "collected file"),
        (tables["kernel"], "compiled kernel"),
    ):
        print(table(rows, heading), end="\n\n")


if __name__ == "__main__":
    main()
