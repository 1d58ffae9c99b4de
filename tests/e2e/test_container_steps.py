"""The steps of docker-compose.yml without containers: its role, its policy, its proxy with TLS, its health check."""

from __future__ import annotations

import os
import re
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import psycopg
import pytest

from server.backends.embedded import EmbeddedPostgres, binaries
from server.demo.demonstration import client
from server.demo.workplace import Demonstration, add_analyst
from tests.support.wire_proxy import wire_proxy
from tests.unit.test_deploy import COMPOSE, PROXY

DATABASE, ROLE, CATALOG = "composed", "noisegate_of_compose", "composed_catalog"
CHECK = PROXY["healthcheck"]["test"]

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("container steps")]


@pytest.fixture(scope="module")
def composed(
    embedded_postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Demonstration]:
    """A database whose role was made by the compose file's words, and a table that its owner makes later."""
    url = embedded_postgres.url(database=DATABASE)
    with psycopg.connect(embedded_postgres.url(), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)".encode())
        connection.execute(f"DROP ROLE IF EXISTS {ROLE}".encode())
        connection.execute(f"CREATE DATABASE {DATABASE}".encode())
        script = COMPOSE["configs"]["select_only_role"]["content"]
        script = script.replace("DATABASE noisegate", f"DATABASE {DATABASE}")
        script = re.sub(r"(ROLE|TO) noisegate\b", rf"\1 {ROLE}", script)
        subprocess.run(
            [str(binaries() / "psql"), "--quiet", "--dbname", url],
            input=script,
            text=True,
            check=True,
            env={**os.environ, "NOISEGATE_ROLE_PASSWORD": "'quoted' and long"},
        )
        with psycopg.connect(url) as owner:
            owner.execute("CREATE TABLE patient (id int PRIMARY KEY, age int NOT NULL)")
            owner.execute("INSERT INTO patient SELECT i, 20 + i % 60 FROM generate_series(1, 5000) i")
        folder = tmp_path_factory.mktemp("composed")
        yield Demonstration(folder, embedded_postgres, url, embedded_postgres.url(ROLE, DATABASE))
        connection.execute(f"DROP DATABASE {DATABASE} WITH (FORCE)".encode())
        connection.execute(f"DROP DATABASE IF EXISTS {CATALOG} WITH (FORCE)".encode())
        connection.execute(f"DROP ROLE {ROLE}".encode())


def noisegate(place: Demonstration, *arguments: str) -> str:
    """As `docker compose run --rm proxy ...` does, in the folder of the ledger; what it told."""
    done = subprocess.run(
        [str(Path(sys.executable).with_name("noisegate")), *arguments],
        cwd=place.folder,
        env={**os.environ, "NOISEGATE_DATABASE_URL": place.proxy_url},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def healthy(url: str) -> bool:
    """Whether the health check, word by word, finds the proxy alive."""
    assert CHECK[:2] == ["CMD", "python"]
    done = subprocess.run(
        [sys.executable, *CHECK[2:]],
        env={**os.environ, "NOISEGATE_HEALTH_URL": url},
        capture_output=True,
        check=False,
    )
    return done.returncode == 0


@pytest.mark.statistical(1e-15)  # noise of scale 1 is beyond 200 with exp(-200)
def test_the_steps_lead_to_an_answer_and_the_health_check_tells(composed: Demonstration) -> None:
    noisegate(composed, "policy", "init", "--output", "policy.toml", "--force")  # which an earlier attempt wrote
    draft = composed.policy.read_text()
    named = f'name = "{DATABASE}"'
    assert draft.count(named) == 1
    # The container has a PostgreSQL of its own for the catalog; here it is that of the data, whose name is taken.
    composed.policy.write_text(draft.replace(named, f'name = "{CATALOG}"'))
    noisegate(composed, "policy", "check", "policy.toml")
    key = add_analyst(composed, 5.0)
    with wire_proxy(composed, composed.server) as running:
        assert healthy(f"{running.http}/health")
        assert healthy(f"{running.http.replace('localhost', '127.0.0.1')}/health"), "a certificate for another name"
        assert not healthy(f"{running.http}/metrics"), "what needs a key"
        trusting = ssl.create_default_context(cafile=running.authority)
        with client(running.http, key, verify=trusting) as http:
            reply = http.post("/v1/query", json={"sql": "SELECT count(*) FROM patient", "epsilon": 1.0})
            assert reply.is_success, reply.text
            assert reply.json()["rows"][0][0] == pytest.approx(5000, abs=200)
        with pytest.raises(httpx.TransportError):
            httpx.get(f"{running.http.replace('https', 'http')}/health")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        assert not healthy(f"https://127.0.0.1:{free.getsockname()[1]}/health")
