"""ADBC, which copies in binary; pandas and polars read through it."""

from __future__ import annotations

import pytest

from tests.e2e.clients.contract import COUNT, Contract
from tests.e2e.clients.program import PythonClient, RowsOnly, needs, of_python
from tests.support.wire_proxy import WireProxy

pytestmark = needs(of_python("adbc_driver_postgresql"), "adbc-driver-postgresql of PyPI")
BY_NATION = "SELECT n_name, count(*) AS n FROM customer JOIN nation ON c_nationkey = n_nationkey GROUP BY n_name"


class Adbc(RowsOnly, PythonClient):
    """ADBC."""

    placeholder = "$1"
    program = "adbc.py"


class TestAdbc(Contract):
    """The contract."""

    client = Adbc


def test_without_copy_it_says_the_same(wire: WireProxy) -> None:
    client = Adbc(wire, 1.5)
    assert client.do("without_copy", [COUNT]) == client.rows([COUNT])[0]
    assert client.left() == 0.5


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame(wire: WireProxy, library: str) -> None:
    client = Adbc(wire, 1.5)
    names, *rows = client.do(library, [BY_NATION])
    assert names == ["n_name", "n"]
    assert len(rows) == 25
    assert client.left() == 0.5
