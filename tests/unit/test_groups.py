"""Tests of one group, or of one file, run in one of pytest's processes, and long ones first."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = "from tests.support.distribution import pytest_collection_modifyitems, pytest_xdist_make_scheduler\n"
TESTS = """
import os
import pathlib
import time
import pytest

@pytest.mark.parametrize("number", range(4))
def test_of_a_file(number: int) -> None:
    time.sleep(0.02)
    worker = os.environ["PYTEST_XDIST_WORKER"]
    with (pathlib.Path(__file__).parents[2] / worker).open("a") as said:
        said.write(f"{pathlib.Path(__file__).stem}\\n")

@pytest.mark.xdist_group("together")
def test_of_a_group() -> None:
    with (pathlib.Path(__file__).parents[2] / "together").open("a") as said:
        said.write(os.environ["PYTEST_XDIST_WORKER"] + "\\n")
"""


@pytest.mark.xdist_group("together")
def test_a_tests_group_is_in_its_id_where_tests_are_distributed_by_groups(request: pytest.FixtureRequest) -> None:
    if not getattr(request.config.option, "loadgroup", False):
        assert "@" not in request.node.nodeid
        return
    assert request.node.nodeid.endswith("@together")


def test_files_and_groups_stay_whole_and_long_folders_come_first(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = xdist_group\n")
    for folder in ("a_unit", "audit", "e2e", "golden"):
        for name in "ab":
            file = tmp_path / "tests" / folder / f"test_{folder}_{name}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup", "-p", "xdist"]
    command += ["-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path / "tests")]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout
    assert len(set((tmp_path / "together").read_text().split())) == 1
    ran = [(tmp_path / worker).read_text().split() for worker in ("gw0", "gw1")]
    for ran_file in {name for names in ran for name in names}:
        assert [names.count(ran_file) for names in ran] in ([4, 0], [0, 4]), ran
    for names in ran:
        folders = ("e2e", "audit", "golden", "unit")
        order = [next(place for place, word in enumerate(folders) if word in name) for name in names]
        assert order == sorted(order), names
