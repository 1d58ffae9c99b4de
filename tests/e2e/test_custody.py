"""The custodian's side of a running proxy: the admin API, and a policy that changes under it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import psycopg
import pytest

from server.backends.embedded import EmbeddedPostgres
from server.demo.asking import client
from server.demo.workplace import Demonstration, add_analyst, free_port, running_proxy
from server.policy.accepted_policy import PolicyFile
from tests.support.proxies import tpch_demonstration

NewClient = Callable[..., httpx.Client]

COUNT = "SELECT count(*) FROM orders"
WHY = {"reason": "a test"}


def test_an_admin_adds_an_analyst_who_asks_until_disabled(new_client: NewClient, address: str) -> None:
    admin = new_client(1.0, "admin")
    name = f"grace-{time.time_ns()}"
    made = admin.post("/v1/admin/analysts", json={"name": name, "epsilon": 1.0, **WHY})
    assert made.status_code == 201, made.text
    with client(address, made.json()["key"]) as grace:
        assert grace.post("/v1/query", json={"sql": COUNT, "epsilon": 0.5}).status_code == 200
        assert grace.get("/v1/admin/analysts").status_code == 403
        topped = admin.post(f"/v1/admin/accounts/analyst:{name}/top-up", json={"epsilon": 0.25, **WHY})
        assert topped.json()["epsilon_left"] == grace.get("/v1/budget").json()["epsilon_left"] == 0.75
        assert admin.patch(f"/v1/admin/analysts/{name}", json={"enabled": False, **WHY}).status_code == 200
        assert grace.get("/v1/budget").status_code == 401
    assert admin.post("/v1/query", json={"sql": COUNT}).status_code == 403


def test_an_auditor_verifies_and_reads(new_client: NewClient) -> None:
    auditor = new_client(1.0, "auditor")
    found = auditor.post("/v1/admin/ledger/verify").json()
    assert found["fault"] is None and found["entries"] > 0
    assert auditor.get("/v1/admin/ledger/export", params={"format": "csv"}).text.startswith("number,analyst,epsilon")
    assert auditor.post("/v1/admin/data/bump", json=WHY).status_code == 403


class Custodian:
    """A proxy of its own, whose policy may change."""

    def __init__(self, demonstration: Demonstration, process: subprocess.Popen[bytes], admin: httpx.Client) -> None:
        self.demonstration, self.process, self.admin = demonstration, process, admin
        self.text = demonstration.policy.read_text()

    def write(self, before: str, after: str) -> None:
        assert before in self.text
        self.demonstration.policy.write_text(self.text.replace(before, after))

    def reset(self) -> None:
        """Back to the policy that it began with, whatever a test has done."""
        self.demonstration.policy.write_text(self.text)
        self.reload(confirm=PolicyFile.read(self.demonstration.policy).policy.hash)

    def max_epsilon(self, asker: httpx.Client) -> float:
        """As the refusal of too large a question has it."""
        refused = asker.post("/v1/explain", json={"sql": COUNT, "epsilon": 1000.0})
        return float(refused.json()["message"].rpartition("at most ")[2].split()[0])

    def hang_up(self) -> str:
        """Send SIGHUP and wait for what the log says of it."""
        log = self.demonstration.folder / "proxy.log"
        before = log.stat().st_size
        self.process.send_signal(signal.SIGHUP)
        end = time.monotonic() + 60.0
        while time.monotonic() < end:
            said = log.read_bytes()[before:].decode()
            if '"policy ' in said:
                return said
            time.sleep(0.05)
        raise AssertionError("the proxy did not say what became of the policy")

    def reload(self, **body: str) -> httpx.Response:
        return self.admin.post("/v1/admin/policy/reload", json={**WHY, **body})


@pytest.fixture(scope="module")
def own_proxy(
    embedded_postgres: EmbeddedPostgres, tpch_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Custodian, httpx.Client]]:
    made = tpch_demonstration(tmp_path_factory.mktemp("custodian"), embedded_postgres, tpch_url)
    keys = add_analyst(made, 1.0, "admin"), add_analyst(made, 1.0)
    with (
        running_proxy(made, port=0) as (process, address),
        client(address, keys[0]) as admin,
        client(address, keys[1]) as asker,
    ):
        yield Custodian(made, process, admin), asker


@pytest.fixture
def custodian(own_proxy: tuple[Custodian, httpx.Client]) -> tuple[Custodian, httpx.Client]:
    own_proxy[0].reset()
    return own_proxy


@pytest.mark.xdist_group("custodian")
def test_a_policy_changes_whole_or_not_at_all(custodian: tuple[Custodian, httpx.Client]) -> None:
    proxy, asker = custodian
    assert proxy.max_epsilon(asker) == 4.0

    proxy.write("max_epsilon = 4.0", "max_epsilon = 2.0")
    assert "policy in force" in proxy.hang_up()
    assert proxy.max_epsilon(asker) == 2.0

    proxy.write("max_epsilon = 4.0", "max_epsilon = 0.0001")
    assert "policy kept" in proxy.hang_up()
    refused = proxy.reload()
    assert (refused.status_code, refused.json()["code"]) == (409, "PD005")
    assert proxy.max_epsilon(asker) == 2.0

    proxy.write("max_epsilon = 4.0", "max_epsilon = 8.0")
    assert "PolicyWeakened" in proxy.hang_up()
    refused = proxy.reload()
    assert (refused.status_code, refused.json()["code"]) == (409, "PD004")
    assert "max_epsilon: raised" in refused.json()["message"]
    assert proxy.max_epsilon(asker) == 2.0
    confirmed = proxy.reload(confirm=refused.json()["hint"].rpartition("is ")[2].rstrip(")"))
    assert confirmed.json()["weaker"] == ["privacy.max_epsilon: raised"]
    assert proxy.max_epsilon(asker) == 8.0


def test_what_psql_is_shown_of_the_tables_follows_the_policy(
    embedded_postgres: EmbeddedPostgres, tpch_url: str, tmp_path: Path
) -> None:
    made = tpch_demonstration(tmp_path, embedded_postgres, tpch_url)
    made.policy.write_text(made.policy.read_text().replace('name = "demo"', 'name = "custody"', 1))
    analyst = f"ada-{time.time_ns()}"
    keys, port = (add_analyst(made, 1.0, "admin"), add_analyst(made, 1.0, name=analyst)), free_port(0)
    catalog = made.folder / "catalog_url"
    catalog.touch(mode=0o600)
    catalog.write_text(embedded_postgres.url())
    comment = "SELECT col_description('lineitem'::regclass, attnum) FROM pg_attribute WHERE attname = 'l_quantity'"
    with (
        running_proxy(made, 0, ("--wire-port", str(port), "--catalog", f"file:{catalog}")) as (process, address),
        client(address, keys[0]) as admin,
        psycopg.connect(
            host="127.0.0.1", port=port, dbname="custody", user=analyst, password=keys[1], autocommit=True
        ) as asker,
    ):
        custodian = Custodian(made, process, admin)
        assert asker.execute(comment).fetchall() == [("from 0 to 50",)]
        custodian.write("l_quantity = { range = [0, 50] }", "l_quantity = { range = [0, 40] }")
        told = custodian.reload(confirm=PolicyFile.read(made.policy).policy.hash)
        assert told.status_code == 200, told.text
        assert asker.execute(comment).fetchall() == [("from 0 to 40",)]


@pytest.mark.xdist_group("custodian")
def test_a_proxy_does_not_start_under_a_weaker_policy_until_it_is_accepted(
    custodian: tuple[Custodian, httpx.Client],
) -> None:
    proxy, _ = custodian
    proxy.write("max_epsilon = 4.0", "max_epsilon = 8.0")
    program = str(Path(sys.executable).with_name("noisegate"))
    policy = str(proxy.demonstration.policy)
    environment = {**os.environ, "NOISEGATE_DATABASE_URL": proxy.demonstration.proxy_url}

    def command(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [program, *arguments], env=environment, capture_output=True, text=True, check=False, timeout=60
        )

    refused = command("serve", policy, "--port", "0", "--no-wire")
    assert refused.returncode == 2
    assert "max_epsilon: raised" in refused.stderr and "noisegate policy accept" in refused.stderr
    accepted = command("policy", "accept", policy, "--yes", "--reason", "the board raised it")
    assert accepted.returncode == 0, accepted.stderr
    assert "policy in force" in proxy.hang_up()  # the one that runs takes it over, too
