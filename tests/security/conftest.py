"""Two naive proxies and two real ones for the whole folder, in one process of pytest: a real one is eight."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.security.neighbours import Pair, naive_pair, real_pair


def pytest_itemcollected(item: pytest.Item) -> None:
    """Whoever asks for the real ones goes to the process that has them."""
    if isinstance(item, pytest.Function) and "real" in item.fixturenames:
        item.add_marker(pytest.mark.xdist_group("neighbours"))


@pytest.fixture(scope="session")
def real() -> Iterator[Pair]:
    """`noisegate serve` before both neighbours, with few workers."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    with real_pair(Path(".noisegate") / "tests" / worker / "security", module="tests.support.small_server") as pair:
        yield pair


@pytest.fixture(scope="session")
def naive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """The naive proxy before both."""
    with naive_pair(tmp_path_factory.mktemp("naive")) as pair:
        yield pair
