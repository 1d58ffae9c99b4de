"""The steps of docs/ with a hospital of several schemas: statements and commands as they stand, to a first answer.

Everything else is a decision of the administrator that the draft's comments ask for, or a line that the program
printed: each grant and each acknowledgement is copied from its output.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
import typer
from typer.core import TyperGroup
from typer.main import get_command

from planner.policy.policy import parse_policy
from server.backends.embedded import EmbeddedPostgres
from server.cli.main import app, main
from server.demo.workplace import Demonstration
from tests.support.hospital import Hospital, write_hospital
from tests.support.wire_proxy import WireProxy, wire_proxy

DOCS = Path(__file__).parents[2] / "docs"
WAY = ("first-policy.md", "answers.md", "operating.md")
STEPS = "".join((DOCS / page).read_text() for page in WAY)
PROGRAM = "noisegate "
DATABASE, DATASET, ROLE = "walked-hospital", "walked_hospital", "noisegate_of_the_walk"

Capture = pytest.CaptureFixture[str]

DECISIONS = {
    r'"clinic.(doctor|lab_result)" = "id"\n|"ref.\w+" = "\w+"\n': "",  # who is no person
    r'(\[tables."(?:ref.\w+|clinic.doctor)"\]\n)# public': r"\1public",
    r'# (\[tables."clinic.visit".columns\])': r"\1",
    r"# admitted_at = .*\n(# discharged_at)": r'admitted_at = { range = [2021-01-01, 2025-12-31], step = "day" }\n\1',
    r"# cost = .*": 'cost = { range = [0, 20000] }\nward = { domain = ["A", "B", "C"] }',
}
"""What the administrator writes where the draft asks; of the visits' costs and wards."""


def blocks(kind: str) -> list[str]:
    """The pages' fenced blocks of one kind."""
    return re.findall(rf"(?m)^```{kind}\n(.*?)\n```", STEPS, re.DOTALL)


def commands(words: str = "") -> list[str]:
    """The pages' command lines that hold some words; one that goes on on the next line is one."""
    lines = re.sub(r"\\\n\s*", "", "\n".join(blocks("console"))).splitlines()
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ") and words in line]


@dataclass(frozen=True)
class Walk:
    """A folder in which an administrator sits."""

    place: Demonstration
    written: Hospital
    capsys: Capture

    def step(self, line: str, *more: str, code: int = 0) -> tuple[str, str]:
        """Run one of the pages' commands; what it printed, and what it told."""
        arguments = shlex.split(line.removeprefix(PROGRAM), comments=True)
        with pytest.raises(SystemExit) as left:
            main([*arguments, *more])
        out, told = self.capsys.readouterr()
        assert (left.value.code or 0) == code, (line, out, told)
        return out, told


@pytest.fixture(scope="module")
def hospital(
    embedded_postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Demonstration, Hospital]]:
    """A hospital whose visits have the pages' column `ward`; nobody but its owner may read it yet."""
    with psycopg.connect(embedded_postgres.url(), autocommit=True) as connection:
        connection.execute(f'DROP DATABASE IF EXISTS "{DATABASE}" WITH (FORCE)'.encode())
        connection.execute(f'CREATE DATABASE "{DATABASE}"'.encode())
        connection.execute(f"DROP ROLE IF EXISTS {ROLE}".encode())
        owner_url = embedded_postgres.url(database=DATABASE)
        with psycopg.connect(owner_url) as owner:
            written = write_hospital(owner, 400)
            owner.execute("ALTER TABLE clinic.visit ADD ward text NOT NULL DEFAULT 'A'")
        folder = tmp_path_factory.mktemp("walk")
        yield Demonstration(folder, embedded_postgres, owner_url, embedded_postgres.url(ROLE, DATABASE)), written
        for name in (DATABASE, DATASET):
            connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)'.encode())
        connection.execute(f"DROP ROLE {ROLE}".encode())


@pytest.fixture
def walk(hospital: tuple[Demonstration, Hospital], capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> Walk:
    place, written = hospital
    monkeypatch.chdir(place.folder)
    monkeypatch.setenv("NOISEGATE_DATABASE_URL", place.proxy_url)
    return Walk(place, written, capsys)


def granted(owner_url: str, statements: str) -> None:
    with psycopg.connect(owner_url) as owner:
        owner.execute(re.sub(r"\bnoisegate\b", ROLE, statements).encode())


def acknowledged(policy: str, told: str) -> str:
    """The policy with each line that the check named, under the header that it named."""
    for line, place in re.findall(r"add `(accepted_null_owners = \d+)` to (\[tables\.\S+\]),", told):
        assert policy.count(f"\n{place}\n") == 1, place
        policy = policy.replace(f"\n{place}\n", f"\n{place}\n{line}\n")
    for line, table in re.findall(r"add `(accepted_orphans = \d+)` to the \[\[foreign_keys\]\] of (\S+) ", told):
        found = re.search(rf'\n\[\[foreign_keys\]\]\ntable = "{re.escape(table)}"\n', policy)
        assert found is not None, table
        policy = f"{policy[: found.end()]}{line}\n{policy[found.end() :]}"
    return policy


@pytest.mark.clients
def test_the_steps_lead_from_a_database_to_answers(walk: Walk, monkeypatch: pytest.MonkeyPatch) -> None:
    """One walk, in the pages' order: what a step leaves is what the next one begins with."""
    _draft_and_check(walk)
    added = commands("analyst add")
    assert len(added) == 2
    key = walk.step(added[0])[0].strip()
    walk.step(added[1])
    monkeypatch.setenv("NOISEGATE_KEY", key)
    with wire_proxy(walk.place, walk.place.server, tls=False) as running:
        _ask(walk, running, key)
        _ask_as_analysts_do(running, key)
        _look_after(walk)


def _draft_and_check(walk: Walk) -> None:
    (grants,) = blocks("sql")
    granted(walk.place.owner_url, grants)
    draft, check = commands("policy init")[0], commands("policy check")[0]
    told = walk.step(draft)[1]
    assert "tables in it: 0, left out: 4" in told
    named = re.findall(
        r"GRANT USAGE ON SCHEMA \w+|GRANT SELECT ON ALL TABLES IN SCHEMA \w+", Path("policy.toml").read_text()
    )
    assert {grant.split()[-1] for grant in named} == {"clinic", "ref"} and len(named) == 4
    granted(walk.place.owner_url, ";".join(f"{grant} TO noisegate" for grant in named))
    told = walk.step(draft, "--force")[1]
    assert "tables in it: 8, left out: 3" in told
    policy = Path("policy.toml").read_text()
    assert parse_policy(policy).name == DATASET
    for asked, decided in DECISIONS.items():
        policy, count = re.subn(asked, decided, policy)
        assert count, asked
    policy = policy.replace("[privacy]\n", "[privacy]\nanswer_quantum = 0\n")
    walk.place.policy.write_text(policy)
    out, told = walk.step(check, code=1)
    assert "clinic.lab_result.patient_id" in out and str(walk.written.orphans["lab_result"]) in out
    assert "starts despite the other errors" in told, "an error of rows stops no proxy, and the check says so"
    walk.place.policy.write_text(acknowledged(policy, told))
    out, told = walk.step(check)
    assert "errors 0" in told and "acknowledged 4" in told
    assert "clinic.monthly_visits" not in out, "a view that is an answer is asked for its rows"


def _ask(walk: Walk, running: WireProxy, key: str) -> None:
    for line in commands("noisegate explain") + commands("noisegate query"):
        out, told = walk.step(line, "--url", running.http, *(["--yes"] if "--interval-width" in line else []))
        assert "count" in out + told, line
    assert "left" in walk.step(commands("noisegate budget")[0], "--url", running.http)[0]
    (line,) = commands("curl -H")
    line = line.replace("localhost:8432", running.http.removeprefix("http://"))
    done = _shell(line, key)
    assert '"rows":[[' in done and '"cached":true' in done, "the question that `noisegate query` asked before"
    psql, _ = commands("PGPASSWORD=")
    psql = (
        psql.split("#")[0]
        .replace("port=6432", f"port={running.port}")
        .replace("dbname=hospital", f"dbname={DATASET}")
    )
    typed = [line.removeprefix("hospital=> ") for block in blocks("console") for line in block.splitlines()
             if line.startswith("hospital=> ")]  # fmt: skip
    assert len(typed) == 3
    shown = _shell(f"{psql} -X -A -t", key, "\n".join(typed))
    assert re.search(r"^ward,count$", shown, re.MULTILINE) and re.search(r"^A,-?\d+$", shown, re.MULTILINE)


def _ask_as_analysts_do(running: WireProxy, key: str) -> None:
    """Of schemas other than `public`, views, the partitioned table and a search path of one's own, in one session."""
    psql = f'PGPASSWORD=$NOISEGATE_KEY psql "host=localhost port={running.port} dbname={DATASET} user=ada" -X -A -t'
    shown = _shell(
        psql,
        key,
        "\\dn\n\\dt\n\\d clinic.stay\nSET noisegate.epsilon = 0.2;\nSELECT count(*) > 0 FROM clinic.adult;\n"
        "SELECT ward, count(*) > -1000 FROM stay GROUP BY ward;\nSET search_path = ref;\n"
        'SELECT "Name" FROM ward WHERE id = 2;\nSELECT count(*) FROM visit;\n'
        "SELECT count(*) FROM clinic.visit_2024;\nSELECT count(*) FROM clinic.monthly_visits;\n"
        "SELECT details ->> 'triage', count(*) FROM clinic.visit GROUP BY 1;\n"
        "SELECT count(*) FROM clinic.visit v JOIN clinic.diagnosis d ON d.visit_id = v.id;\n"
        "EXPLAIN SELECT count(*) FROM clinic.visit;\n",
    )
    for expected in (
        "clinic|", "ref|", "clinic|visit|table", "ref|ward|table", "ward|text", "Surgery", "found by: clinic.patient",
        "there is no table 'visit'", "did you mean clinic.visit?", "the operator ->> is not supported",
        "clinic.diagnosis (visit_id, admitted_at) references clinic.visit (id, admitted_at)",
    ):  # fmt: skip
        assert expected in shown, (expected, shown)
    assert re.search(r"^Surgery\|[tf]$", shown, re.MULTILINE), "a view's groups, of a public table"
    assert re.search(r"^60$", shown, re.MULTILINE), "the rows of a view that is an answer: five years of months"
    assert "visit_2024|" not in shown, "a partition is its table's"


def _look_after(walk: Walk) -> None:
    lines = [line for line in commands("--reason") + commands("admin accounts") if "ledger restore" not in line]
    assert len(lines) == 8
    for line in lines:
        walk.step(line)
    verify, again = commands("ledger verify")
    head = walk.step(verify)[0].strip()
    walk.step(again.replace("3f7a...", head))
    walk.step(commands("ledger backup")[0])
    assert any(Path("backups/monday").iterdir())


def test_every_command_of_the_pages_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command line is read with its options, and not run; what it names is there."""
    monkeypatch.chdir(tmp_path)
    for name in ("policy.toml", "cert.pem", "key.pem"):
        (tmp_path / name).touch()
    (tmp_path / "backups" / "monday").mkdir(parents=True)
    lines = [line for line in commands() if line.startswith(PROGRAM)]
    assert len(lines) >= 18
    for line in lines:
        command, words = get_command(app), shlex.split(line.removeprefix(PROGRAM), comments=True)
        while isinstance(command, TyperGroup):
            found = command.get_command(typer.Context(command), words.pop(0))
            assert found is not None, line
            command = found
        command.make_context(line, words)  # which refuses an option that it does not have


def _shell(line: str, key: str, typed: str = "") -> str:
    done = subprocess.run(
        ["/bin/sh", "-c", line], input=typed, capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "NOISEGATE_KEY": key, "PAGER": "", "PSQL_PAGER": ""},
    )  # fmt: skip
    return done.stdout + done.stderr
