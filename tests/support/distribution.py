"""How tests are distributed over pytest's processes: files whole, and those that take longest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from xdist.scheduler import LoadGroupScheduling

LONGEST_FIRST = ("e2e", "security", "integration", "audit", "property", "golden")
"""Folders of tests. What is long and begun last would keep one processor busy while the other one has nothing."""


WAITING = ("tests/e2e/", "tests/integration/", "tests/unit/server/")
"""Where tests wait for databases, proxies, browsers and threads: all share the machine with whatever else it does."""

ATTEMPTS_AFTER_THE_FIRST = 2

MOST_LINES = 40
"""Of an attempt's failure that another attempt followed."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Attempts of tests that look at a clock; long files first, and groups, where pytest runs in several processes.

    A busy machine adds time and never takes any: a test that asks for something within a time shows it by any one of
    its attempts. Each attempt that failed is listed at the end. Tests of privacy and of mechanisms have one: a second
    one would hide the mistake that is seen by chance.

    The scheduler reads groups behind tests' ids. pytest-xdist 3.8 writes them there by an attribute that pytest 9.2
    no longer has: without this, groups count for nothing, and each process starts every proxy.
    """
    for item in items:
        if item.nodeid.startswith(WAITING) or item.get_closest_marker("timed"):
            item.add_marker(pytest.mark.flaky(reruns=ATTEMPTS_AFTER_THE_FIRST))
    if not getattr(config.option, "loadgroup", False):
        return
    items.sort(key=_rank)  # which leaves the order within folders to chance
    for item in items:
        mark = item.get_closest_marker("xdist_group")
        if mark is not None and not item.nodeid.endswith(f"@{mark.args[0]}"):
            from _pytest.nodeid import coerce_node_id

            item._id = coerce_node_id(f"{item.nodeid}@{mark.args[0]}")


@pytest.hookimpl(optionalhook=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Why each attempt failed that another followed: the last one may fail for what the first one left behind."""
    for report in terminalreporter.getreports("rerun"):
        terminalreporter.section(f"an attempt of {report.nodeid}", sep="_")
        lines = report.longreprtext.splitlines()
        terminalreporter.write_line("\n".join(lines[-MOST_LINES:]))


def _folder(item: pytest.Item) -> str:
    parts = item.nodeid.split("/")
    return parts[1] if parts[0] == "tests" and len(parts) > 2 else ""


def _rank(item: pytest.Item) -> int:
    folder = _folder(item)
    return LONGEST_FIRST.index(folder) if folder in LONGEST_FIRST else len(LONGEST_FIRST)


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
