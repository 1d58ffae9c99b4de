"""The shell on a pseudo terminal, as a person meets it: prompt, several lines, Tab, Ctrl-C, Ctrl-D, history."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.unit.server.cli.answers import BUDGET, SCALAR, refusal
from tests.unit.server.cli.conftest import KEY, FakeProxy
from tests.unit.server.cli.conftest import proxy as proxy
from tests.unit.server.cli.schemas import SCHEMA

_ESCAPES = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[=>]|\x1b\][^\x07]*\x07")
_LIMIT_S = 120.0
_POSITION_ASKED, _POSITION = b"\x1b[6n", b"\x1b[1;1R"

PROMPT = "demo=>"
_QUIET_S = 0.3

ENTER, TAB, CTRL_C, CTRL_D, UP = "\r", "\t", "\x03", "\x04", "\x1b[A"


class Terminal:
    """A process on a pseudo terminal."""

    def __init__(self, proxy: FakeProxy, history: Path) -> None:
        self._side, there = pty.openpty()
        fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        environment = {**os.environ, "NOISEGATE_HISTORY": str(history), "TERM": "xterm"}
        environment |= {"NOISEGATE_URL": proxy.url, "NOISEGATE_KEY": KEY}
        command = [sys.executable, "-m", "server.cli.main", "shell"]
        self.process = subprocess.Popen(
            command, stdin=there, stdout=there, stderr=there, env=environment, start_new_session=True
        )
        os.close(there)
        self._raw = b""
        self._seen = 0

    def type(self, keys: str) -> None:
        os.write(self._side, keys.encode())

    def shows(self, wanted: str) -> str:
        """Wait until it shows the text, from where the last one ended; returns what came with it."""
        end = time.monotonic() + _LIMIT_S
        while time.monotonic() < end:
            text = self._text()[self._seen :]
            if wanted in text:
                self._seen += text.index(wanted) + len(wanted)
                return text
            self._read(0.2)
        raise AssertionError(f"no {wanted!r} in {self._text()[self._seen :]!r}")

    def is_ready(self) -> None:
        """Wait for the prompt, and until nothing more is written: what is typed earlier is not yet the editor's."""
        self.shows(PROMPT)
        while self._read(_QUIET_S):
            pass
        self._seen = len(self._text())

    def coloured(self) -> bool:
        return re.search(rb"\x1b\[[0-9;]*m", self._raw) is not None

    def leave(self) -> int:
        end = time.monotonic() + _LIMIT_S
        while self.process.poll() is None and time.monotonic() < end:
            self._read(0.1)
        return self.process.wait(timeout=1)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._side)

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._side], [], [], seconds)
        if not ready:
            return False
        try:
            got = os.read(self._side, 65536)
        except OSError:  # how Linux says that the other side has closed
            return False
        self._raw += got
        for _ in range(got.count(_POSITION_ASKED)):
            os.write(self._side, _POSITION)
        return True

    def _text(self) -> str:
        return _ESCAPES.sub(b"", self._raw).decode(errors="replace").replace("\r", "")


Open = Callable[[], Terminal]


@pytest.fixture
def open_shell(proxy: FakeProxy, tmp_path: Path) -> Iterator[Open]:
    proxy.bodies = {"/v1/schema": json.dumps(SCHEMA), "/v1/budget": json.dumps(BUDGET)}
    proxy.answer(SCALAR)
    opened: list[Terminal] = []

    def made() -> Terminal:
        opened.append(Terminal(proxy, tmp_path / "state" / "history"))
        opened[-1].is_ready()
        return opened[-1]

    yield made
    for terminal in opened:
        terminal.close()


def statements(proxy: FakeProxy) -> list[object]:
    return [body["sql"] for path, _, body in proxy.requests if path == "/v1/query"]


def test_a_terminal_session_completes_asks_and_shows_the_answer(
    proxy: FakeProxy, open_shell: Open, tmp_path: Path
) -> None:
    terminal = open_shell()
    terminal.type("SELECT count(*)" + ENTER)
    terminal.shows("    ->")
    terminal.type("FROM ord" + TAB + ";" + ENTER)
    terminal.shows("1,234,567")
    terminal.is_ready()
    assert statements(proxy) == ["SELECT count(*)\nFROM orders"]
    terminal.type("SELECT nothing" + CTRL_C)
    terminal.is_ready()
    terminal.type("\\budget" + ENTER)
    terminal.shows("Left: epsilon 8.5")
    terminal.is_ready()
    assert terminal.coloured()
    terminal.type(CTRL_D)
    assert terminal.leave() == 0
    assert len(statements(proxy)) == 1, "what Ctrl-C forgot was never sent"
    history = tmp_path / "state" / "history"
    assert history.stat().st_mode & 0o777 == 0o600
    assert "+SELECT count(*)\n+FROM orders;" in history.read_text()

    again = open_shell()
    again.type(UP + UP + ENTER)  # past \budget
    again.shows("1,234,567")
    again.is_ready()
    again.type("\\q" + ENTER)
    assert again.leave() == 0
    assert statements(proxy)[1] == "SELECT count(*)\nFROM orders"


@pytest.mark.slow
def test_ctrl_c_cancels_a_long_question_and_the_shell_goes_on(proxy: FakeProxy, open_shell: Open) -> None:
    job = {"id": "j1", "state": "running", "elapsed_s": 1.0}
    proxy.next = {
        "/v1/query": [(202, job)],
        "/v1/jobs/j1": [(200, job)],
        "/v1/jobs/j1/result": [(504, refusal("57014", "you cancelled it"))],
    }
    terminal = open_shell()
    terminal.type("SELECT 1;" + ENTER)
    terminal.shows("Answering, ")
    terminal.process.send_signal(signal.SIGINT)
    terminal.shows("Cancelling, ")
    proxy.next["/v1/jobs/j1"] = [(200, {**job, "state": "done"})]
    terminal.shows("you cancelled it")
    terminal.is_ready()
    assert [path for path, _, _ in proxy.requests].count("DELETE /v1/jobs/j1") == 1
    terminal.type("\\q" + ENTER)
    assert terminal.leave() == 0
