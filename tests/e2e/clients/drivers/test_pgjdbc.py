"""pgjdbc, by a Java program of one file."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.e2e.clients.contract import COUNT, Contract
from tests.e2e.clients.program import PROGRAMS, ProgramClient
from tests.support.wire_proxy import WireProxy

JAVA = shutil.which("java") if shutil.which("javac") else None
DRIVER = Path("/usr/share/java/postgresql.jar")
BY_NATION = "SELECT n_name, count(*) FROM customer JOIN nation ON c_nationkey = n_nationkey GROUP BY n_name"
pytestmark = pytest.mark.skipif(
    JAVA is None or not DRIVER.exists(), reason="a JDK or libpostgresql-jdbc-java is not installed (make clients)"
)


class Pgjdbc(ProgramClient):
    """pgjdbc."""

    def command(self) -> Sequence[str]:
        assert JAVA is not None, "skipped otherwise"
        return (JAVA, "-cp", str(DRIVER), str(PROGRAMS / "Client.java"))


class TestPgjdbc(Contract):
    """The contract."""

    client = Pgjdbc


def test_metadata_of_a_table(wire: WireProxy) -> None:
    client = Pgjdbc(wire, 1.0)
    columns, primary, foreign = client.do("columns", ["orders"])
    assert ["o_orderdate", "date"] in columns
    assert primary == [["o_orderkey", "orders"]]
    assert foreign == [["customer", "c_custkey"]]
    assert client.left() == 1.0


def test_rows_in_portions(wire: WireProxy) -> None:
    client = Pgjdbc(wire, 1.5)
    assert len(client.do("fetched", [BY_NATION])) == 25
    assert client.left() == 0.5


def test_a_write_in_a_transaction_is_refused(wire: WireProxy) -> None:
    assert Pgjdbc(wire, 1.0).refusal(COUNT + " FOR UPDATE") in ("0A000", "25006")
