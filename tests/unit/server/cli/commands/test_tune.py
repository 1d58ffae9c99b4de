"""`noisegate tune` from the command line: what it spends, shows and writes, and what without a yes it does not."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from server.ledger.account import Grant
from server.ledger.analyst import Act, key_hash
from server.ledger.sqlite import create_ledger, open_ledger
from server.ledger.tuning import TuningRecord
from server.policy.accepted_policy import PolicyFile
from server.policy.open_ledger_of_policy import ledger_paths
from tests.support.replay_entropy import ConstantEntropy

Run = Callable[..., int]
Capture = pytest.CaptureFixture[str]

POLICY = """\
name = "clinic"
[database]
url = "duckdb:///clinic.duckdb"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 0.5
[privacy_units]
patient = "id"
[tables.patient]

[tables.visit.columns]
cost = { range = [0, 64] }
"""
TABLES = """
    CREATE TABLE patient (id bigint PRIMARY KEY);
    CREATE TABLE visit (id bigint PRIMARY KEY, patient bigint NOT NULL REFERENCES patient, cost integer NOT NULL);
    INSERT INTO patient SELECT i FROM range(500) t(i);
    INSERT INTO visit SELECT i, i % 400, 1 FROM range(400) t(i);
    INSERT INTO visit SELECT 1000 + i, i % 50, 64 FROM range(750) t(i);
"""
"""100 patients have nothing, 350 one visit, 50 of them 16."""


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clinic with a ledger; and noise of 0."""
    with duckdb.connect(tmp_path / "clinic.duckdb") as connection:
        connection.execute(TABLES)
    path = tmp_path / "policy.toml"
    path.write_text(POLICY)
    with closing(create_ledger(*ledger_paths(PolicyFile.read(path).policy, path))) as ledger:
        ledger.add_analyst("ada", key_hash("ng_ada"), 10.0, 0.0)
    monkeypatch.setattr("privacy.entropy.OpendpEntropy", ConstantEntropy)
    return path


def tunings(policy: Path) -> tuple[TuningRecord, ...]:
    with closing(open_ledger(*ledger_paths(PolicyFile.read(policy).policy, policy))) as ledger:
        return ledger.tunings()


BOUNDS = ["clip = { rows = 16, cost = 1024 }"]


def test_it_shows_proposes_and_writes_only_with_a_yes(policy: Path, run: Run, capsys: Capture) -> None:
    before = policy.read_text()
    assert run("tune", "--policy", str(policy)) == 1
    assert "there is no tuning yet" in capsys.readouterr().err
    assert run("tune", "--policy", str(policy), "--epsilon", "1") == 0
    out, err = capsys.readouterr()
    assert "visit.rows: people by how many rows they own, at epsilon 0.5" in out
    assert "Every analyst's guarantee includes epsilon 1 of tuning" in err
    assert "policy.toml is unchanged" in err
    assert policy.read_text() == before, "there is no terminal to say yes at, and no --yes"
    assert run("tune", "--policy", str(policy), "--yes") == 0
    assert [one.epsilon for one in tunings(policy)] == [1.0], "what was found is shown again for nothing"
    written = policy.read_text().splitlines()
    assert set(written) - set(before.splitlines()) == {"[tables.visit]", *BOUNDS}
    assert all(f"+{line}" in out.splitlines() for line in BOUNDS), "the diff is what is written"
    capsys.readouterr()
    assert run("tune", "--policy", str(policy), "--yes") == 0
    assert "The policy has these bounds already." in capsys.readouterr().err


def test_bounds_that_are_there_hide_nobody(policy: Path, run: Run, capsys: Capture) -> None:
    assert run("tune", "--policy", str(policy), "--epsilon", "1", "--yes") == 0
    policy.write_text(
        policy.read_text().replace("clip = { rows = 16,", "at_most = { rows = 64 }\nclip = { rows = 2,")
    )
    assert run("policy", "accept", str(policy), "--reason", "less", "--yes") == 0
    assert run("tune", "--policy", str(policy), "--epsilon", "1") == 0
    first, second = (one.histograms for one in tunings(policy))
    assert first == second
    capsys.readouterr()


def test_what_nobody_exceeds_is_declared_by_people_alone(policy: Path, run: Run, capsys: Capture) -> None:
    """A few people with far more hide in the noise: no tuning knows a bound that nobody exceeds."""
    assert run("tune", "--policy", str(policy), "--epsilon", "1", "--yes") == 0
    assert "at_most" not in policy.read_text()
    assert "no at_most is proposed" in capsys.readouterr().out
    policy.write_text(policy.read_text().replace("clip = { rows = 16, cost = 1024 }", "at_most = { rows = 20 }"))
    assert run("tune", "--policy", str(policy), "--yes") == 0
    assert "The policy has `at_most` for visit.rows, so no `clip` is written." in capsys.readouterr().err
    said = PolicyFile.read(policy).policy.tables["visit"]
    assert (said.clip, said.at_most) == ({"cost": 1024.0}, {"rows": 20.0})


def test_a_measure_alone_is_named(policy: Path, run: Run, capsys: Capture) -> None:
    assert (
        run("tune", "--policy", str(policy), "--epsilon", "1", "--table", "visit", "--measure", "rows", "--json") == 0
    )
    rows = json.loads(capsys.readouterr().out)
    assert {one["measure"] for one in rows} == {"visit.rows"}
    assert rows[0] == {"measure": "visit.rows", "above": 0.0, "up_to": 1.0, "people": 350}
    assert {one["up_to"]: one["people"] for one in rows if one["people"]} == {1.0: 350, 16.0: 50}
    assert run("tune", "--policy", str(policy), "--measure", "cost") == 1
    assert "it measured visit.rows" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--epsilon", "1", "--table", "patient"), 1, "tuning patient gains nothing"),
        (("--epsilon", "0.001"), 1, "spend epsilon 0.002 or more"),
        (("--epsilon", "-1"), 1, "epsilon"),
        (("--epsilon", "3"), 3, "only epsilon 2.0 is left for the dataset as a whole"),
    ],
)
def test_what_is_refused_spends_nothing(
    policy: Path, run: Run, capsys: Capture, arguments: tuple[str, ...], code: int, words: str
) -> None:
    with closing(open_ledger(*ledger_paths(PolicyFile.read(policy).policy, policy))) as ledger:
        ledger.grant("dataset", Grant(2.0), Act("grace", "a test"))
    assert run("tune", "--policy", str(policy), *arguments) == code
    assert words in capsys.readouterr().err
    assert tunings(policy) == ()


def test_a_weaker_policy_counts_nobody_before_it_is_accepted(policy: Path, run: Run, capsys: Capture) -> None:
    assert run("policy", "accept", str(policy), "--reason", "the first") == 0
    policy.write_text(policy.read_text().replace("range = [0, 64]", "range = [0, 4096]"))
    policy.write_text(
        policy.read_text()
        .replace("[tables.patient]", "[tables.patient]\npublic = false")
        .replace("epsilon = 0.5", "epsilon = 0.5\nmax_epsilon = 9.0")
    )
    assert run("tune", "--policy", str(policy), "--epsilon", "1") == 2
    assert "protects less" in capsys.readouterr().err
    assert tunings(policy) == ()
    assert run("policy", "check", str(policy)) == 0
    err = capsys.readouterr().err
    assert "protects less than the policy in force: privacy.max_epsilon: raised" in err
    assert f"`noisegate policy accept {policy} --reason WHY`" in err
    assert run("policy", "accept", str(policy), "--reason", "so be it", "--yes") == 0
    capsys.readouterr()
    assert run("policy", "check", str(policy)) == 0
    assert "protects less" not in capsys.readouterr().err


def test_a_new_load_says_when_to_repeat_it(policy: Path, run: Run, capsys: Capture) -> None:
    assert run("data", "bump", "--policy", str(policy), "--reason", "May") == 0
    assert "noisegate tune" not in capsys.readouterr().err
    assert run("tune", "--policy", str(policy), "--epsilon", "1") == 0
    assert run("data", "bump", "--policy", str(policy), "--reason", "June") == 0
    assert "last measured in data version 2. Repeat `noisegate tune`" in capsys.readouterr().err


def test_the_ledger_holds_with_it(policy: Path, run: Run, capsys: Capture) -> None:
    for _ in range(2):
        assert run("tune", "--policy", str(policy), "--epsilon", "0.5") == 0
    capsys.readouterr()
    assert run("ledger", "verify", "--policy", str(policy)) == 0
    assert run("admin", "accounts", "--policy", str(policy)) == 0
    assert "and epsilon 1 of tuning, once, in addition" in capsys.readouterr().out
