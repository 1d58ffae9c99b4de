"""`analyst add`: the ledger comes into being with its first analyst, and the key is printed once."""

import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from server.keys import key_hash
from server.ledger.open_ledger import open_ledger

Run = Callable[..., int]
Capture = pytest.CaptureFixture[str]

POLICY = """
name = "shop"
[database]
url = "env:UNUSED"
[ledger]
path = "state/ledger.sqlite"
[privacy]
epsilon = 1.0
max_epsilon = 2.0
[privacy_units]
person = "id"
[tables.person]
"""


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.toml"
    path.write_text(POLICY)
    return path


def test_the_first_analyst_creates_the_ledger_and_later_ones_do_not(policy: Path, run: Run, capsys: Capture) -> None:
    keys = []
    for name, created in (("ada", True), ("grace", False)):
        assert run("analyst", "add", name, "--policy", str(policy), "--epsilon", "10") == 0
        out, err = capsys.readouterr()
        assert out == out.strip() + "\n", "stdout holds the key alone"
        assert ("Created the ledger" in err) is created
        assert out.strip() not in err
        keys.append(out.strip())
    ledger_path = policy.parent / "state" / "ledger.sqlite"
    assert stat.S_IMODE(ledger_path.stat().st_mode) == 0o600
    with closing(open_ledger(ledger_path, policy.with_suffix(".ledger.json"))) as ledger:
        assert [ledger.analyst_by_key(key_hash(key)) for key in keys] == ["ada", "grace"]
        assert ledger.budget("ada").epsilon == 10
    assert not any(key.encode() in path.read_bytes() for key in keys for path in ledger_path.parent.iterdir())


def test_a_ledger_that_is_gone_is_not_made_anew(policy: Path, run: Run, capsys: Capture) -> None:
    assert run("analyst", "add", "ada", "--policy", str(policy), "--epsilon", "10") == 0
    for path in (policy.parent / "state").iterdir():
        path.unlink()
    capsys.readouterr()
    assert run("analyst", "add", "ada", "--policy", str(policy), "--epsilon", "10") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "gone" in err and "hint: " in err
    assert not (policy.parent / "state" / "ledger.sqlite").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("ada; DROP", "--epsilon", "10"),
        ("ada", "--epsilon", "-1"),
        ("ada", "--epsilon", "nan"),
        ("ada", "--epsilon", "1", "--delta", "1"),
        ("ada",),
    ],
)
def test_a_refused_analyst_gets_no_key(arguments: tuple[str, ...], policy: Path, run: Run, capsys: Capture) -> None:
    assert run("analyst", "add", *arguments, "--policy", str(policy)) == 2
    assert capsys.readouterr().out == ""


def test_the_same_name_twice_is_refused(policy: Path, run: Run, capsys: Capture) -> None:
    for code in (0, 2):
        assert run("analyst", "add", "ada", "--policy", str(policy), "--epsilon", "10") == code
    assert "ada" in capsys.readouterr().err


def test_a_policy_that_is_not_there(tmp_path: Path, run: Run, capsys: Capture) -> None:
    assert run("analyst", "add", "ada", "--policy", str(tmp_path / "absent.toml"), "--epsilon", "1") == 2
    assert "absent.toml" in capsys.readouterr().err
