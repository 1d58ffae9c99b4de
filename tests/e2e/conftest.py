"""One proxy for the end-to-end tests over HTTP and over the wire protocol, and one that tests reconfigure and flood.

A proxy is eight processes, which take a dozen seconds of computation to start. So where pytest runs in several
processes, all tests of these two run in one of them. Between tests nothing is reset: each has an analyst of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx
import pytest

from server.backends.embedded import EmbeddedPostgres
from server.demo.workplace import Demonstration, add_analyst
from server.ledger.analyst import Role
from tests.e2e.administrator import Administrator, own_proxy
from tests.support.proxies import tpch_demonstration
from tests.support.shop import shop_demonstration
from tests.support.wire_proxy import WireProxy, wire_proxy

GROUPS = {"wire": "proxy", "own": "proxy", "shop": "neighbours"}
"""Of pytest's processes, by the fixture that is a proxy; tests/security has its own in the second one."""


def pytest_itemcollected(item: pytest.Item) -> None:
    """Put a test into the group of the proxy that it asks for, unless it has a group.

    Tests that reconfigure, flood and cut off a proxy of their own are for `make test-all`: it takes long to start.
    """
    if isinstance(item, pytest.Function) and "own" in item.fixturenames:
        item.add_marker(pytest.mark.slow)
    if isinstance(item, pytest.Function) and item.get_closest_marker("xdist_group") is None:
        for fixture, group in GROUPS.items():
            if fixture in item.fixturenames:
                item.add_marker(pytest.mark.xdist_group(group))
                return


@pytest.fixture(scope="session")
def wire(
    embedded_postgres: EmbeddedPostgres, tpch_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WireProxy]:
    """TPC-H at a small scale behind a proxy that speaks TLS, HTTP and the wire protocol.

    A question may cost much: where the truth is compared with, the noise is next to nothing.
    """
    made = tpch_demonstration(tmp_path_factory.mktemp("wire"), embedded_postgres, tpch_url)
    made.policy.write_text(made.policy.read_text().replace("max_epsilon = 4.0", "max_epsilon = 1000.0"))
    add_analyst(made, epsilon=1.0)  # creates the ledger, without which the proxy does not start
    with wire_proxy(made, embedded_postgres) as running:
        yield running


@pytest.fixture(scope="session")
def demonstration(wire: WireProxy) -> Demonstration:
    """Its policy and database."""
    return wire.demonstration


@pytest.fixture
def new_client(wire: WireProxy) -> Iterator[Callable[..., httpx.Client]]:
    """Makes clients, each with the key of a fresh analyst of a given budget (and role)."""
    clients = []

    def make(epsilon: float, role: Role = "analyst") -> httpx.Client:
        clients.append(wire.client(epsilon, role))
        return clients[-1]

    yield make
    for made in clients:
        made.close()


@pytest.fixture(scope="session")
def own_running(
    embedded_postgres: EmbeddedPostgres, tpch_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Administrator]:
    with own_proxy(tmp_path_factory.mktemp("own"), embedded_postgres, tpch_url) as administrator:
        yield administrator


@pytest.fixture
def own(own_running: Administrator) -> Iterator[Administrator]:
    """A proxy under another policy, with few descriptors, that tests reconfigure, flood and cut off."""
    yield own_running
    own_running.reset()


@pytest.fixture(scope="session")
def shop(embedded_postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WireProxy]:
    """A proxy before the shop, in plain text: how it is encrypted is tested elsewhere."""
    made = shop_demonstration(tmp_path_factory.mktemp("shop"), embedded_postgres)
    add_analyst(made, epsilon=1.0)
    with wire_proxy(made, embedded_postgres, tls=False) as running:
        yield running
