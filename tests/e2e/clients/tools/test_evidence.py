"""Evidence, which counts the rows of every query before it reads them."""

from __future__ import annotations

from collections.abc import Sequence

from tests.e2e.clients.contract import COUNT, COUNT_ABOVE, Contract
from tests.e2e.clients.program import NodeClient, Wordless, needs, of_node
from tests.support.wire_proxy import WireProxy

pytestmark = needs(of_node("evidence", "@evidence-dev/postgres"), "node, @evidence-dev/postgres of npm")


class Evidence(Wordless, NodeClient):
    """Evidence's source."""

    program = "evidence.mjs"
    folder = "evidence"

    def prepared(self, values: Sequence[float]) -> list[object]:
        """It binds nothing; the same text is the same question."""
        found: list[object] = self.do("prepared", [COUNT_ABOVE, *values])
        return found


class TestEvidence(Contract):
    """The contract, but that of rows that are not shown their number is asked first, which is a question."""

    client = Evidence

    def test_sees_why_a_query_is_refused(self, wire: WireProxy) -> None:
        client = self.client(wire, 2.0)
        assert client.refusal("SELECT o_orderkey FROM orders") == "0A000"
        assert client.left() == 1.0
        assert client.refusal("SELECT count(*) FROM nowhere") == "42P01"
        assert client.refusal("DELETE FROM orders") == "25006"
        assert client.left() == 1.0


def test_the_types_of_columns(wire: WireProxy) -> None:
    client = Evidence(wire, 1.5)
    assert client.do("typed", [COUNT]) == [["count", "number"]]
    assert client.left() == 0.5
