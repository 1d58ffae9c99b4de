"""Django, with time zones on."""

from __future__ import annotations

import pytest

from tests.e2e.clients.contract import Contract
from tests.e2e.clients.program import PythonClient, needs, of_python
from tests.support.wire_proxy import WireProxy

pytestmark = needs(of_python("django"), "django of PyPI")


class Django(PythonClient):
    """Django's connection, whose values the server binds."""

    placeholder = "%s"
    program = "django_orm.py"


class TestDjango(Contract):
    """The contract."""

    client = Django


def test_inspectdb(wire: WireProxy) -> None:
    client = Django(wire, 1.0)
    written = client.do("inspected", ["orders"])
    assert "o_orderkey = models.BigIntegerField(primary_key=True)" in written
    assert "o_custkey = models.ForeignKey('Customer', models.DO_NOTHING" in written
    assert "o_orderdate = models.DateField()" in written
    assert client.left() == 1.0


def test_models_ask_the_same_however_values_are_bound(wire: WireProxy) -> None:
    client = Django(wire, 4.5)
    first = client.do("counted", ["default"])
    assert client.do("counted", ["bound"]) == first
    assert first[-1] == 25
    assert client.left() == 0.5


@pytest.mark.parametrize("database", ["default", "bound"])
def test_moments_with_a_zone(wire: WireProxy, database: str) -> None:
    """Of aware datetimes psycopg makes values of timestamptz."""
    client = Django(wire, 1.5)
    (count,) = client.do("since", [database])
    assert isinstance(count, int)
    assert client.left() == 0.5
