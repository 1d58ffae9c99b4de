"""The administrator's side of a running proxy: the admin API, and a policy that changes under it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import psycopg
import pytest

from server.demo.demonstration import client
from server.policy.accepted_policy import PolicyFile
from tests.e2e.administrator import COUNT, WHY, Administrator
from tests.support.wire_proxy import WireProxy

NewClient = Callable[..., httpx.Client]


def test_an_admin_adds_an_analyst_who_asks_until_disabled(new_client: NewClient, wire: WireProxy) -> None:
    admin = new_client(1.0, "admin")
    name = f"grace-{time.time_ns()}"
    made = admin.post("/v1/admin/analysts", json={"name": name, "epsilon": 1.0, **WHY})
    assert made.status_code == 201, made.text
    with client(wire.http, made.json()["key"], wire.trusted) as grace:
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


def test_a_policy_changes_whole_or_not_at_all(own: Administrator) -> None:
    with own.wire.client(1.0) as asker:
        _changes(own, asker)


def _changes(proxy: Administrator, asker: httpx.Client) -> None:
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


def test_what_psql_is_shown_of_the_tables_follows_the_policy(own: Administrator) -> None:
    comment = "SELECT col_description('lineitem'::regclass, attnum) FROM pg_attribute WHERE attname = 'l_quantity'"
    with psycopg.connect(own.wire.conninfo(*own.wire.analyst(1.0)), autocommit=True) as asker:
        assert asker.execute(comment).fetchall() == [("from 0 to 50",)]
        own.write("l_quantity = { range = [0, 50] }", "l_quantity = { range = [0, 40] }")
        told = own.reload(confirm=PolicyFile.read(own.demonstration.policy).policy.hash)
        assert told.status_code == 200, told.text
        assert asker.execute(comment).fetchall() == [("from 0 to 40",)]


@pytest.mark.slow
def test_a_proxy_does_not_start_under_a_weaker_policy_until_it_is_accepted(own: Administrator) -> None:
    proxy = own
    proxy.write("max_epsilon = 4.0", "max_epsilon = 8.0")
    program = str(Path(sys.executable).with_name("noisegate"))
    policy = str(proxy.demonstration.policy)
    environment = {**os.environ, "NOISEGATE_DATABASE_URL": proxy.demonstration.proxy_url}

    def command(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [program, *arguments], env=environment, capture_output=True, text=True, check=False, timeout=300
        )

    refused = command("serve", policy, "--port", "0", "--no-wire")
    assert refused.returncode == 2
    assert "max_epsilon: raised" in refused.stderr and "noisegate policy accept" in refused.stderr
    accepted = command("policy", "accept", policy, "--yes", "--reason", "the board raised it")
    assert accepted.returncode == 0, accepted.stderr
    assert "policy in force" in proxy.hang_up()  # the one that runs takes it over, too
