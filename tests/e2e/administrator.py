"""A proxy for tests that reconfigure it, flood it or cut it off from its database, and its administrator."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import httpx

from server.backends.embedded import EmbeddedPostgres
from server.demo.workplace import add_analyst
from server.ledger.account import Grant
from server.ledger.analyst import Act
from server.policy.accepted_policy import PolicyFile, read_policy
from server.policy.open_ledger_of_policy import open_or_create
from tests.support.proxies import tpch_demonstration
from tests.support.wire_proxy import WireProxy, wire_proxy

FILES = 512
"""Descriptors: 128 places for each port."""

COUNT = "SELECT count(*) FROM orders"
WHY = {"reason": "a test"}
GROUPS = 74_880
GROUPED = f"""
[tables.orders.columns]
o_shippriority = {{ range = [0, {GROUPS - 1}], step = 1 }}
"""


class Administrator:
    """Who may change the policy of a running proxy.

    Attributes:
      wire: the proxy.
      socket: the link by which it finds its database.
      admin: speaks HTTP as an administrator.
    """

    def __init__(self, wire: WireProxy, socket: Path, admin: httpx.Client) -> None:
        self.wire, self.socket, self.admin = wire, socket, admin
        self.demonstration = wire.demonstration
        self.text = self.demonstration.policy.read_text()

    def write(self, before: str, after: str) -> None:
        assert before in self.text
        self.demonstration.policy.write_text(self.text.replace(before, after))

    def reset(self) -> None:
        """Back to the policy and the budget that it began with, whatever a test has done."""
        self.demonstration.policy.write_text(self.text)
        self.reload(confirm=PolicyFile.read(self.demonstration.policy).policy.hash)
        self.refill()

    def refill(self) -> None:
        """Give the dataset what may have been taken from it."""
        ledger, _ = open_or_create(read_policy(self.demonstration.policy), self.demonstration.policy)
        with closing(ledger):
            ledger.grant("dataset", Grant(1e9), Act("a test"))

    def max_epsilon(self, asker: httpx.Client) -> float:
        """As the refusal of too large a question has it."""
        refused = asker.post("/v1/explain", json={"sql": COUNT, "epsilon": 1000.0})
        return float(refused.json()["message"].rpartition("at most ")[2].split()[0])

    def hang_up(self) -> str:
        """Send SIGHUP and wait for what the log says of it."""
        log = self.demonstration.folder / "proxy.log"
        before = log.stat().st_size
        os.kill(self.wire.process, signal.SIGHUP)
        end = time.monotonic() + 120.0
        while time.monotonic() < end:
            said = log.read_bytes()[before:].decode()
            if '"policy ' in said:
                return said
            time.sleep(0.05)
        raise AssertionError("the proxy did not say what became of the policy")

    def reload(self, **body: str) -> httpx.Response:
        return self.admin.post("/v1/admin/policy/reload", json={**WHY, **body})


@contextmanager
def own_proxy(folder: Path, server: EmbeddedPostgres, url: str) -> Iterator[Administrator]:
    """Started with few descriptors, before the database's socket by another name."""
    made = tpch_demonstration(folder, server, url)
    text = made.policy.read_text().replace('name = "demo"', 'name = "own"', 1).replace("[tables.orders]\n", "")
    made.policy.write_text(text + GROUPED)
    with tempfile.TemporaryDirectory(dir="/tmp") as short:  # as a socket's path must be
        Path(short).chmod(0o755)
        socket = Path(short) / "s"
        socket.symlink_to(server.socket.absolute())
        host = server.url().partition("host=")[2]
        made = replace(made, proxy_url=url.replace(host, str(socket).replace("/", "%2F")))
        add_analyst(made, 1.0)
        with wire_proxy(made, server, files=FILES) as wire, wire.client(1.0, "admin") as admin:
            yield Administrator(wire, socket, admin)
