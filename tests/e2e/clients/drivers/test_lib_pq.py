"""lib/pq under Go's database/sql; its context cancels."""

from __future__ import annotations

from tests.e2e.clients.contract import COUNT, Contract
from tests.e2e.clients.drivers.golang import GoClient, has
from tests.e2e.clients.program import needs
from tests.support.wire_proxy import WireProxy

pytestmark = needs(has("github.com/lib/pq"), "golang-go, golang-github-lib-pq-dev")


class LibPq(GoClient):
    """lib/pq."""

    program = "lib_pq"


class TestLibPq(Contract):
    """The contract."""

    client = LibPq


def test_a_transaction_that_reads(wire: WireProxy) -> None:
    client = LibPq(wire, 1.5)
    assert client.do("transaction", [COUNT]) == client.rows([COUNT])[0]
    assert client.left() == 0.5
