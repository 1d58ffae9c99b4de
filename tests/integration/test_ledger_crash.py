"""A process is killed in the middle: what it had reserved stays charged, and the ledger opens again."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from server.keys import key_hash
from server.ledger.charge import Charge
from server.ledger.open_ledger import create_ledger, open_ledger

SPENDER = """
import sys, time
from pathlib import Path
from server.ledger.charge import Charge
from server.ledger.open_ledger import open_ledger

ledger = open_ledger(Path(sys.argv[1]), Path(sys.argv[2]))
for _ in range(int(sys.argv[3])):
    print(ledger.reserve(Charge("ada", 1e-6, 0.0, "request", "policy", "plan", "gem")).id, flush=True)
time.sleep(600)
"""


@pytest.fixture
def paths(tmp_path: Path) -> tuple[Path, Path]:
    path, marker = tmp_path / "ledger.sqlite", tmp_path / "marker.json"
    ledger = create_ledger(path, marker)
    ledger.add_analyst("ada", key_hash("ng_ada"), 1.0, 0.0)
    ledger.close()
    return path, marker


@contextmanager
def spender(paths: tuple[Path, Path], charges: int) -> Iterator[subprocess.Popen[str]]:
    """A process that reserves, says each number once it is promised, and settles nothing."""
    command = [sys.executable, "-c", SPENDER, *map(str, paths), str(charges)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def promised(process: subprocess.Popen[str], at_least: int) -> int:
    """Read until so many charges are promised, kill at once, and return the last that was promised."""
    assert process.stdout is not None
    numbers = [int(process.stdout.readline()) for _ in range(at_least)]
    process.kill()
    numbers += [int(line) for line in process.stdout if line.endswith("\n")]
    assert process.wait() == -signal.SIGKILL
    return numbers[-1]


def test_a_killed_query_stays_charged(paths: tuple[Path, Path]) -> None:
    with spender(paths, 1) as process:
        assert promised(process, 1) == 1
    ledger = open_ledger(*paths)
    assert ledger.budget("ada").epsilon_left == 0.999999
    (crashed,) = ledger.recover()
    assert crashed.charge == Charge("ada", 1e-6, 0.0, "request", "policy", "plan", "gem")
    assert ledger.recover() == ()
    assert ledger.budget("ada").epsilon_left == 0.999999
    ledger.close()


def test_the_living_are_not_called_crashed(paths: tuple[Path, Path]) -> None:
    with spender(paths, 1) as process:
        assert process.stdout is not None
        process.stdout.readline()
        ledger = open_ledger(*paths)
        assert ledger.recover() == ()
        process.kill()
        process.wait()
        assert len(ledger.recover()) == 1
        ledger.close()


@pytest.mark.parametrize("at_least", [15, 16, 17, 40])
def test_every_promise_outlives_the_process(paths: tuple[Path, Path], at_least: int) -> None:
    with spender(paths, 100_000) as process:
        last = promised(process, at_least)
    ledger = open_ledger(*paths)  # also: the marker is not ahead of the ledger
    crashed = ledger.recover()
    assert [reservation.id for reservation in crashed] == list(range(1, len(crashed) + 1))
    assert last <= len(crashed) <= last + 1  # at most the one that was under way
    ledger.close()
