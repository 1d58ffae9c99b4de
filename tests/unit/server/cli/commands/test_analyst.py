"""`analyst add`: the ledger comes into being with its first analyst, and the key is printed once."""

import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from server.ledger.analyst import key_hash
from server.ledger.sqlite import open_ledger

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


def test_a_refused_analyst_gets_no_key(policy: Path, run: Run, capsys: Capture) -> None:
    cases: list[tuple[str, ...]] = [
        ("ada; DROP", "--epsilon", "10"),
        ("ada", "--epsilon", "-1"),
        ("ada", "--epsilon", "nan"),
        ("ada", "--epsilon", "1", "--delta", "1"),
        ("ada",),
    ]
    for arguments in cases:
        assert run("analyst", "add", *arguments, "--policy", str(policy)) == 2, arguments
        assert capsys.readouterr().out == "", arguments


def test_the_same_name_twice_is_refused(policy: Path, run: Run, capsys: Capture) -> None:
    for code in (0, 2):
        assert run("analyst", "add", "ada", "--policy", str(policy), "--epsilon", "10") == code
    assert "ada" in capsys.readouterr().err


def test_a_policy_that_is_not_there(tmp_path: Path, run: Run, capsys: Capture) -> None:
    assert run("analyst", "add", "ada", "--policy", str(tmp_path / "absent.toml"), "--epsilon", "1") == 2
    assert "absent.toml" in capsys.readouterr().err


BUDGETS = """
[budgets.analyst]
epsilon = 4
delta = 1e-6
per_query_epsilon = 0.5
"""


def test_the_policys_budget_is_given_where_no_epsilon_is(policy: Path, run: Run) -> None:
    cases: list[tuple[tuple[str, ...], tuple[float, float, float | None]]] = [
        ((), (4.0, 1e-6, 0.5)),
        (("--delta", "1e-7"), (4.0, 1e-7, 0.5)),
        (("--epsilon", "10"), (10.0, 1e-6, None)),
        (("--epsilon", "10", "--delta", "0"), (10.0, 0.0, None)),
        (("--epsilon", "10", "--delta", "1e-8"), (10.0, 1e-8, None)),
    ]
    policy.write_text(POLICY + BUDGETS)
    for number, (given, granted) in enumerate(cases):
        assert run("analyst", "add", f"ada{number}", "--policy", str(policy), *given) == 0, given
        ledger_path = policy.parent / "state" / "ledger.sqlite"
        with closing(open_ledger(ledger_path, policy.with_suffix(".ledger.json"))) as ledger:
            (account,) = ledger.accounts(f"ada{number}")
        assert (account.grant.epsilon, account.grant.delta, account.grant.per_query_epsilon) == granted, given


def test_who_asks_nothing_needs_no_budget_and_is_told_of_none(policy: Path, run: Run, capsys: Capture) -> None:
    for role, told in [("admin", "changes permissions"), ("auditor", "changes nothing")]:
        assert run("analyst", "add", f"an-{role}", "--policy", str(policy), "--role", role) == 0, role
        said = capsys.readouterr().err
        assert f"an-{role} is an {role}: " in said and told in said, role
        assert "may spend" not in said, role
    assert run("analyst", "add", "ada", "--policy", str(policy)) == 2, "an analyst does"


def test_without_a_default_budget_the_delta_is_that_of_one_query(policy: Path, run: Run, capsys: Capture) -> None:
    policy.write_text(POLICY.replace("max_epsilon = 2.0", "max_epsilon = 2.0\ndelta = 1e-7"))
    assert run("analyst", "add", "ada", "--policy", str(policy), "--epsilon", "1") == 0
    assert "epsilon 1, delta 1e-07" in capsys.readouterr().err


def test_a_budget_beyond_the_datasets_is_warned_of(policy: Path, run: Run, capsys: Capture) -> None:
    policy.write_text(POLICY + "[budgets.dataset]\nepsilon = 5\ndelta = 1e-6\n")
    for name, epsilon, delta, warned in (
        ("ada", "5", "1e-6", False),
        ("eve", "6", "0", True),
        ("bob", "1", "1e-5", True),
        ("grace", "6", "0", False),
    ):
        role = ("--role", "admin") if name == "grace" else ()
        budget = ("--epsilon", epsilon, "--delta", delta)
        assert run("analyst", "add", name, "--policy", str(policy), *budget, *role) == 0
        said = capsys.readouterr().err
        assert ("warning: all analysts together have epsilon 5, delta 1e-06 left" in said) is warned


def test_a_grant_says_what_is_left(policy: Path, run: Run, capsys: Capture) -> None:
    assert run("analyst", "add", "ada", "--policy", str(policy), "--epsilon", "3", "--delta", "1e-7") == 0
    capsys.readouterr()
    why = ("--policy", str(policy), "--reason", "a test")
    assert run("admin", "grant", "analyst:ada", "--epsilon", "2", *why) == 0
    assert "may spend epsilon 2, delta 1e-07 in total; epsilon 2, delta 1e-07 is left." in capsys.readouterr().err
    assert run("admin", "top-up", "analyst:ada", "--epsilon", "1", *why) == 0
    assert "may spend epsilon 3, delta 1e-07 in total; epsilon 3, delta 1e-07 is left." in capsys.readouterr().err
