"""One proxy for the end-to-end tests over HTTP, and one for those over the wire protocol.

A proxy is eight processes, which take a dozen seconds of computation to start. So where pytest runs in several
processes, all tests of one proxy run in one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx
import pytest

from server.backends.embedded import EmbeddedPostgres
from server.demo.asking import client
from server.demo.workplace import Demonstration, add_analyst, proxy
from server.ledger.analyst import Role
from tests.support.proxies import tpch_demonstration
from tests.support.wire_proxy import WireProxy, wire_proxy


def pytest_itemcollected(item: pytest.Item) -> None:
    """Put a test into the group of the proxy that it asks for, unless it has a group."""
    if isinstance(item, pytest.Function) and item.get_closest_marker("xdist_group") is None:
        for proxy_fixture in ("wire", "demonstration"):
            if proxy_fixture in item.fixturenames:
                item.add_marker(pytest.mark.xdist_group(proxy_fixture))
                return


@pytest.fixture(scope="session")
def demonstration(
    embedded_postgres: EmbeddedPostgres, tpch_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Demonstration:
    """TPC-H at a small scale, its policy and an analyst."""
    made = tpch_demonstration(tmp_path_factory.mktemp("proxy"), embedded_postgres, tpch_url)
    add_analyst(made, epsilon=1.0)  # creates the ledger, without which the proxy does not start
    return made


@pytest.fixture(scope="session")
def address(demonstration: Demonstration) -> Iterator[str]:
    """Where the proxy listens."""
    with proxy(demonstration, port=0) as listening:
        yield listening


@pytest.fixture(scope="session")
def wire(
    embedded_postgres: EmbeddedPostgres, tpch_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WireProxy]:
    """A proxy that also speaks TLS and the wire protocol."""
    made = tpch_demonstration(tmp_path_factory.mktemp("wire"), embedded_postgres, tpch_url)
    add_analyst(made, epsilon=1.0)
    with wire_proxy(made, embedded_postgres) as running:
        yield running


@pytest.fixture
def new_client(demonstration: Demonstration, address: str) -> Iterator[Callable[..., httpx.Client]]:
    """Makes clients, each with the key of a fresh analyst of a given budget (and role)."""
    clients = []

    def make(epsilon: float, role: Role = "analyst") -> httpx.Client:
        clients.append(client(address, add_analyst(demonstration, epsilon, role)))
        return clients[-1]

    yield make
    for made in clients:
        made.close()
