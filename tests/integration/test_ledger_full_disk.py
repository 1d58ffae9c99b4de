"""A ledger that cannot be written refuses queries, cleanly, and goes on once it can."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from server.error_table import problem
from server.errors import ChargeUnsettled, LedgerFull, LedgerReadOnly
from server.ledger.analyst import key_hash
from server.ledger.sqlite import create_ledger, open_ledger
from tests.support.charging import reserve
from tests.unit.server.ledger.charges import charge

NOBODY = 65534

SPENDER = """
import json, os, resource, sys
from pathlib import Path
from server.errors import ServerError
from server.ledger.charge import Charge
from server.ledger.sqlite import open_ledger

path, marker, room, user = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
told = {"promised": 0, "error": None, "budget": None}
try:
    if user:
        os.setuid(user)
    ledger = open_ledger(path, marker)
    if room:
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + room, resource.RLIM_INFINITY))
    try:
        for number in range(400):
            charge = Charge("ada", 0.001, 0.0, "r", "p", str(number), "gem", answer_key=f"new {number}")
            (reservation,) = ledger.claim_all((charge,))
            told["promised"] += 1
            ledger.commit(reservation, b"x" * 500)
    finally:
        told["budget"] = ledger.budget("ada").epsilon_left
        kept = ledger.cached_answer("0", "ada")
        told["kept"] = kept is not None
except ServerError as error:
    told["error"] = [type(error).__name__, error.message]
print(json.dumps(told))
"""


@pytest.fixture
def paths() -> Iterator[tuple[Path, Path]]:
    """Of a ledger that everybody may read, and only we may write; the folder, too."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path, marker = Path(folder) / "ledger.sqlite", Path(folder) / "marker.json"
        with closing(create_ledger(path, marker)) as ledger:
            ledger.add_analyst("ada", key_hash("ng_ada"), 1.0, 0.0)
            ledger.commit(reserve(ledger, charge(0.001, answer_key="0")), b"noisy")
        path.chmod(0o644)
        marker.chmod(0o644)
        yield path, marker


def spend(paths: tuple[Path, Path], *, room: int = 0, user: int = 0) -> dict[str, object]:
    """What a process is promised, and with which error it ends."""
    command = [sys.executable, "-c", SPENDER, *map(str, paths), str(room), str(user)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize(
    "room", [137_000, *(pytest.param(room, marks=pytest.mark.slow) for room in (50_000, 333_000))]
)
def test_a_full_disk_refuses_and_loses_nothing(paths: tuple[Path, Path], room: int) -> None:
    told = spend(paths, room=room)
    assert told["error"] in (
        ["LedgerUnavailable", "The ledger could not be read or written."],
        ["LedgerFull", "The ledger could not be written: its disk is full."],
        ["ChargeUnsettled", "The charge could not be settled; it stands."],
    )
    assert told["kept"] is True  # what was paid is still served
    with closing(open_ledger(*paths)) as ledger:
        assert ledger.verify().fault is None
        charges = len(ledger.charges())
        assert charges >= 1 + int(str(told["promised"]))
        assert ledger.budget("ada").epsilon_left == pytest.approx(1 - 0.001 * charges)
        ledger.recover()
        ledger.commit(reserve(ledger, charge(0.001)))  # there is room again


def test_a_read_only_ledger_refuses(paths: tuple[Path, Path]) -> None:
    for path in (*paths, paths[0].parent):
        path.chmod(path.stat().st_mode & 0o555)
    told = spend(paths, user=NOBODY if os.geteuid() == 0 else 0)  # root may write what nobody may
    assert told["error"] == ["LedgerReadOnly", "The ledger could not be written: it is read-only."]
    assert told["promised"] == 0
    for path in (*paths, paths[0].parent):
        path.chmod(path.stat().st_mode | 0o200)
    with closing(open_ledger(*paths)) as ledger:
        assert len(ledger.charges()) == 1


def test_a_ledger_that_becomes_read_only_refuses(paths: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """As a file system does that is mounted again read-only: what is open can write no more."""
    ledger = open_ledger(*paths)
    with closing(ledger):
        ledger._store._writer.execute("PRAGMA query_only = ON")  # type: ignore[attr-defined]
        for write in (lambda: reserve(ledger, charge(0.001)), ledger.check_writable):
            with pytest.raises(LedgerReadOnly):
                write()
        assert ledger.budget("ada").epsilon_left == 0.999
        ledger._store._writer.execute("PRAGMA query_only = OFF")  # type: ignore[attr-defined]


def test_without_room_it_is_not_ready_and_says_what_was_charged(
    paths: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_ledger(*paths)) as ledger:
        ledger.check_writable()
        reservation = reserve(ledger, charge(0.001, answer_key="1"))
        before = sorted(paths[0].parent.iterdir())
        writer = ledger._store._writer  # type: ignore[attr-defined]
        writer.execute(f"PRAGMA max_page_count = {writer.execute('PRAGMA page_count').fetchone()[0]}")
        with pytest.raises(ChargeUnsettled) as lost:
            ledger.commit(reservation, b"x" * 100_000)
        assert "it was charged" in problem(lost.value).message
        with pytest.raises(LedgerFull) as full:
            for number in range(100):
                reserve(ledger, charge(0.001, answer_key=f"more {number}"))
        assert "nothing was charged" in problem(full.value).message
        monkeypatch.setattr(os, "posix_fallocate", _no_room)
        with pytest.raises(LedgerFull) as unready:
            ledger.check_writable()
        assert (problem(unready.value).status, problem(unready.value).code) == (503, "53100")
        assert sorted(paths[0].parent.iterdir()) == before
        writer.execute("PRAGMA max_page_count = 1000000")


def _no_room(descriptor: int, offset: int, length: int) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")
