"""The administrator's commands against a real database, and the proxy as a process of its own."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psycopg
import pytest

from planner.policy.policy import parse_policy
from privacy.papers.vector_program.reference import ReferenceVectorSolver
from privacy.truncation.programs.library_solvers import ReferenceSolver
from server.cli.main import main

ROLE_URL = "NOISEGATE_DATABASE_URL"
DEMO_POLICY = Path(__file__).parents[2] / "server" / "demo" / "policy.toml"
TABLES = b"CREATE TABLE person (id bigint PRIMARY KEY, age integer); INSERT INTO person VALUES (1, 30), (2, 200)"
POLICY = """
name = "people"
[database]
url = "env:NOISEGATE_DATABASE_URL"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
max_epsilon = 2.0
[privacy_units]
person = "id"
[tables.person.columns]
age = { range = [0, 120] }
"""

Capture = pytest.CaptureFixture[str]
Run = Callable[..., int]


@pytest.fixture
def run() -> Run:
    def command(*arguments: str) -> int:
        with pytest.raises(SystemExit) as left:
            main(arguments)
        return left.value.code if isinstance(left.value.code, int) else 0

    return command


@pytest.fixture
def people(scratch_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    with psycopg.connect(scratch_url) as connection:
        connection.execute(TABLES)
    monkeypatch.setenv(ROLE_URL, scratch_url)
    return scratch_url


@pytest.mark.usefixtures("people")
def test_init_writes_a_policy_once(tmp_path: Path, run: Run, capsys: Capture) -> None:
    output = tmp_path / "policy.toml"
    assert run("policy", "init", "--name", "people", "--output", str(output)) == 0
    written = output.read_text()
    assert "person" in written and "env:NOISEGATE_DATABASE_URL" in written
    assert "200" not in written, "no observed value"
    out, err = capsys.readouterr()
    assert out == "" and "policy check" in err

    for files in ("csv:///.", "duckdb:///visit.csv"):
        assert run("policy", "init", "--url", files, "--output", str(tmp_path / "other.toml")) == 2
        assert "TO 'visit.parquet'" in capsys.readouterr().err
    output.write_text("mine")
    assert run("policy", "init", "--output", str(output)) == 2
    assert "--force" in capsys.readouterr().err and output.read_text() == "mine"
    assert run("policy", "init", "--name", "people", "--output", str(output), "--force") == 0
    assert output.read_text() == written


def test_init_names_the_secret_that_it_was_given(people: str, tmp_path: Path, run: Run) -> None:
    (tmp_path / "url").write_text(people)
    assert run("policy", "init", "--url", "file:url", "--output", str(tmp_path / "policy.toml")) == 0
    policy = parse_policy((tmp_path / "policy.toml").read_text())
    assert policy.name in people and policy.database_url == "file:url"


def test_check_warns_of_values_that_answers_see_clamped(
    people: str, tmp_path: Path, run: Run, capsys: Capture
) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(POLICY)
    assert run("policy", "check", str(path)) == 0
    out, err = capsys.readouterr()
    assert re.search(r"warning +person\.age +1 +outside the range \[0, 120\]", out)
    assert "errors 0, warnings 1" in err
    with psycopg.connect(people) as connection:
        connection.execute("UPDATE person SET age = 30")
    assert run("policy", "check", str(path)) == 0
    out, err = capsys.readouterr()
    assert out == "" and "errors 0, warnings 0" in err


@pytest.mark.usefixtures("people")
@pytest.mark.slow
@pytest.mark.parametrize("vector", [(), ("--vector",)])
def test_verify_compares_both_solvers_on_a_question(
    vector: tuple[str, ...], tmp_path: Path, run: Run, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(POLICY)
    question = ("verify", "SELECT count(*), sum(age) FROM person", "--policy", str(path), *vector)
    assert run(*question) == 0
    out, err = capsys.readouterr()
    assert "count(*)" in out and "sum(age)" in out
    assert re.search(r"thresholds \d{2}, beyond the gap 0, too large for cvxpy 0", err)
    assert not (tmp_path / "ledger.sqlite").exists(), "nothing is charged"

    removed, points = ReferenceVectorSolver.in_shares, ReferenceSolver.points
    monkeypatch.setattr(ReferenceVectorSolver, "in_shares", lambda *asked: removed(*asked) + 1)
    monkeypatch.setattr(ReferenceSolver, "points", lambda *asked: ((x * 0.5, y) for x, y in points(*asked)))
    assert run(*question) == 1
    assert "beyond the gap" in capsys.readouterr().out
    assert run("verify", "SELECT count(distinct age) FROM person", "--policy", str(path)) == 2


@pytest.mark.usefixtures("people")
def test_check_warns_of_a_key_file_that_is_not_there(tmp_path: Path, run: Run, capsys: Capture) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(POLICY.replace("[ledger]", '[ledger]\nquestion_key_file = "no.key"'))
    assert run("policy", "check", str(path)) == 0
    out, err = capsys.readouterr()
    assert re.search(r"warning +question_key_file +There is no question key file no.key", out)
    assert "next, for question_key_file: noisegate ledger new-question-key FILE makes one" in err


@pytest.mark.usefixtures("people")
def test_check_warns_of_a_draft_and_of_deltas_that_nobody_has(tmp_path: Path, run: Run, capsys: Capture) -> None:
    path = tmp_path / "policy.toml"
    assert run("policy", "init", "--output", str(path)) == 0
    assert run("policy", "check", str(path)) == 0
    assert re.search(r"warning +policy +this is the undecided draft", capsys.readouterr().out)
    path.write_text(POLICY.replace("range = [0, 120]", "discover = true"))
    run("policy", "check", str(path))
    assert re.search(r"warning +privacy\.delta +person\.age allow partition", capsys.readouterr().out)
    path.write_text(POLICY.replace("max_epsilon = 2.0", "max_epsilon = 2.0\ndelta = 1e-7"))
    assert run("analyst", "add", "ada", "--policy", str(path), "--epsilon", "1", "--delta", "0") == 0
    capsys.readouterr()
    assert run("policy", "check", str(path)) == 0
    assert re.search(r"warning +analyst:ada +has a delta of 0", capsys.readouterr().out)


BOUGHT = """
[[foreign_keys]]
table = "purchase"
columns = ["person_id"]
references = "person"
key = ["id"]
[tables.purchase]
keys = ["id"]
"""


def test_a_nightly_job_fails_only_for_what_stops_answers(
    people: str, tmp_path: Path, run: Run, capsys: Capture
) -> None:
    """Orphans and values out of range are counted and go on; a shared key stops, and its hint lists the rows."""
    path = tmp_path / "policy.toml"
    path.write_text(POLICY + BOUGHT)
    job = ("data", "bump", "--check", "--policy", str(path), "--reason", "a night")
    with psycopg.connect(people, autocommit=True) as connection:
        connection.execute("CREATE TABLE purchase (id bigint, person_id bigint)")
        connection.execute("INSERT INTO purchase VALUES (1, 1), (2, 2), (3, 77)")
        assert run("analyst", "add", "ada", "--policy", str(path), "--epsilon", "1") == 0
        capsys.readouterr()
        assert run(*job) == 0
        out, err = capsys.readouterr()
        assert out == "2\n" and "errors 1, warnings 1" in err and "Nothing of that stops answers" in err
        assert "error: purchase.person_id: 1 have no row in person" in err
        assert "data version 2: purchase (id) are unique" in err, "the bump left nothing to be run"
        connection.execute("INSERT INTO purchase VALUES (3, 1)")
        assert run(*job) == 1
        out, err = capsys.readouterr()
        assert out == "3\n" and "this stops answers, or the next start of a proxy: purchase.id" in err
        listing = re.search(r"next, for purchase.id: .*(SELECT .* > 1) lists them", err)
        assert listing is not None and connection.execute(listing[1].encode()).fetchall() == [(3, 2)]
        connection.execute("DELETE FROM purchase WHERE id = 3")
        assert run("policy", "check", str(path)) == 0
        assert "data version 3: purchase (id) are unique" in capsys.readouterr().err
        path.write_text(path.read_text().replace("age = {", "aged = {"))
        assert run(*job) == 1, "no proxy starts"
        written = path.read_text()
        path.write_text(written.replace("env:NOISEGATE", "env:NOT_THE_NOISEGATE"))
        assert run(*job) == 2 and run("data", "version", "--policy", str(path)) == 0
        assert capsys.readouterr().out == "4\n4\n", "what cannot be checked is not begun"
        path.write_text(written)
        assert run("data", "bump", "--check", "--policy", str(path), "--reason", "a night") == 1
        assert "of a proxy: tables.person.columns.aged" in capsys.readouterr().err


@pytest.mark.usefixtures("people")
def test_check_prints_errors_and_leaves_with_1(tmp_path: Path, run: Run, capsys: Capture) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(POLICY.replace("age = {", "aged = {"))
    assert run("policy", "check", str(path)) == 1
    out, err = capsys.readouterr()
    assert re.search(r"error +tables\.person\.columns\.aged", out) and "did you mean age?" in out
    assert "errors 1, warnings 0" in err


@pytest.mark.parametrize("command", [pytest.param(("policy", "check"), marks=pytest.mark.slow), ("serve",)])
def test_a_database_that_is_not_there(
    command: tuple[str, ...], tmp_path: Path, run: Run, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(POLICY)
    port = ("--port", "0", "--no-wire") if command == ("serve",) else ()
    assert run(*command, str(path), *port) == 2
    assert ROLE_URL in capsys.readouterr().err, "the variable is not set"
    monkeypatch.setenv(ROLE_URL, "postgresql://ada:hunter2@127.0.0.1:1/none")
    assert run(*command, str(path), *port) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ") and "hunter2" not in err


@pytest.mark.usefixtures("people")
def test_serve_refuses_an_owner(tmp_path: Path, run: Run, capsys: Capture) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(POLICY)
    assert run("serve", str(path), "--port", "0", "--no-wire") == 2
    message, hint = capsys.readouterr().err.splitlines()
    assert "more than SELECT" in message and hint.startswith("hint: ")


def test_serve_says_at_once_that_a_port_is_taken(tmp_path: Path, run: Run, capsys: Capture) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(POLICY)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run("serve", str(path), "--port", str(port), "--no-wire") == 2
    assert f"127.0.0.1:{port}" in capsys.readouterr().err


@contextmanager
def serving(policy: Path, url: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """`noisegate serve` on a free port; yields the address that it prints, and the process."""
    command = [sys.executable, "-m", "server.cli.main", "serve", str(policy), "--port", "0", "--no-wire"]
    with subprocess.Popen(
        command,
        env=os.environ | {ROLE_URL: url},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        try:
            said, match = "", None
            while match is None and (line := process.stderr.readline()):  # it says first that it is starting
                said += line
                match = re.search(r"http://127\.0\.0\.1:\d+", line)
            assert match is not None, said
            yield match[0], process
        finally:
            process.kill()


@pytest.mark.slow
def test_from_a_first_analyst_to_an_answer_to_a_stop(
    tpch_url: str, tmp_path: Path, run: Run, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(DEMO_POLICY.read_text())
    assert run("analyst", "add", "ada", "--policy", str(policy), "--epsilon", "1.5") == 0
    monkeypatch.setenv("NOISEGATE_KEY", capsys.readouterr().out.strip())
    with serving(policy, tpch_url) as (address, process):
        assert httpx.get(f"{address}/health").status_code == 200
        monkeypatch.setenv("NOISEGATE_URL", address)
        assert run("explain", "SELECT count(*) FROM orders") == 0
        assert "o_custkey" in capsys.readouterr().out
        assert run("query", "SELECT count(*) FROM orders") == 0
        assert "Left: epsilon 0.5 of epsilon 1.5." in capsys.readouterr().out
        assert run("query", "SELECT count(*) FROM orders") == 0, "it is kept, and free"
        assert "Left: epsilon 0.5 of epsilon 1.5." in capsys.readouterr().out
        assert run("query", "SELECT count(*) FROM lineitem") == 3
        assert "error PD001" in capsys.readouterr().err
        assert run("query", "SELECT o_orderkey FROM orders LIMIT (SELECT 1)") == 1
        assert "^" in capsys.readouterr().err
        monkeypatch.setenv("NOISEGATE_KEY", "ng_wrong")
        assert run("query", "SELECT count(*) FROM orders") == 2
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0
    assert out == "", "the log and messages go to stderr"
    assert err.endswith("Stopped.\n") and "Traceback" not in err
