"""pgcli, on a terminal of its own where people's keys matter: completion and Ctrl-C."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from tests.e2e.clients.contract import COUNT_ABOVE, NEVER_ENDS, RUNNING_S, Client, Contract
from tests.e2e.clients.program import INSTALLED
from tests.support.wire_proxy import WireProxy

PGCLI = INSTALLED / "pgcli" / "bin" / "pgcli"
pytestmark = pytest.mark.skipif(not PGCLI.exists(), reason="pgcli is not installed (make clients)")

_TERMINAL = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07|[=>])")
_SQLSTATE = re.compile(r"SQLSTATE code: ([0-9A-Z]{5})")
_GAP = re.compile(r"\s{2,}")
"""Between the columns of its plain tables."""


class Pgcli(Client):
    """pgcli."""

    def command(self, *options: str) -> list[str]:
        return [
            str(PGCLI),
            self.proxy.conninfo(self.name, self.key),
            "--less-chatty",
            "--prompt",
            "ready> ",
            *options,
        ]

    def environment(self) -> dict[str, str]:
        home = self.proxy.demonstration.folder / "pgcli"
        settings = home / "pgcli"
        settings.mkdir(parents=True, exist_ok=True)
        (settings / "config").write_text("[main]\nverbose_errors = True\nenable_pager = False\n")
        return {**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": str(home), "TERM": "xterm", "PAGER": "cat"}

    def run(self, *options: str) -> str:
        """What it prints; `-t` leaves out everything but rows, errors too."""
        done = subprocess.run(
            self.command(*options),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env=self.environment(),
        )
        return done.stdout + done.stderr

    @contextmanager
    def terminal(self) -> Iterator[Terminal]:
        """pgcli as a person sees it."""
        above, below = pty.openpty()
        process = subprocess.Popen(
            self.command(), stdin=below, stdout=below, stderr=below, env=self.environment(), start_new_session=True
        )
        os.close(below)
        try:
            yield Terminal(above, process)
        finally:
            process.kill()
            process.wait()
            os.close(above)

    def tables(self) -> set[str]:
        return {line.split()[1] for line in self.run("-t", "-c", r"\dt").splitlines() if line.startswith("public")}

    def rows(self, statements: Sequence[str]) -> list[list[Sequence[object]]]:
        """A process for each, as its output has no mark between them."""
        return [
            [
                _GAP.split(line.strip())
                for line in self.run("-t", "-c", sql).splitlines()
                if re.search(r"^[0-9]|[0-9]\s*$", line)
            ]
            for sql in statements
        ]

    def prepared(self, values: Sequence[float]) -> list[object]:
        """It prepares nothing; the same text is the same question."""
        return [rows[0][0] for rows in self.rows([COUNT_ABOVE.format(value) for value in values])]

    def refusal(self, sql: str) -> str:
        found = _SQLSTATE.search(self.run("-c", sql))
        return "" if found is None else found[1]

    def cancelled(self) -> str:
        with self.terminal() as terminal:
            terminal.until("ready>")
            terminal.type(NEVER_ENDS + ";\r")
            time.sleep(RUNNING_S)
            terminal.interrupt()
            terminal.until("cancelled query")
            terminal.type("SELECT 41 + 1;\r")
            terminal.until("42")
        (code,) = self.refused_with()  # it says that it cancelled, not with what code
        return code


class Terminal:
    """The keyboard and the screen."""

    def __init__(self, descriptor: int, process: subprocess.Popen[bytes]) -> None:
        self._descriptor = descriptor
        self._process = process

    def interrupt(self) -> None:
        """Ctrl-C, as the system of a terminal passes it on while a statement runs."""
        self._process.send_signal(signal.SIGINT)

    def type(self, keys: str) -> None:
        os.write(self._descriptor, keys.encode())

    def until(self, words: str, timeout_s: float = 60.0) -> str:
        """What is shown up to `words`."""
        said = ""
        end = time.monotonic() + timeout_s
        while words not in said:
            readable, _, _ = select.select([self._descriptor], [], [], max(0.0, end - time.monotonic()))
            assert readable, f"{words} did not come, but {said[-500:]}"
            said += _TERMINAL.sub("", os.read(self._descriptor, 65536).decode(errors="replace"))
        return said


class TestPgcli(Contract):
    """The contract."""

    client = Pgcli


def test_completes_columns(wire: WireProxy) -> None:
    client = Pgcli(wire, 1.0)
    with client.terminal() as terminal:
        terminal.until("ready>")
        time.sleep(3)  # it reads the catalog in the background
        terminal.type("SELECT count(*) FROM orders WHERE o_orderd")
        assert "o_orderdate" in terminal.until("o_orderdate")
    assert client.left() == 1.0


def test_lists_the_database(wire: WireProxy) -> None:
    assert "demo" in Pgcli(wire, 1.0).run("-c", r"\l")
