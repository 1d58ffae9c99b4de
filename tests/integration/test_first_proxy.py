"""`noisegate init` on a pseudo terminal: four questions, a running proxy and a first answer; or nothing is left."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from planner.policy.policy import parse_policy
from server.backends.embedded import EmbeddedPostgres
from server.cli.commands import first_proxy
from tests.support.hospital import ROLE, write_hospital
from tests.support.seeds import examples

_LIMIT_S = 300.0


def _hears_interrupts() -> None:
    """Who runs the tests in the background of a shell ignores Ctrl-C, and so would what they start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Terminal:
    """`noisegate init` on a pseudo terminal, without a database in its environment."""

    def __init__(self, folder: Path, *options: str) -> None:
        self._side, there = pty.openpty()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("NOISEGATE")}
        environment |= {"TERM": "dumb", "COLUMNS": "200", "PYTHONPATH": str(Path.cwd())}
        command = [sys.executable, "-m", "server.cli.main", "init", "--port", "0", "--no-wire", *options]
        self.process = subprocess.Popen(
            command, stdin=there, stdout=there, stderr=there, env=environment, cwd=folder, start_new_session=True,
            preexec_fn=_hears_interrupts,
        )  # fmt: skip
        os.close(there)
        self._text, self._seen = "", 0

    def answer(self, question: str, words: str) -> None:
        self.shows(question)
        os.write(self._side, f"{words}\n".encode())

    def shows(self, wanted: str) -> str:
        """Wait for the text, from where the last one ended; returns what came up to its end."""
        end = time.monotonic() + _LIMIT_S
        while time.monotonic() < end:
            found = re.search(wanted, self._text[self._seen :])
            if found is not None:
                said = self._text[self._seen : self._seen + found.end()]
                self._seen += found.end()
                return said
            if not self._more():
                break
        raise AssertionError(f"{wanted!r} is not in {self._text[self._seen :]!r}")

    def interrupt(self) -> None:
        """What Ctrl-C sends: to all of the terminal's foreground."""
        os.killpg(self.process.pid, signal.SIGINT)

    def interrupt_until_it_ends(self) -> None:
        """As who presses Ctrl-C again: Python misses one that comes as it begins to read from a terminal."""
        end = time.monotonic() + _LIMIT_S
        while time.monotonic() < end and self.process.poll() is None:
            with suppress(ProcessLookupError):
                self.interrupt()
            pressed = time.monotonic()
            while self._more() and time.monotonic() < pressed + 5:
                pass

    def ends(self) -> int:
        """Read until it ends; its exit code."""
        end = time.monotonic() + _LIMIT_S
        while time.monotonic() < end and self._more():
            pass
        return self.process.wait(timeout=_LIMIT_S)

    @property
    def text(self) -> str:
        return self._text

    def _more(self) -> bool:
        try:
            ready, _, _ = select.select([self._side], [], [], 1.0)
            read = os.read(self._side, 65_536) if ready else b""
        except OSError:  # the other side is closed
            return False
        self._text += read.decode(errors="replace").replace("\r\n", "\n")
        return bool(ready) or self.process.poll() is None

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self._side)


@contextmanager
def terminal(folder: Path, *options: str) -> Iterator[Terminal]:
    opened = Terminal(folder, *options)
    try:
        yield opened
    finally:
        opened.close()


@pytest.fixture
def reader(scratch_url: str, embedded_postgres: EmbeddedPostgres) -> str:
    """A hospital's URL as a role that may only read."""
    with psycopg.connect(scratch_url) as owner:
        write_hospital(owner, 300, schemas=False)
        name = owner.info.dbname
    return embedded_postgres.url(ROLE, name)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "mine"
    made.mkdir()
    return made


def test_questions_are_asked_again_and_ctrl_c_leaves_nothing(reader: str, scratch_url: str, folder: Path) -> None:
    """The short form of the test below: a role that may write, a table that is not there; nothing is started."""
    with terminal(folder) as session:
        session.answer("database's URL", scratch_url)
        session.shows("may do more than SELECT")
        session.answer("database's URL", reader)
        session.answer(r"\[patient\]", "patent")
        session.shows("did you mean patient")
        session.answer(r"\[patient\]", "patient")
        session.answer("first analyst", "ada")
        session.shows(r"budget.*\[10\]")
        session.interrupt_until_it_ends()
        assert session.ends() != 0 and "Traceback" not in session.text
    assert list(folder.iterdir()) == []


@pytest.mark.slow
def test_four_questions_end_with_a_running_proxy_and_a_first_answer(
    reader: str, scratch_url: str, folder: Path
) -> None:
    """Wrong answers are asked for again: no URL, a role that may write, a table that is not there, no number."""
    with terminal(folder) as session:
        session.answer("database's URL", "localhost")
        session.shows("this is no URL")
        session.answer("database's URL", scratch_url)
        session.shows("may do more than SELECT")
        session.answer("database's URL", reader)
        session.answer(r"one row per person \(patient, .*\[patient\]", "patent")
        session.shows("did you mean patient")
        session.answer(r"\[patient\]", "")
        session.answer("first analyst", "ada")
        session.answer(r"budget.*\[10\]", "ten")
        session.answer(r"\[10\]", "")
        address = re.search(r"http://[\d.]+:\d+", session.shows(r"listens on \S+"))
        session.shows(r'SELECT count\(\*\) FROM "public"\."patient"')
        answer = session.shows(r"Left:\s+epsilon\s+9.5,\s+delta\s+1e-06\s+of\s+epsilon\s+10,\s+delta\s+1e-06\.")
        assert re.search(r"\n\s*\d{2,3}\s+\S+ to \S+", answer), answer
        key = re.search(r"ng_\S+", session.shows(r"ng_\S+\n"))
        session.shows("runs until Ctrl-C")
        assert address is not None and key is not None
        headers = {"Authorization": f"Bearer {key[0]}"}
        assert httpx.get(f"{address[0]}/v1/budget", headers=headers).json()["epsilon_left"] == 9.5
        session.interrupt()
        assert session.ends() == 0
        assert "Traceback" not in session.text
    policy = parse_policy((folder / "policy.toml").read_text())
    assert policy.database_url == "file:database.url" and dict(policy.privacy_units) == {"patient": ("id",)}
    assert stat.S_IMODE((folder / "database.url").stat().st_mode) == 0o600
    assert (folder / "ledger.sqlite").exists()
    with terminal(folder) as again:
        assert again.ends() == 2
        assert "policy.toml exists already" in again.text and "hint" in again.text


def run(folder: Path, url: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Without a terminal: every answer is an option."""
    environment = {**os.environ, "NOISEGATE_DATABASE_URL": url, "PYTHONPATH": str(Path.cwd())}
    command = [sys.executable, "-m", "server.cli.main", "init", "--no-wire", "--stop", *options]
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
        check=False,
    )


ANSWERS = ("--url", "env:NOISEGATE_DATABASE_URL", "--people", "patient", "--analyst", "ada", "--epsilon", "10")


@pytest.mark.slow
def test_without_a_terminal_options_answer(reader: str, folder: Path) -> None:
    done = run(folder, reader, *ANSWERS, "--port", "0")
    assert done.returncode == 0, done.stderr
    assert "Left: epsilon 9.5" in done.stdout and re.search(r"^ng_\S+$", done.stdout, re.MULTILINE)
    assert 'url = "env:NOISEGATE_DATABASE_URL"' in (folder / "policy.toml").read_text()
    assert not (folder / "database.url").exists(), "the secret stays where it was"
    done = run(folder, reader, *ANSWERS[:-2], "--output", str(folder / "other" / "policy.toml"))
    assert done.returncode == 2 and "--epsilon is missing" in done.stderr


def test_a_role_that_sees_another_schema_is_told_what_to_grant(scratch_url: str, folder: Path) -> None:
    """The statements are run as they were printed, one after the other, until it is the policy's turn."""
    with psycopg.connect(scratch_url, autocommit=True) as owner:
        for statement in (
            "DO $$ BEGIN CREATE ROLE sees_little LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$",
            "CREATE SCHEMA care",
            "CREATE TABLE care.patient (patient_id bigint PRIMARY KEY)",
            "CREATE TABLE care.visit (visit_id bigint)",
            "CREATE SCHEMA ref",
            "CREATE TABLE ref.ward (code text PRIMARY KEY)",
            "CREATE TABLE public.schema_migrations (version text)",
            "CREATE TABLE public.note (text text)",
            "GRANT SELECT ON public.note TO sees_little",
        ):
            owner.execute(statement)
        url = scratch_url.replace(owner.info.user, "sees_little", 1)
        asked = [part if part != "patient" else "ward" for part in ANSWERS]
        done = run(folder, url, *asked, "--port", "0")
        assert done.returncode == 2 and "role can read no table ward" in done.stderr
        granted = re.search(r"run as the database's owner: (.*)$", done.stderr, re.MULTILINE)
        assert granted is not None and "schema_migrations" not in granted[1]
        owner.execute(granted[1].encode())
        owner.execute("REVOKE ALL ON public.note, care.visit, ref.ward FROM sees_little")
        done = run(folder, url, *asked[:3], "paient", *asked[4:], "--port", "0")
        assert "did you mean care.patient?" in done.stderr
        assert "; for others: GRANT SELECT ON care.visit TO sees_little; GRANT" in done.stderr, "not the patients"
        owner.execute("REVOKE ALL ON ALL TABLES IN SCHEMA care FROM sees_little")
        done = run(folder, url, *asked, "--port", "0")
        assert done.returncode == 2 and "the role can read no table" in done.stderr
        assert "GRANT SELECT ON ALL TABLES IN SCHEMA care TO sees_little;" in done.stderr
        owner.execute("DROP SCHEMA care, ref CASCADE; DROP TABLE note, schema_migrations")
        done = run(folder, url, *asked, "--port", "0")
        assert "the database has no tables" in done.stderr and "needs .parquet files" in done.stderr
    assert list(folder.iterdir()) == []


def below(process: int) -> set[int]:
    """The processes that one has started, and those that they have started."""
    try:
        found = {int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()}
    except OSError:
        return set()
    return found.union(*map(below, found))


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_who_is_told_to_stop_stops_the_proxy_that_it_starts(
    reader: str, folder: Path, number: signal.Signals
) -> None:
    """While the proxy starts, or as its terminal is closed: nothing runs on, and nothing that was written is left."""
    environment = {**os.environ, "NOISEGATE_DATABASE_URL": reader, "PYTHONPATH": str(Path.cwd())}
    command = [sys.executable, "-m", "server.cli.main", "init", "--no-wire", *ANSWERS, "--port", "0"]
    with (folder.parent / "said").open("w") as said:
        asking = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=said
        )
    started: set[int] = set()
    try:
        end = time.monotonic() + _LIMIT_S
        while not started and time.monotonic() < end and asking.poll() is None:
            started = below(asking.pid)
            time.sleep(0.05)
        assert started, (folder.parent / "said").read_text()
        asking.send_signal(number)
        assert asking.wait(_LIMIT_S) != 0
        while any(map(is_alive, started)) and time.monotonic() < end + _LIMIT_S:
            time.sleep(0.05)  # the template ends a moment after its proxy
        assert not list(filter(is_alive, started))
        assert list(folder.iterdir()) == []
    finally:
        asking.kill()
        for process in filter(is_alive, started):
            os.kill(process, signal.SIGKILL)


def test_an_interrupt_as_the_proxy_is_started_stops_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of three signals, at the worst moment: the process runs, and nobody has its name yet."""
    began: list[subprocess.Popen[str]] = []
    numbers = signal.SIGINT, signal.SIGTERM, signal.SIGHUP

    def interrupted(command: list[str], **options: Any) -> subprocess.Popen[str]:
        began.append(made([sys.executable, "-c", "import time; time.sleep(600)"], **options))
        os.kill(os.getpid(), numbers[len(began) - 1])
        return began[-1]

    made = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for _ in numbers:
            with (
                pytest.raises(KeyboardInterrupt),
                first_proxy._stopped_by_signals(),
                first_proxy._proxy(tmp_path / "policy.toml", []),
            ):
                raise AssertionError("it goes on")
            assert began[-1].poll() is not None
            end = time.monotonic() + _LIMIT_S
            while not (began[-1].stderr is None or began[-1].stderr.closed) and time.monotonic() < end:
                time.sleep(0.01)  # its messages are read to their end
    finally:
        signal.signal(signal.SIGINT, before)
        for one in began:
            one.kill()
    assert len(began) == 3


@pytest.mark.slow
def test_a_step_that_fails_leaves_nothing_and_says_what_to_do(reader: str, folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run(folder, reader, *ANSWERS, "--port", str(taken.getsockname()[1]))
    assert done.returncode == 2
    assert "cannot listen" in done.stderr and "choose another --port" in done.stderr
    assert "all files that were written are removed" in done.stderr
    assert list(folder.iterdir()) == []
    for wrong, told in (
        (("--people", "access_log"), "no primary key"),
        (("--people", "paitent"), "did you mean patient? the tables that the role can read: patient, "),
        (("--url", "postgresql://ada:hunter2@127.0.0.1/x"), "env:NAME or file:PATH"),
        (("--analyst", "a b"), "An analyst's name"),
        (("--epsilon", "-1"), "epsilon"),
    )[: examples(1, 5)]:
        done = run(folder, reader, *ANSWERS, *wrong, "--port", "0")
        assert done.returncode == 2 and told in done.stderr and "hunter2" not in done.stderr, done.stderr
        assert list(folder.iterdir()) == []


@pytest.mark.slow
def test_what_has_to_be_decided_first_is_said(
    scratch_url: str, embedded_postgres: EmbeddedPostgres, folder: Path
) -> None:
    """Two tables that own one another in a circle: only the custodian knows which key owns."""
    with psycopg.connect(scratch_url) as owner:
        write_hospital(owner, 5, schemas=False)
        owner.execute(
            b"ALTER TABLE doctor ADD last bigint REFERENCES lab_result (id);"
            b"ALTER TABLE lab_result ADD seen_by uuid REFERENCES doctor (id)"
        )
        url = embedded_postgres.url(ROLE, owner.info.dbname)
    done = run(folder, url, *ANSWERS, "--port", "0")
    assert done.returncode == 2 and "in a circle" in done.stderr and "policy init" in done.stderr
    assert list(folder.iterdir()) == []
