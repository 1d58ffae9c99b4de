"""An Apache Superset of its own for tests: its metadata in SQLite, its web server on loopback, its REST API."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from server.demo.workplace import free_port

INSTALLED = Path(".noisegate") / "clients" / "superset"
"""Where `make superset` puts it: apart from .venv, as it wants other versions of what the proxy uses."""

USER, PASSWORD = "admin", "admin"
_START_TIMEOUT_S = 240.0
_THREADS = 8
_SETTINGS = """
SECRET_KEY = {secret!r}
SQLALCHEMY_DATABASE_URI = {metadata!r}
WTF_CSRF_ENABLED = False  # programs send a token of their own
TALISMAN_ENABLED = False  # plain http on the loopback interface
RATELIMIT_ENABLED = False
"""


@dataclass(frozen=True)
class Superset:
    """A running Superset.

    Attributes:
      address: of its web server.
      http: speaks its REST API as its administrator.
    """

    address: str
    http: httpx.Client

    def made(self, kind: str, **properties: object) -> int:
        """The number of a new database, dataset, chart or dashboard."""
        reply = self.http.post(f"/api/v1/{kind}/", json=properties)
        assert reply.status_code == 201, reply.text
        return int(reply.json()["id"])

    def read(self, path: str) -> Any:
        """The result of a GET."""
        reply = self.http.get(f"/api/v1/{path}")
        assert reply.is_success, reply.text
        return reply.json()["result"]

    def database(self, name: str, uri: str, authority: Path, options: str = "") -> int:
        """Add a database with verified TLS, as the form for one does; Superset connects to it first."""
        arguments = {"sslmode": "verify-full", "channel_binding": "require", "options": options}
        return self.made(
            "database",
            database_name=name,
            sqlalchemy_uri=uri,
            server_cert=authority.read_text(),
            expose_in_sqllab=True,
            extra=json.dumps({"engine_params": {"connect_args": arguments}}),
        )

    def dataset(self, database: int, name: str, sql: str | None = None) -> int:
        """A table of the schema `public`, or a query under a name."""
        written = {} if sql is None else {"sql": sql}
        return self.made("dataset", database=database, schema="public", table_name=name, **written)

    def chart(
        self, dataset: int, name: str, look: str, form: Mapping[str, object], query: Mapping[str, object]
    ) -> int:
        """A chart of a dataset.

        Args:
          look: its kind, `viz_type`.
          form: what its editor would hold, from which a browser makes the query.
          query: the query itself, from which the API makes it.
        """
        source = {"id": dataset, "type": "table"}
        filled = {"viz_type": look, "datasource": f"{dataset}__table", **form}
        context = {
            "datasource": source,
            "force": False,
            "queries": [{"filters": [], "row_limit": 1000, **query}],
            "form_data": filled,
            "result_format": "json",
            "result_type": "full",
        }
        return self.made(
            "chart",
            slice_name=name,
            viz_type=look,
            datasource_id=dataset,
            datasource_type="table",
            params=json.dumps(filled),
            query_context=json.dumps(context),
        )

    def dashboard(self, title: str, charts: Mapping[int, str]) -> int:
        """A dashboard with a row for every chart, by number and name."""
        number = self.made(
            "dashboard", dashboard_title=title, published=True, position_json=json.dumps(_positions(charts))
        )
        for chart in charts:
            reply = self.http.put(f"/api/v1/chart/{chart}", json={"dashboards": [number]})
            assert reply.is_success, reply.text
        return number

    def refreshed(self, chart: int) -> httpx.Response:
        """A chart's data, forced past every cache of Superset's."""
        return self.http.get(f"/api/v1/chart/{chart}/data/", params={"force": "true"})

    def asked(self, database: int, sql: str) -> httpx.Response:
        """A statement in SQL Lab."""
        asked = {"database_id": database, "sql": sql, "schema": "public", "client_id": secrets.token_hex(5)}
        return self.http.post("/api/v1/sqllab/execute/", json={**asked, "runAsync": False, "queryLimit": 1000})


def _positions(charts: Mapping[int, str]) -> dict[str, object]:
    placed: dict[str, object] = {
        "DASHBOARD_VERSION_KEY": "v2",
        "ROOT_ID": {"type": "ROOT", "id": "ROOT_ID", "children": ["GRID_ID"]},
        "GRID_ID": {
            "type": "GRID",
            "id": "GRID_ID",
            "parents": ["ROOT_ID"],
            "children": [f"ROW-{chart}" for chart in charts],
        },
    }
    for chart, name in charts.items():
        row, box = f"ROW-{chart}", f"CHART-{chart}"
        placed[row] = {
            "type": "ROW",
            "id": row,
            "parents": ["ROOT_ID", "GRID_ID"],
            "children": [box],
            "meta": {"background": "BACKGROUND_TRANSPARENT"},
        }
        placed[box] = {
            "type": "CHART",
            "id": box,
            "parents": ["ROOT_ID", "GRID_ID", row],
            "children": [],
            "meta": {"chartId": chart, "sliceName": name, "width": 12, "height": 30},
        }
    return placed


@contextmanager
def running_superset(folder: Path) -> Iterator[Superset]:
    """Make an empty Superset in `folder`, start it, sign in. Cost: about a minute of one core."""
    settings = folder / "superset_config.py"
    metadata = f"sqlite:///{folder.resolve() / 'superset.db'}"
    settings.write_text(_SETTINGS.format(secret=secrets.token_hex(32), metadata=metadata))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"SUPERSET_CONFIG_PATH": str(settings.resolve()), "SUPERSET_HOME": str(folder.resolve())}
    environment["SCARF_ANALYTICS"] = "false"
    with (folder / "superset.log").open("ab") as log:

        def run(*command: str) -> subprocess.Popen[bytes]:
            program = INSTALLED / "bin" / command[0]
            return subprocess.Popen([program, *command[1:]], env=environment, stdout=log, stderr=subprocess.STDOUT)

        about = ("--username", USER, "--firstname", "Ada", "--lastname", "L", "--email", "ada@example.org")
        for setup in (("db", "upgrade"), ("fab", "create-admin", *about, "--password", PASSWORD), ("init",)):
            assert run("superset", *setup).wait() == 0, f"superset {setup[0]} failed; see {folder / 'superset.log'}"
        port = free_port(0)
        served = ("--bind", f"127.0.0.1:{port}", "--threads", str(_THREADS), "--timeout", "0")
        process = run("gunicorn", *served, "superset.app:create_app()")
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(process, address)
        # A connection each: the server closes those that are idle, and would do so while the next request is sent.
        with httpx.Client(base_url=address, timeout=120.0, limits=httpx.Limits(max_keepalive_connections=0)) as http:
            who = {"username": USER, "password": PASSWORD, "provider": "db", "refresh": True}
            http.headers["Authorization"] = (
                f"Bearer {http.post('/api/v1/security/login', json=who).json()['access_token']}"
            )
            yield Superset(address, http)
    finally:
        process.terminate()
        process.wait(timeout=60)


def _wait(process: subprocess.Popen[bytes], address: str) -> None:
    end = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < end:
        assert process.poll() is None, "Superset's web server ended; see superset.log"
        try:
            if httpx.get(f"{address}/health", timeout=5.0).text == "OK":
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise AssertionError("Superset's web server does not answer")


def is_installed() -> bool:
    """Did `make superset` run?"""
    return shutil.which("superset", path=INSTALLED / "bin") is not None
