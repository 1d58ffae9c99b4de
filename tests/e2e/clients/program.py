"""A client in another language: a program that is told what to do by its arguments and answers in JSON."""

from __future__ import annotations

import json
import os
import subprocess
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.e2e.clients.contract import COUNT_ABOVE, NEVER_ENDS, RUNNING_S, Client

PROGRAMS = Path(__file__).parent / "programs"
INSTALLED = Path(".noisegate") / "clients"
"""Where `make clients` puts what is not Debian's and not for .venv."""

_TIMEOUT_S = 240


class ProgramClient(Client):
    """Runs a program per task: `command` with the task's name and its arguments, and where to connect in `NG_*`."""

    placeholder = "?"

    @abstractmethod
    def command(self) -> Sequence[str]:
        """The program."""

    def environment(self) -> Mapping[str, str]:
        """More for its environment."""
        return {}

    def do(self, task: str, arguments: Sequence[object] = ()) -> Any:
        """What the program made of a task."""
        place = {
            "NG_PORT": str(self.proxy.port),
            "NG_USER": self.name,
            "NG_PASSWORD": self.key,
            "NG_AUTHORITY": str(self.proxy.authority.resolve()),
            "NG_RUNNING_MS": str(round(RUNNING_S * 1000)),
        }
        done = subprocess.run(
            [*self.command(), task, *map(str, arguments)],
            env={**os.environ, **place, **self.environment()},
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
