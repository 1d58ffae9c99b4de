"""Which tests a command runs, and how they are handed to pytest's processes: hooks for `tests/conftest.py`.

`make test` runs the same tests on every machine. Others are chosen by a command and never by what is installed: the
suites below, and those marked `slow`. What is left out is left out before it is imported, where a whole file is.
"""

from __future__ import annotations

import ast
import importlib
import os
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.seeds import ALL, SEED

if TYPE_CHECKING:
    from xdist.scheduler import LoadGroupScheduling

ROOT = Path(__file__).parents[2]
LAYERS = ("privacy", "planner", "server")
SUITES = {
    "clients": "real clients of PostgreSQL: make test-clients",
    "browser": "pages in Chromium: make test-browser",
    "spark": "the engine Spark: make test-spark",
}
SUITE_PATHS = {
    "tests/e2e/clients": "clients",
    "tests/e2e/test_charts.py": "browser",
    "tests/e2e/test_clinic_stories.py": "browser",
    "tests/e2e/test_console.py": "browser",
    "tests/e2e/test_console_pages.py": "browser",
    "tests/e2e/test_console_stories.py": "browser",
    "tests/golden/test_spark.py": "spark",
    "tests/integration/test_spark_backend.py": "spark",
    "tests/integration/test_spark_functions.py": "spark",
    "tests/integration/test_spark_served.py": "spark",
}
"""Files and folders of which every test is of one suite."""

LONGEST_FIRST = ("e2e", "security", "integration", "audit", "property", "golden")
"""Folders of tests. What is long and begun last would keep one processor busy while the other one has nothing."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--suite` and `--layer`, which the Makefile sets."""
    group = parser.getgroup("noisegate")
    group.addoption("--suite", choices=[*SUITES, "all"], help="only this suite; all: every test, slow ones too")
    group.addoption("--layer", choices=LAYERS, help="only the tests that a change in this package can break")


def pytest_report_header() -> str:
    """What a repetition needs."""
    return f"seed {SEED}, {'all cases' if ALL else 'few cases'}; the same again: make test SEED={SEED} TESTS=..."


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out, before it is imported, what has no test for this command."""
    if collection_path.suffix != ".py" or collection_path.name == "conftest.py":
        path = _relative(collection_path)
        return True if _suite_of_path(path) not in (None, *_wanted(config)) else None
    path = _relative(collection_path)
    if path.startswith(("tests/benchmarks/", "tests/e2e/clients/programs/")):
        return True
    text = collection_path.read_text()
    if not collection_path.name.startswith("test_") and ">>>" not in text:
        return True
    if "\npytestmark = pytest.mark.slow\n" in text and not ALL:
        return True
    if _suite_of_path(path) not in (None, *_wanted(config)):
        return True
    layer = config.getoption("layer")
    return True if layer is not None and layer not in _packages_below(path) else None


def pytest_collectstart(collector: pytest.Collector) -> None:
    """Before the second process collects its first file, it imports the tests from the last one on."""
    everything = str(ROOT / "tests") in map(os.path.abspath, collector.config.args)
    if everything and os.environ.get("PYTEST_XDIST_WORKER") == "gw1":
        _import_backwards(collector.config)


@cache
def _import_backwards(config: pytest.Config) -> None:
    """Compile the half of the tests that the first process has not come to.

    In a fresh clone most of what collection computes is bytecode, and each process reads what the other has written.
    A file that cannot be imported fails where it is collected.
    """
    for path in sorted((ROOT / "tests").rglob("test_*.py"), reverse=True):
        if not pytest_ignore_collect(path, config):
            with suppress(Exception, pytest.skip.Exception):
                importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep what the command asks for; long files first, and groups, where pytest runs in several processes."""
    suite = config.getoption("suite")
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        own = _suite(item)
        slow = item.get_closest_marker("slow") is not None
        wanted = suite == "all" or (own == suite and (own is not None or not slow or ALL))
        (kept if wanted else left_out).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept
    if not getattr(config.option, "loadgroup", False):
        return
    items.sort(key=_rank)  # which leaves the order within folders to chance
    for item in items:
        mark = item.get_closest_marker("xdist_group")
        if mark is not None and not item.nodeid.endswith(f"@{mark.args[0]}"):
            # The scheduler reads groups behind tests' ids. pytest-xdist 3.8 writes them there by an attribute that
            # pytest 9.2 no longer has: without this, groups count for nothing, and each process starts every proxy.
            from _pytest.nodeid import coerce_node_id

            item._id = coerce_node_id(f"{item.nodeid}@{mark.args[0]}")


@pytest.hookimpl(optionalhook=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How each failure is repeated alone."""
    failed = [*terminalreporter.getreports("failed"), *terminalreporter.getreports("error")]
    if failed:
        terminalreporter.section("to repeat a failure")
    for report in failed:
        test = report.nodeid.partition("@")[0]
        setting = f"NOISEGATE_TEST_SEED={SEED} PYTHONHASHSEED={os.environ.get('PYTHONHASHSEED', 'random')}"
        everything = "NOISEGATE_TESTS=all " if ALL else ""
        suite = terminalreporter.config.getoption("suite")
        option = f" --suite {suite}" if suite else ""
        terminalreporter.write_line(f"{setting} {everything}.venv/bin/python -m pytest{option} '{test}'")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadGroupScheduling | None:
    """The scheduler of `--dist loadgroup` with a group for every file, which gives them away as they were collected.

    Tests of one file share what takes long to start, a database, workers or a proxy: given away one by one, each
    process would start it. And pytest-xdist looks through all groups that it has given away after every test.
    """
    from xdist.scheduler import LoadGroupScheduling

    if config.getvalue("dist") != "loadgroup":
        return None

    class FileScheduling(LoadGroupScheduling):  # type: ignore[misc]  # it has no types
        def _split_scope(self, nodeid: str) -> str:
            group: str = super()._split_scope(nodeid)
            return nodeid.partition("::")[0] if group == nodeid else group

    config.option.loadscopereorder = False
    return FileScheduling(config, log)


def _relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.as_posix()


def _wanted(config: pytest.Config) -> tuple[str, ...]:
    suite = config.getoption("suite")
    return tuple(SUITES) if suite == "all" else (suite,) if suite else ()


def _suite_of_path(path: str) -> str | None:
    for start, suite in SUITE_PATHS.items():
        if path == start or path.startswith(f"{start}/"):
            return suite
    return None


def _suite(item: pytest.Item) -> str | None:
    by_path = _suite_of_path(item.location[0])
    return by_path or next((suite for suite in SUITES if item.get_closest_marker(suite) is not None), None)


def _rank(item: pytest.Item) -> int:
    parts = item.nodeid.split("/")
    folder = parts[1] if parts[0] == "tests" and len(parts) > 2 else ""
    return LONGEST_FIRST.index(folder) if folder in LONGEST_FIRST else len(LONGEST_FIRST)


def _packages_below(path: str) -> frozenset[str]:
    """The packages of the product that a file imports, by whatever way."""
    found: set[str] = set()
    left, seen = [path], set()
    while left:
        one = left.pop()
        if one not in seen:
            seen.add(one)
            found.add(one.partition("/")[0])
            left.extend(_imports(one))
    return frozenset(found & set(LAYERS))


@cache
def _imports(path: str) -> tuple[str, ...]:
    """The files of this repository that a file imports, within functions too."""
    names: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    candidates = (
        name.replace(".", "/") + ".py" for name in sorted(names) if name.split(".")[0] in (*LAYERS, "tests")
    )
    return tuple(candidate for candidate in candidates if (ROOT / candidate).exists())
