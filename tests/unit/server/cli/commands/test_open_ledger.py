"""The administrator's commands over a real ledger."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from planner.schema import Column, Schema, Table
from privacy.accounting.event import ZCDP
from server.ledger.account import Grant
from server.ledger.analyst import key_hash
from server.ledger.charge import Charge
from server.ledger.ledger import Ledger
from server.ledger.question_texts import AskedText, QuestionKeys
from server.ledger.sqlite import open_ledger
from server.policy.accepted_policy import PolicyFile
from tests.support.charging import reserve

Capture = pytest.CaptureFixture[str]

POLICY = """
name = "shop"
[database]
url = "env:UNUSED"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
max_epsilon = 2.0
[privacy_units]
person = "id"
[tables.person]
"""
WHY = ("--reason", "the study begins")


class Shell:
    """Runs commands with the policy of a test, and reads what they print."""

    def __init__(self, policy: Path, run: Callable[..., int], capsys: Capture) -> None:
        self.policy, self._run, self._capsys = policy, run, capsys
        self.err = ""

    def __call__(self, *arguments: str, code: int = 0) -> str:
        assert self._run(*arguments, "--policy", str(self.policy)) == code, self._capsys.readouterr()
        out, self.err = self._capsys.readouterr()
        return out

    def rows(self, *arguments: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self(*arguments, "--format", "json"))
        return found

    def ledger(self) -> Ledger:
        return open_ledger(self.policy.parent / "ledger.sqlite", self.policy.with_suffix(".ledger.json"))


@pytest.fixture
def shell(tmp_path: Path, run: Callable[..., int], capsys: Capture) -> Shell:
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY)
    made = Shell(policy, run, capsys)
    made("analyst", "add", "ada", "--epsilon", "10")
    return made


def spend(shell: Shell, times: int = 1) -> None:
    with closing(shell.ledger()) as ledger:
        for _ in range(times):
            ledger.commit(reserve(ledger, Charge("ada", 0.5, 0.0, "request-1", "policy", "plan", "gem")))


def test_analysts_are_listed_disabled_and_moved(shell: Shell) -> None:
    shell("analyst", "add", "root", "--epsilon", "1", "--role", "admin", *WHY)
    shell("admin", "grant", "group:lab", "--epsilon", "5", *WHY)
    shell("analyst", "set-group", "ada", "lab", *WHY)
    shell("analyst", "set-role", "ada", "auditor", *WHY)
    shell("analyst", "disable", "ada", *WHY)
    assert shell.rows("analyst", "list") == [
        {"name": "ada", "role": "auditor", "group": "lab", "enabled": False},
        {"name": "root", "role": "admin", "group": None, "enabled": True},
    ]
    shell("analyst", "enable", "ada", *WHY)
    shell("analyst", "set-group", "ada", *WHY)
    assert shell.rows("analyst", "list")[0] | {"role": ""} == {
        "name": "ada",
        "role": "",
        "group": None,
        "enabled": True,
    }


def test_who_looks_after_a_ledger_waits_for_no_part_of_the_proxy(shell: Shell) -> None:
    """What a proxy needs takes most of a second to load, or ten on a small machine."""
    code = (
        "import sys; from server.cli.main import main\n"
        f"try: main(['analyst', 'list', '--policy', {str(shell.policy)!r}])\n"
        "except SystemExit as left: assert not left.code\n"
        "print(*{'fastapi', 'numba', 'opendp', 'scipy', 'uvicorn'} & sys.modules.keys())"
    )
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "ada" in told.stdout and told.stdout.splitlines()[-1] == ""


def test_a_rotated_key_is_printed_alone_and_once(shell: Shell) -> None:
    key = shell("analyst", "rotate-key", "ada", *WHY).strip()
    assert key not in shell.err
    with closing(shell.ledger()) as ledger:
        assert ledger.analyst_by_key(key_hash(key)) == "ada"


def test_accounts_are_granted_and_topped_up(shell: Shell) -> None:
    spend(shell)
    shell("admin", "grant", "dataset", "--epsilon", "20", "--window-days", "30", "--per-query-epsilon", "1", *WHY)
    assert "k windows are k budgets" in shell.err
    shell("admin", "top-up", "analyst:ada", "--epsilon", "1", *WHY)
    assert "10.5 is left" in shell.err
    accounts = {row["account"]: row for row in shell.rows("admin", "accounts")}
    assert accounts["analyst:ada"]["epsilon_left"] == 10.5
    assert accounts["dataset"]["window_s"] == 30 * 86_400
    assert accounts["dataset"]["per_query_epsilon"] == 1.0
    assert accounts["dataset"]["renews"] is not None
    assert "k windows are k budgets" in accounts["dataset"]["protects"]


def test_what_a_grant_does_not_say_stays_as_it_is(shell: Shell) -> None:
    counted = ("--delta", "1e-6", "--accounting", "zcdp", "--event-delta", "1e-7")
    shell("admin", "grant", "group:lab", "--epsilon", "5", *counted, *WHY)
    shell("admin", "grant", "group:lab", "--epsilon", "8", *WHY)
    with closing(shell.ledger()) as ledger:
        (lab,) = (one.grant for one in ledger.accounts() if one.name == "group:lab")
    assert (lab.epsilon, lab.delta, lab.accounting, lab.event_delta) == (8.0, 1e-6, "zcdp", 1e-7)
    shell("admin", "grant", "group:lab", "--epsilon", "8", "--accounting", "basic", *WHY, code=2)


def test_a_budget_is_renewed_by_the_calendar_up_to_a_total(shell: Shell) -> None:
    monthly = ("--epsilon", "10", "--renew", "month", *WHY)
    shell("admin", "grant", "analyst:ada", *monthly, code=2)
    assert "State the epsilon that all periods may spend together" in shell.err
    shell("admin", "grant", "analyst:ada", *monthly, "--most-in-total", "never", code=2)
    shell("admin", "grant", "analyst:ada", *monthly, "--most-in-total", "35")
    assert (
        "may spend epsilon 10 per month; at most epsilon 10 in all periods together until the end of 20" in shell.err
    )
    (ada,) = shell.rows("admin", "accounts")
    assert ada["renews"].endswith("-01 00:00:00")
    assert ada["protects"].endswith("at most epsilon 35 in total, where renewal stops")
    shell("admin", "grant", "analyst:ada", *monthly, "--most-in-total", "unlimited")
    assert "in total nothing bounds it: k periods are k budgets" in shell.err
    shell("admin", "grant", "analyst:ada", "--epsilon", "1", "--renew", "fortnight", *WHY, code=2)


def test_another_epsilon_ends_no_renewal_and_no_cap(shell: Shell) -> None:
    monthly = ("--renew", "month", "--most-in-total", "30", "--per-query-epsilon", "1")
    shell("admin", "grant", "ada", "--epsilon", "5", *monthly, *WHY)
    shell("admin", "grant", "ada", "--epsilon", "6", *WHY)
    assert "may spend epsilon 6 per month" in shell.err and "at most epsilon 30 in total" in shell.err
    shell("admin", "grant", "ada", "--epsilon", "40", *WHY, code=2)
    assert "Give a larger total" in shell.err
    shell("admin", "grant", "ada", "--epsilon", "6", "--most-in-total", "60", *WHY)
    assert "at most epsilon 60 in total" in shell.err
    shell("admin", "grant", "ada", "--epsilon", "6", "--renew", "never", "--per-query-epsilon", "unlimited", *WHY)
    assert "per month" not in shell.err
    with closing(shell.ledger()) as ledger:
        (ada,) = (one.grant for one in ledger.accounts() if one.name == "analyst:ada")
    assert ada == Grant(6.0)


def test_who_asks_nothing_has_no_budget(shell: Shell) -> None:
    shell("analyst", "add", "cora", "--role", "admin", *WHY)
    table = shell("admin", "accounts")
    (line,) = (line for line in table.splitlines() if line.split()[:1] == ["analyst:cora"])
    assert set(line.split()[1:]) == {"-"} and "1e-09" not in table
    accounts = {row["account"]: row for row in shell.rows("admin", "accounts")}
    assert (accounts["analyst:cora"]["epsilon"], accounts["analyst:cora"]["epsilon_left"]) == (None, None)
    assert accounts["analyst:ada"]["epsilon"] == 10.0


def test_a_new_group_gets_the_delta_of_an_analyst(shell: Shell) -> None:
    shell.policy.write_text(POLICY.replace("[privacy]\n", "[privacy]\ndelta = 1e-7\n"))
    shell("admin", "grant", "group:lab", "--epsilon", "5", *WHY)
    shell("admin", "grant", "dataset", "--epsilon", "50", *WHY)
    accounts = {row["account"]: row for row in shell.rows("admin", "accounts")}
    assert (accounts["group:lab"]["delta"], accounts["dataset"]["delta"]) == (1e-7, 0.0)


def test_what_is_about_to_run_out_is_listed(shell: Shell) -> None:
    shell("admin", "grant", "dataset", "--epsilon", "20", *WHY)
    assert shell.rows("admin", "accounts", "--low") == []
    shell("admin", "grant", "analyst:ada", "--epsilon", "5", *WHY)
    spend(shell, 9)
    (low,) = shell.rows("admin", "accounts", "--low")
    assert (low["account"], low["epsilon_left"]) == ("analyst:ada", 0.5)


def test_who_asked_what_is_listed_for_who_holds_the_key(
    shell: Shell, run: Callable[..., int], tmp_path: Path
) -> None:
    spend(shell)
    path = tmp_path / "questions.key"
    assert run("ledger", "new-question-key", str(path)) == 0
    keys = QuestionKeys.read(path)
    with closing(shell.ledger()) as ledger:
        for text in (AskedText("SELECT 1"), AskedText("SELECT count(*) FROM t WHERE x = $1", ("A",))):
            sealing = keys.sealing(ledger.id, text)
            ledger.commit(reserve(ledger, Charge("ada", 0.5, 0.0, "r", "p", "q", "gem", sealing=sealing)))
    listed = ("ledger", "questions", "--key", str(path))
    rows = shell.rows(*listed)
    assert [(row["charge"], row["analyst"], row["question"]) for row in rows] == [
        (2, "ada", "SELECT 1"),
        (3, "ada", "SELECT count(*) FROM t WHERE x = $1\n-- $1 = 'A'"),
    ]
    assert "1 charges have no question text" in shell.err
    assert "SELECT " not in shell("ledger", "export"), "the export has what is sealed"
    assert run("ledger", "new-question-key", str(path)) == 0
    assert shell.rows(*listed) == rows, "a rotated key file opens what the old key sealed"
    path.unlink()
    assert run("ledger", "new-question-key", str(path)) == 0
    shell(*listed, code=2)
    assert "The question of charge 2 was encrypted with the key" in shell.err


def test_an_analyst_may_count_in_zcdp_and_sees_what_basic_composition_would_leave(shell: Shell) -> None:
    shell("analyst", "add", "eve", "--epsilon", "2", "--delta", "0", "--accounting", "zcdp", code=2)
    assert "delta" in shell.err
    shell("analyst", "add", "eve", "--epsilon", "2", "--delta", "1e-6", "--accounting", "zcdp")
    with closing(shell.ledger()) as ledger:
        for _ in range(8):
            ledger.commit(
                reserve(ledger, Charge("eve", 0.2, 0.0, "request-1", "policy", "plan", "gem", ZCDP(0.0005)))
            )
    (eve,) = shell.rows("admin", "accounts", "--analyst", "eve")
    assert (eve["accounting"], eve["epsilon_left_basic"]) == ("zcdp", 0.4)
    assert eve["epsilon_left"] > eve["epsilon_left_basic"]


def test_what_cannot_be_is_refused_and_changes_nothing(shell: Shell) -> None:
    cases: list[tuple[str, ...]] = [
        ("admin", "grant", "dataset", "--epsilon", "1"),
        ("admin", "grant", "dataset", "--epsilon", "1", "--accounting", "pld", *WHY),
        ("admin", "grant", "dataset", "--epsilon", "-1", *WHY),
        ("admin", "top-up", "group:nobody", "--epsilon", "1", *WHY),
        ("analyst", "disable", "nobody", *WHY),
        ("analyst", "set-role", "ada", "king", *WHY),
    ]
    for arguments in cases:
        with closing(shell.ledger()) as ledger:
            before = ledger.verify().head
        shell(*arguments, code=2)
        assert "Traceback" not in shell.err, arguments
        with closing(shell.ledger()) as ledger:
            assert ledger.verify().head == before, arguments


def test_charges_are_listed_in_pages_as_csv(shell: Shell) -> None:
    spend(shell, 3)
    rows = list(csv.DictReader(io.StringIO(shell("admin", "charges", "--after", "1", "--format", "csv"))))
    assert [(row["number"], row["analyst"], row["epsilon"], row["state"]) for row in rows] == [
        ("2", "ada", "0.5", "committed"),
        ("3", "ada", "0.5", "committed"),
    ]
    assert len(shell.rows("admin", "charges", "--limit", "1")) == 1
    assert "These are 1; there may be more: --after 1, or --limit" in shell.err
    assert len(shell.rows("admin", "charges", "--after", "1", "--limit", "5")) == 2 and "more" not in shell.err
    assert shell.rows("admin", "charges", "--after", "3", "--limit", "1") == [] and "more" not in shell.err
    assert "committed" in shell("admin", "charges")


def test_the_log_says_who_did_what_and_why(shell: Shell) -> None:
    spend(shell)
    shell("data", "bump", *WHY)
    log = shell.rows("admin", "log")
    assert log[-1]["kind"] == "data" and log[-1]["reason"] == "the study begins"
    assert log[-1]["by"].startswith("cli:")
    assert not {"reserved", "committed"} & {row["kind"] for row in log}
    (first,) = shell.rows("admin", "log", "--limit", "1")
    assert f"These are 1; there may be more: --after {first['number']}" in shell.err
    assert shell.rows("admin", "log", "--after", first["number"]) == log[1:] and "more" not in shell.err


def test_the_log_has_the_units_of_options(shell: Shell) -> None:
    shell("admin", "grant", "dataset", "--epsilon", "12", "--delta", "1e-6", "--window-days", "7", *WHY)
    said = json.loads(shell.rows("admin", "log")[-1]["what"])
    assert said == {
        "account": "dataset",
        "accounting": "basic",
        "epsilon": 12.0,
        "delta": 1e-6,
        "event_delta": 0.0,
        "window_s": 604_800.0,
    }


def test_a_bump_raises_the_version(shell: Shell) -> None:
    assert shell("data", "version") == "1\n"
    assert shell("data", "bump", *WHY) == "2\n"
    assert shell("data", "version") == "2\n"


def test_an_account_is_named_by_its_analyst_or_group_alone(shell: Shell) -> None:
    shell("admin", "grant", "group:lab", "--epsilon", "8", *WHY)
    shell("analyst", "add", "nina", "--epsilon", "3", "--group", "lab")
    shell("admin", "top-up", "nina", "--epsilon", "2", *WHY)
    assert shell.err.startswith("analyst:nina may spend")
    shell("admin", "grant", "lab", "--epsilon", "9", *WHY)
    assert shell.err.startswith("group:lab may spend")
    shell("admin", "grant", "group:nina", "--epsilon", "9", *WHY)
    shell("admin", "top-up", "nina", "--epsilon", "2", *WHY, code=2)
    assert "nina is an analyst and a group" in shell.err and "write analyst:nina or group:nina" in shell.err
    shell("admin", "top-up", "nobody", "--epsilon", "2", *WHY, code=2)
    assert "no analyst and no group 'nobody'" in shell.err
    assert [row["epsilon"] for row in shell.rows("admin", "accounts", "--analyst", "analyst:nina")] == [5.0, 9.0]


def test_json_is_short_for_its_format_on_what_prints_data(shell: Shell) -> None:
    spend(shell)
    for command, columns in {
        ("ledger", "verify"): {"entries", "head"},
        ("data", "version"): {"data_version"},
        ("admin", "charges"): {"number", "analyst"},
        ("analyst", "add", "zoe", "--epsilon", "1"): {"name", "key"},
        ("analyst", "rotate-key", "zoe", *WHY): {"name", "key"},
        ("ledger", "backup", str(shell.policy.parent / "copy")): {"entries", "head", "copy"},
    }.items():
        (row, *_) = json.loads(shell(*command, "--json"))
        assert columns <= set(row), command


def test_the_ledger_is_exported_whole(shell: Shell) -> None:
    spend(shell)
    head = shell("ledger", "verify").strip()
    lines = [json.loads(line) for line in shell("ledger", "export").splitlines()]
    assert [line["number"] for line in lines] == list(range(1, len(lines) + 1))
    assert lines[-1]["hash"] == head
    assert shell("ledger", "export", "--format", "csv").count("\n") == 2


def test_a_tampered_ledger_is_told(shell: Shell) -> None:
    spend(shell)
    noted = shell("ledger", "verify").strip()
    spend(shell)
    shell("ledger", "verify", "--head", noted)
    shell("ledger", "verify", "--head", noted.upper())
    assert "including the noted one" in shell.err
    shell("ledger", "verify", "--head", "0" * 64, code=1)
    assert shell.err.startswith("error: no entry has the hash 00000000...: this is another ledger or an older copy")
    shell("ledger", "verify", "--head", "17", code=2)
    with sqlite3.connect(shell.policy.parent / "ledger.sqlite") as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (name,) in names:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("UPDATE charges SET plan_hash = 'other' WHERE number = 1")
    connection.close()
    assert shell("ledger", "verify", code=1) == ""
    assert "error: " in shell.err and "hint: " in shell.err


def test_a_weaker_policy_is_shown_and_confirmed(
    shell: Shell, run: Callable[..., int], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = str(shell.policy)
    person = Table("person", "public", (Column("id", "bigint", False),), (("id",),), ())
    there = Schema({"person": person})
    monkeypatch.setattr(
        "server.startup.open_services.prepare", lambda path: SimpleNamespace(file=PolicyFile.read(path), schema=there)
    )
    assert run("policy", "accept", policy, *WHY) == 0
    shell.policy.write_text(POLICY.replace("max_epsilon = 2.0", "max_epsilon = 3.0"))
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    assert run("policy", "accept", policy, *WHY) == 1
    assert "weaker: privacy.max_epsilon: raised" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert run("policy", "accept", policy, *WHY) == 1
    assert "hint: in a script, add --yes" in capsys.readouterr().err, "nobody is there to answer"
    assert run("policy", "accept", policy, "--yes", *WHY) == 0
    last = shell.rows("admin", "log")[-1]
    assert last["kind"] == "policy" and "max_epsilon" in last["what"]


def test_every_command_has_help(run: Callable[..., int], capsys: Capture) -> None:
    for command in ["admin", "analyst", "ledger", "data", "budget", "policy"]:
        assert run(command, "--help") == 0, command
        assert "Usage: noisegate" in capsys.readouterr().out, command


UNLIMITED = '"unlimited"'

BUDGETS = """
[budgets.analyst]
epsilon = 3.0
per_query_epsilon = 0.5
[budgets.dataset]
epsilon = 20.0
delta = 1e-6
accounting = "zcdp"
window_days = 30
"""


def test_the_policy_grants_where_nothing_else_is_said(
    tmp_path: Path, run: Callable[..., int], capsys: Capture
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY + BUDGETS)
    shell = Shell(policy, run, capsys)
    shell("analyst", "add", "ada")
    shell("analyst", "add", "grace", "--epsilon", "1")
    accounts = {row["account"]: row for row in shell.rows("admin", "accounts")}
    assert (accounts["analyst:ada"]["epsilon"], accounts["analyst:ada"]["per_query_epsilon"]) == (3.0, 0.5)
    assert (accounts["analyst:grace"]["epsilon"], accounts["analyst:grace"]["per_query_epsilon"]) == (1.0, None)
    dataset = accounts["dataset"]
    assert (dataset["epsilon"], dataset["accounting"], dataset["window_s"]) == (20.0, "zcdp", 30 * 86_400)


def test_a_policy_renews_and_says_up_to_which_total(tmp_path: Path, run: Callable[..., int], capsys: Capture) -> None:
    policy = tmp_path / "policy.toml"
    renewed = 'epsilon = 3.0\ndelta = 1e-6\naccounting = "renyi"\nrenew = "week"\nmost_in_total = 50.0\n'
    policy.write_text(f"{POLICY}[budgets.analyst]\n{renewed}[budgets.dataset]\n{renewed.replace('50.0', UNLIMITED)}")
    shell = Shell(policy, run, capsys)
    shell("analyst", "add", "ada")
    assert "ada may spend epsilon 3, delta 1e-06 per week." in shell.err
    dataset, ada = shell.rows("admin", "accounts")[1], shell.rows("admin", "accounts")[0]
    assert (
        "epsilon 3, delta 1e-06 per week" in ada["protects"]
        and "at most epsilon 50, delta 1.7e-05 in" in ada["protects"]
    )
    assert "in total nothing bounds it" in dataset["protects"]
    shell("analyst", "add", "grace", "--epsilon", "1")
    assert "total; without --epsilon" in shell.err and "renews every week" in shell.err
    shell("analyst", "add", "hal", "--role", "auditor")
    (hal,) = [row for row in shell.rows("admin", "accounts") if row["account"] == "analyst:hal"]
    assert hal["epsilon"] is None, "who asks nothing has no budget"
    table, sentences = shell("admin", "accounts").split("Guarantee of analyst:ada: ")
    assert "epsilon_left" in table and "where renewal stops" not in table
    assert sentences.startswith("epsilon 3, delta 1e-06 per week")


def test_without_a_default_an_epsilon_is_needed(shell: Shell) -> None:
    shell("analyst", "add", "grace", code=2)
    assert "--epsilon" in shell.err


def test_a_default_that_is_no_budget_is_refused(tmp_path: Path, run: Callable[..., int], capsys: Capture) -> None:
    for budgets in [
        "[budgets.analyst]\nepsilon = 0",
        "[budgets.analyst]\nepsilon = 1.0\naccounting = 'zcdp'",  # without a delta
        "[budgets.analyst]\nepsilon = 1.0\naccounting = 'pld'\ndelta = 1e-6",
        "[budgets.analyst]\nepsilon = 1.0\nrenew = 'month'",  # silence does not say what the total is
        "[budgets.analyst]\nepsilon = 1.0\nrenew = 'month'\nmost_in_total = 'none'",
        "[budgets.analyst]\nepsilon = 1.0\nrenew = 'month'\nmost_in_total = 0.5",
        "[budgets.analyst]\nepsilon = 1.0\nrenew = 'moon'\nmost_in_total = 5.0",
        "[budgets.analyst]\nepsilon = 1.0\nrenew = 'month'\nmost_in_total = 5.0\nwindow_days = 3",
        "[budgets.analyst]\nepsilon = 1.0\nmost_in_total = 5.0",
        "[budgets.analyst]\nepsilon = 1.0\ndelta = 1e-6\nevent_delta = 1e-7",
        "[budgets.dataset]\nepsilon = 1.0\ndelta = 1.0",
        "[budgets.dataset]\nepsilon = 1.0\nwindow_days = -1",
        "[budgets.group]\nepsilon = 1.0",
    ]:
        policy = tmp_path / "policy.toml"
        policy.write_text(f"{POLICY}\n{budgets}\n")
        shell = Shell(policy, run, capsys)
        shell("analyst", "add", "ada", "--epsilon", "1", code=2)
        assert "budgets." in shell.err, budgets
