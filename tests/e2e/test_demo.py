"""The README's demonstration, run as the README says."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from server.demo.demonstration import QUERIES

README = Path(__file__).parents[2] / "README.md"

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("demo")]


@pytest.fixture(scope="module")
def output(request: pytest.FixtureRequest) -> str:
    """What `make demo DEMO_EXIT=1` prints, in a folder of its own."""
    assert "make demo DEMO_EXIT=1" in README.read_text()
    home = Path(".noisegate") / "tests" / os.environ.get("PYTEST_XDIST_WORKER", "main") / "home"
    environment = {**os.environ, "NOISEGATE_HOME": str(home), "COLUMNS": "140"}
    command = ["make", "demo", "DEMO_EXIT=1"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_question_is_answered_beside_its_true_value(output: str) -> None:
    for query in QUERIES:
        row = re.search(rf"│ {re.escape(query.name)}\b.*│\s*([0-9.]+)%.*│\s*[0-9.]+ s │", output)
        assert row, f"{query.name} has no row with a relative error"


def test_it_says_what_the_true_values_are_for(output: str) -> None:
    assert "For the demonstration only" in output
    assert "true value*" in output


def test_the_charges_add_up(output: str) -> None:
    left = [float(found) for found in re.findall(r"ε 1 │\s*ε (\d+)", output)]
    assert left == [20.0 - number for number in range(1, len(QUERIES) + 1)]


def test_nothing_is_left_running(output: str) -> None:
    assert "the proxy listens on" in output
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    home = str(Path(".noisegate").resolve() / "tests" / os.environ.get("PYTEST_XDIST_WORKER", "main") / "home")
    assert home not in running
