"""Ruby's Sequel."""

from __future__ import annotations

from tests.e2e.clients.contract import Contract
from tests.e2e.clients.program import needs
from tests.e2e.clients.tools.ruby import RubyClient, has
from tests.support.wire_proxy import WireProxy

pytestmark = needs(has("sequel"), "ruby-pg, ruby-sequel")


class Sequel(RubyClient):
    """Sequel."""

    program = "sequel.rb"


class TestSequel(Contract):
    """The contract."""

    client = Sequel


def test_columns_and_the_key(wire: WireProxy) -> None:
    columns = Sequel(wire, 1.0).do("columns")
    assert ["o_orderkey", "integer", True] in columns
    assert ["o_orderdate", "date", False] in columns


def test_datasets_ask_what_they_count(wire: WireProxy) -> None:
    client = Sequel(wire, 3.5)
    first = client.do("dataset")
    assert client.do("dataset") == first
    assert first[1] == 25
    assert client.left() == 0.5
