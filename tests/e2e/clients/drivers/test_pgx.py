"""pgx: binary in both directions, batches, and its own simple protocol."""

from __future__ import annotations

from tests.e2e.clients.contract import COUNT, COUNT_ABOVE, Contract
from tests.e2e.clients.drivers.golang import GoClient, has
from tests.e2e.clients.program import needs
from tests.support.wire_proxy import WireProxy

pytestmark = needs(has("github.com/jackc/pgx/v4"), "golang-go, golang-github-jackc-pgx-v4-dev")


class Pgx(GoClient):
    """pgx."""

    program = "pgx"


class TestPgx(Contract):
    """The contract."""

    client = Pgx


def test_the_simple_protocol_says_the_same(wire: WireProxy) -> None:
    client = Pgx(wire, 1.5)
    above = COUNT_ABOVE.format("$1")
    assert client.do("simple", [above, 1000]) == client.do("prepared", [above, 1000])
    assert client.left() == 0.5


def test_a_batch(wire: WireProxy) -> None:
    client = Pgx(wire, 1.5)
    first, one, again = client.do("batch", [COUNT, "SELECT 1", COUNT])
    assert first == again
    assert one == [["1"]]
    assert client.left() == 0.5
