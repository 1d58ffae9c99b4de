"""postgres.js: statements prepared by themselves, typed as the proxy describes them."""

from __future__ import annotations

from tests.e2e.clients.contract import COUNT, Contract
from tests.e2e.clients.program import NodeClient, needs, of_node
from tests.support.wire_proxy import WireProxy

pytestmark = needs(of_node("node", "postgres"), "node, postgres of npm")
BY_NATION = "SELECT n_name, count(*) FROM customer JOIN nation ON c_nationkey = n_nationkey GROUP BY n_name"


class PostgresJs(NodeClient):
    """postgres.js."""

    placeholder = "$1"
    program = "postgres_js.mjs"
    folder = "node"


class TestPostgresJs(Contract):
    """The contract."""

    client = PostgresJs


def test_values_and_lists_in_a_tagged_text(wire: WireProxy) -> None:
    client = PostgresJs(wire, 2.5)
    assert client.do("tagged", [1000, "O,F"]) == client.do("tagged", [1000, "O,F"])
    assert client.left() == 0.5


def test_a_cursor_and_a_transaction(wire: WireProxy) -> None:
    client = PostgresJs(wire, 2.5)
    assert client.do("portions", [BY_NATION]) == [10, 10, 5]
    assert client.do("transaction", [COUNT]) == client.rows([COUNT])[0][0][0]
    assert client.left() == 0.5
