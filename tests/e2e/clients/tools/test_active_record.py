"""ActiveRecord on Ruby's pg."""

from __future__ import annotations

from tests.e2e.clients.contract import Contract
from tests.e2e.clients.program import needs
from tests.e2e.clients.tools.ruby import RubyClient, has
from tests.support.wire_proxy import WireProxy

pytestmark = needs(has("activerecord"), "ruby-pg, ruby-activerecord")


class ActiveRecord(RubyClient):
    """ActiveRecord."""

    placeholder = "$1"
    program = "active_record.rb"


class TestActiveRecord(Contract):
    """The contract."""

    client = ActiveRecord


def test_columns_and_keys(wire: WireProxy) -> None:
    columns, primary, foreign = ActiveRecord(wire, 1.0).do("columns")
    assert ["o_orderdate", "date"] in columns
    assert primary == "o_orderkey"
    assert foreign == ["customer"]


def test_models_ask_what_they_count(wire: WireProxy) -> None:
    client = ActiveRecord(wire, 3.5)
    first = client.do("model")
    assert client.do("model") == first
    assert first[2:] == [25, 25]
    assert client.left() == 0.5
