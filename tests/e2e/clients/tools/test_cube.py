"""Cube's driver."""

from __future__ import annotations

import pytest

from tests.e2e.clients.contract import COUNT, Contract
from tests.e2e.clients.program import NodeClient, needs, of_node
from tests.support.wire_proxy import WireProxy

pytestmark = needs(of_node("cube", "@cubejs-backend/postgres-driver"), "node, @cubejs-backend/postgres-driver of npm")


class Cube(NodeClient):
    """Cube's driver; it cancels by statement_timeout."""

    placeholder = "$1"
    program = "cube.mjs"
    folder = "cube"


class TestCube(Contract):
    """The contract."""

    client = Cube


def test_columns(wire: WireProxy) -> None:
    columns = Cube(wire, 1.0).do("columns", ["orders"])
    types = {column["name"]: column["type"] for column in columns}
    assert (types["o_orderdate"], types["o_totalprice"]) == ("date", "numeric")


@pytest.mark.parametrize("way", ["download", "stream"])
def test_the_types_of_what_it_keeps(wire: WireProxy, way: str) -> None:
    client = Cube(wire, 1.5)
    types, rows = client.do(way, [COUNT])
    assert types == [{"name": "count", "type": "bigint"}]
    assert rows == client.rows([COUNT])[0]
    assert client.left() == 0.5
