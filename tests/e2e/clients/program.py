"""A client in another language: a program that is told what to do by its arguments and answers in JSON."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.e2e.clients.contract import BUDGET, COUNT_ABOVE, NEVER_ENDS, RUNNING_S, Client

PROGRAMS = Path(__file__).parent / "programs"
INSTALLED = Path(".noisegate") / "clients"
"""Where `make clients` puts what is not Debian's and not for .venv."""

PYTHON = INSTALLED / "python"
"""The environment of the clients in Python that want other versions than the proxy, or much beside themselves."""

_TIMEOUT_S = 240
_SEEN_S = 20.0
"""How long the proxy has to see that a client is gone."""


def needs(present: bool, packages: str) -> pytest.MarkDecorator:
    """Skip where something is not installed."""
    return pytest.mark.skipif(not present, reason=f"not installed (make clients): {packages}")


def of_python(module: str) -> bool:
    """Is a module in the environment of the clients in Python?"""
    return any((PYTHON / "lib").glob(f"python3*/site-packages/{module}"))


class ProgramClient(Client):
    """Runs a program per task: `command` with the task's name and its arguments, and where to connect in `NG_*`."""

    placeholder = "?"

    @abstractmethod
    def command(self) -> Sequence[str]:
        """The program."""

    def environment(self) -> Mapping[str, str]:
        """More for its environment."""
        return {}

    @property
    def place(self) -> dict[str, str]:
        """Its environment."""
        place = {
            "NG_PORT": str(self.proxy.port),
            "NG_USER": self.name,
            "NG_PASSWORD": self.key,
            "NG_AUTHORITY": str(self.proxy.authority.resolve()),
            "NG_RUNNING_MS": str(round(RUNNING_S * 1000)),
        }
        return {**os.environ, **place, **self.environment()}

    def do(self, task: str, arguments: Sequence[object] = ()) -> Any:
        """What the program made of a task."""
        done = subprocess.run(
            [*self.command(), task, *map(str, arguments)],
            env=self.place,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def tables(self) -> set[str]:
        return set(self.do("tables"))

    def rows(self, statements: Sequence[str]) -> list[list[Sequence[object]]]:
        found: list[list[Sequence[object]]] = self.do("rows", statements)
        return found

    def prepared(self, values: Sequence[float]) -> list[object]:
        found: list[object] = self.do("prepared", [COUNT_ABOVE.format(self.placeholder), *values])
        return found

    def refusal(self, sql: str) -> str:
        return str(self.do("refusal", [sql]))

    def cancelled(self) -> str:
        return str(self.do("cancelled", [NEVER_ENDS]))


class PythonClient(ProgramClient):
    """A program that runs in the environment of the clients in Python."""

    program: str

    def command(self) -> Sequence[str]:
        return (str(PYTHON / "bin" / "python"), str(PROGRAMS / self.program))


class NodeClient(ProgramClient):
    """A program of Node.js with the modules of a folder of its own.

    Attributes:
      folder: below `INSTALLED`, where npm has installed the module.
    """

    program: str
    folder: str

    def command(self) -> Sequence[str]:
        node = shutil.which("node")
        assert node is not None, "skipped otherwise"
        return (node, str(PROGRAMS / self.program))

    def environment(self) -> Mapping[str, str]:
        return {"NG_MODULES": str((INSTALLED / self.folder).resolve())}


def of_node(folder: str, module: str) -> bool:
    """Is a module of Node.js installed, and Node.js itself?"""
    return shutil.which("node") is not None and (INSTALLED / folder / "node_modules" / module).is_dir()


class RowsOnly(ProgramClient):
    """A program that puts each statement into another, where no SHOW can stand: another client says what is left."""

    def left(self) -> float:
        with psycopg.connect(self.proxy.conninfo(self.name, self.key), autocommit=True) as connection:
            row = connection.execute(BUDGET).fetchone()
        assert row is not None
        return float(row[2])


class Wordless(RowsOnly):
    """A program that also passes on the words of an error and no SQLSTATE, and cannot cancel.

    So the proxy's log says what it was refused with, and what runs is cancelled as its users cancel it: by ending the
    program.
    """

    def refusal(self, sql: str) -> str:
        assert self.do("refusal", [sql]), "it was refused"
        return self.refused_with()[-1]

    def cancelled(self) -> str:
        with subprocess.Popen([*self.command(), "rows", NEVER_ENDS], env=self.place) as running:
            time.sleep(RUNNING_S)
            running.kill()
        end = time.monotonic() + _SEEN_S
        while not (codes := self.refused_with()) and time.monotonic() < end:
            time.sleep(0.1)
        return codes[-1]
