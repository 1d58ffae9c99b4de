"""connectorx, by each of its protocols, and polars above it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.e2e.clients.contract import COUNT, COUNT_ABOVE, Contract
from tests.e2e.clients.program import PythonClient, Wordless, needs, of_python
from tests.support.wire_proxy import WireProxy

pytestmark = needs(of_python("connectorx"), "connectorx of PyPI")
BY_NATION = "SELECT n_name, count(*) AS n FROM customer JOIN nation ON c_nationkey = n_nationkey GROUP BY n_name"


class ConnectorX(Wordless, PythonClient):
    """connectorx."""

    program = "connector_x.py"

    def prepared(self, values: Sequence[float]) -> list[object]:
        """It binds nothing; the same text is the same question."""
        found: list[object] = self.do("prepared", [COUNT_ABOVE, *values])
        return found


class TestConnectorX(Contract):
    """The contract."""

    client = ConnectorX


@pytest.mark.parametrize("protocol", ["csv", "cursor", "simple"])
def test_its_other_protocols(wire: WireProxy, protocol: str) -> None:
    client = ConnectorX(wire, 1.5)
    ((count,),) = client.do("by", [protocol, COUNT])
    assert count == int(str(client.do("by", ["cursor", COUNT])[0][0]))
    assert client.left() == 0.5


def test_a_frame_of_polars(wire: WireProxy) -> None:
    client = ConnectorX(wire, 1.5)
    names, *rows = client.do("polars", [BY_NATION])
    assert names == ["n_name", "n"]
    assert len(rows) == 25
    assert client.left() == 0.5
