"""ibis."""

from __future__ import annotations

from tests.e2e.clients.contract import COUNT, Contract
from tests.e2e.clients.program import PythonClient, needs, of_python
from tests.support.wire_proxy import WireProxy

COUNT_AS_N = "SELECT count(*) AS n FROM orders"
pytestmark = needs(of_python("ibis"), "ibis-framework of PyPI")


class Ibis(PythonClient):
    """ibis."""

    program = "ibis_tables.py"


class TestIbis(Contract):
    """The contract."""

    client = Ibis


def test_a_table_and_an_expression(wire: WireProxy) -> None:
    client = Ibis(wire, 1.5)
    assert client.do("columns", ["orders"])["o_orderdate"] == "!date"
    names, *rows = client.do("by_nation")
    assert names == ["n_name", "customers"]
    assert len(rows) == 25
    assert client.left() == 0.5


def test_a_statement_for_which_it_would_make_a_view_is_refused_with_a_way_out(wire: WireProxy) -> None:
    client = Ibis(wire, 1.5)
    assert client.do("sql", [COUNT]) != ""
    assert client.do("described", [COUNT_AS_N]) == client.rows([COUNT])[0]
    assert client.left() == 0.5
