"""dbt with its adapter for PostgreSQL: what it compiles and shows; it builds nothing here."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.e2e.clients.contract import COUNT, COUNT_ABOVE, NEVER_ENDS, RUNNING_S, Contract
from tests.e2e.clients.program import INSTALLED, PROGRAMS, ProgramClient, needs
from tests.support.wire_proxy import WireProxy

DBT = INSTALLED / "dbt" / "bin" / "dbt"
pytestmark = needs(DBT.exists(), "dbt-core and dbt-postgres of PyPI")

SOURCE = "SELECT count(*) AS n FROM {{ source('shop', 'orders') }}"
"""A table by the data set's name, its schema's and its own."""

_ANSWER = re.compile(r"^ANSWER (.*)$", re.MULTILINE)


class Dbt(ProgramClient):
    """dbt; a task is a macro of the project beside it."""

    @property
    def project(self) -> Path:
        """A copy of the project, beside which dbt writes."""
        made = self.proxy.demonstration.folder / "dbt"
        if not made.exists():
            shutil.copytree(PROGRAMS / "dbt", made)
        return made

    def command(self) -> Sequence[str]:
        folders = ("--project-dir", str(self.project), "--profiles-dir", str(self.project))
        return (str(DBT), "--quiet", "--no-use-colors", "{}", *folders)

    def environment(self) -> Mapping[str, str]:
        return {"DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}

    def run(self, task: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """dbt with one of its own tasks."""
        command = [task if word == "{}" else word for word in self.command()]
        return subprocess.run(
            [*command, *arguments], env=self.place, capture_output=True, text=True, timeout=240, check=False
        )

    def macro(self, name: str, **arguments: object) -> object:
        """What a macro prints."""
        done = self.run("run-operation", name, "--args", json.dumps(arguments))
        found = _ANSWER.search(done.stdout)
        assert found is not None, done.stdout + done.stderr
        return json.loads(found[1])

    def tables(self) -> set[str]:
        found = self.macro("tables")
        assert isinstance(found, list)
        return set(found)

    def rows(self, statements: Sequence[str]) -> list[list[Sequence[object]]]:
        found = self.macro("rows", statements=list(statements))
        assert isinstance(found, list)
        return found

    def prepared(self, values: Sequence[float]) -> list[object]:
        """It binds nothing; the same text is the same question."""
        return [rows[0][0] for rows in self.rows([COUNT_ABOVE.format(value) for value in values])]

    def refusal(self, sql: str) -> str:
        assert self.run("run-operation", "rows", "--args", json.dumps({"statements": [sql]})).returncode != 0
        return self.refused_with()[-1]

    def cancelled(self) -> str:
        """Ctrl-C: it asks for the end of its session by the session's number, and goes."""
        command = [("show" if word == "{}" else word) for word in self.command()]
        with subprocess.Popen(
            [*command, "--inline", NEVER_ENDS], env=self.place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as running:
            while len(self.logged("session")) < 2 and running.poll() is None:  # the first one reads catalogs
                time.sleep(0.2)
            time.sleep(RUNNING_S)
            running.send_signal(signal.SIGINT)
            running.wait(60)
        (code,) = self.refused_with()
        return code


class TestDbt(Contract):
    """The contract."""

    client = Dbt


def test_debug_and_columns(wire: WireProxy) -> None:
    client = Dbt(wire, 1.0)
    assert client.run("debug").returncode == 0
    columns = client.macro("columns", table="orders")
    assert isinstance(columns, list)
    assert {"o_orderkey", "o_orderdate"} <= set(columns)
    assert client.left() == 1.0


def test_shows_a_source(wire: WireProxy) -> None:
    client = Dbt(wire, 1.5)
    shown = client.run("show", "--inline", SOURCE, "--output", "json")
    assert shown.returncode == 0, shown.stdout + shown.stderr
    ((count,),) = client.rows([COUNT])[0:1][0]
    assert str(count) in shown.stdout
    assert client.left() == 0.5
