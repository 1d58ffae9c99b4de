"""A real proxy for tests: `noisegate serve` before the session's PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from server.backends.embedded import EmbeddedPostgres
from server.demo.demonstration import client
from server.demo.workplace import Demonstration, add_analyst, proxy

POLICY = Path(__file__).parents[2] / "server" / "demo" / "policy.toml"


def tpch_demonstration(folder: Path, server: EmbeddedPostgres, proxy_url: str, settings: str = "") -> Demonstration:
    """The demonstration's policy before a database that is already loaded.

    Args:
      settings: lines of the policy's section `privacy`, in place of those that it has.
    """
    demonstration = Demonstration(folder, server, server.url(database="tpch"), proxy_url)
    section, names = "[privacy]\n", {line.partition("=")[0].strip() for line in settings.splitlines()}
    kept = [line for line in POLICY.read_text().splitlines() if line.partition("=")[0].strip() not in names - {""}]
    text = "\n".join([*kept, ""])
    assert text.count(section) == 1
    demonstration.policy.write_text(text.replace(section, f"{section}{settings}\n"))
    return demonstration


@contextmanager
def asked_proxy(demonstration: Demonstration, epsilon: float) -> Iterator[httpx.Client]:
    """A client with a fresh analyst's key, and the proxy that it talks to."""
    key = add_analyst(demonstration, epsilon)
    with proxy(demonstration, port=0) as address, client(address, key) as http:
        yield http
