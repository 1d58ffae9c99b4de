"""Tests of one group, or of one file, run in one of pytest's processes, long ones first; some have three attempts."""

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


ATTEMPTS = """
import pathlib
import pytest

def _fails_twice(name: str) -> None:
    file = pathlib.Path(__file__).parents[2] / name
    attempts = int(file.read_text()) if file.exists() else 0
    file.write_text(str(attempts + 1))
    assert attempts == 2

def test_by_its_place() -> None:
    _fails_twice(pathlib.Path(__file__).parent.name)

@pytest.mark.timed
def test_by_its_mark() -> None:
    _fails_twice(pathlib.Path(__file__).parent.name + "_timed")
"""


@pytest.mark.xdist_group("together")
def test_a_tests_group_is_in_its_id_where_tests_are_distributed_by_groups(request: pytest.FixtureRequest) -> None:
    if not getattr(request.config.option, "loadgroup", False):
        assert "@" not in request.node.nodeid
        return
    assert request.node.nodeid.endswith("@together")


def test_files_and_groups_stay_whole_and_long_folders_come_first(tmp_path: Path) -> None:
    _prepare(tmp_path)
    for folder in ("a_unit", "audit", "e2e", "golden"):
        for name in "ab":
            file = tmp_path / "tests" / folder / f"test_{folder}_{name}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(TESTS)
    done = _pytest(tmp_path, "-n", "2", "--dist", "loadgroup", "-p", "xdist")
    assert done.returncode == 0, done.stdout
    assert len(set((tmp_path / "together").read_text().split())) == 1
    ran = [(tmp_path / worker).read_text().split() for worker in ("gw0", "gw1")]
    for ran_file in {name for names in ran for name in names}:
        assert [names.count(ran_file) for names in ran] in ([4, 0], [0, 4]), ran
    for names in ran:
        folders = ("e2e", "audit", "golden", "unit")
        order = [next(place for place, word in enumerate(folders) if word in name) for name in names]
        assert order == sorted(order), names


def test_what_waits_has_three_attempts_and_a_mechanism_has_one(tmp_path: Path) -> None:
    _prepare(tmp_path)
    for folder in ("e2e", "audit"):
        file = tmp_path / "tests" / folder / f"test_{folder}.py"
        file.parent.mkdir(parents=True)
        file.write_text(ATTEMPTS)
    done = _pytest(tmp_path, "-p", "pytest_rerunfailures", "-rR")
    assert "1 failed, 3 passed, 6 rerun" in done.stdout, done.stdout
    counted = {name: (tmp_path / name).read_text() for name in ("e2e", "e2e_timed", "audit", "audit_timed")}
    assert counted == {"e2e": "3", "e2e_timed": "3", "audit": "1", "audit_timed": "3"}
    assert done.stdout.count("RERUN tests/e2e/test_e2e.py") == 4, "who had to be asked again is said"


def _prepare(folder: Path) -> None:
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    xdist_group\n    timed\n")


def _pytest(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", *options]
    command += ["-p", "no:cacheprovider", "--rootdir", str(folder), str(folder / "tests")]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
