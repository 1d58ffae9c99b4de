"""psqlODBC through pyodbc and unixODBC."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import pytest

from tests.e2e.clients.contract import COUNT_ABOVE, NEVER_ENDS, RUNNING_S, Client, Contract
from tests.support.wire_proxy import WireProxy

try:
    import pyodbc

    DRIVER = "PostgreSQL Unicode" if "PostgreSQL Unicode" in pyodbc.drivers() else None
except ImportError:  # the package, or the library under it
    DRIVER = None

pytestmark = pytest.mark.skipif(
    DRIVER is None, reason="pyodbc, unixodbc or odbc-postgresql is not installed (make clients)"
)


class Odbc(Client):
    """psqlODBC."""

    def connect(self, more: str = "") -> Any:
        place = f"SERVER=localhost;PORT={self.proxy.port};DATABASE=demo;UID={self.name};PWD={self.key}"
        tls = f"SSLmode=verify-full;pqopt={{sslrootcert={self.proxy.authority.resolve()}}}"
        return pyodbc.connect(f"DRIVER={{{DRIVER}}};{place};{tls};{more}", autocommit=True)

    def tables(self) -> set[str]:
        with closing(self.connect()) as connection:
            return {row.table_name for row in connection.cursor().tables(schema="public", tableType="TABLE")}

    def rows(self, statements: Sequence[str]) -> list[list[Sequence[object]]]:
        with closing(self.connect()) as connection:
            return [connection.cursor().execute(sql).fetchall() for sql in statements]

    def prepared(self, values: Sequence[float]) -> list[object]:
        with closing(self.connect()) as connection:
            cursor = connection.cursor()
            return [cursor.execute(COUNT_ABOVE.format("?"), value).fetchval() for value in values]

    def refusal(self, sql: str) -> str:
        with closing(self.connect()) as connection, pytest.raises(pyodbc.Error) as refused:
            connection.cursor().execute(sql)
        return str(refused.value.args[0])

    def cancelled(self) -> str:
        with closing(self.connect()) as connection:
            cursor = connection.cursor()
            threading.Timer(RUNNING_S, cursor.cancel).start()
            with pytest.raises(pyodbc.Error) as refused:
                cursor.execute(NEVER_ENDS)
            assert connection.cursor().execute("SELECT 1").fetchval() == 1
            return str(refused.value.args[0])


class TestOdbc(Contract):
    """The contract."""

    client = Odbc
    cancellations = ("57014", "HY008")  # the latter is ODBC's own


def test_columns_and_keys(wire: WireProxy) -> None:
    client = Odbc(wire, 1.0)
    with closing(client.connect()) as connection:
        columns = {row.column_name for row in connection.cursor().columns(table="orders")}
        (primary,) = connection.cursor().primaryKeys(table="orders").fetchall()
        (foreign,) = connection.cursor().foreignKeys(foreignTable="orders").fetchall()
    assert {"o_orderkey", "o_orderdate"} <= columns
    assert primary.column_name == "o_orderkey"
    assert foreign.pktable_name == "customer"
    assert client.left() == 1.0


def test_declare_and_fetch(wire: WireProxy) -> None:
    client = Odbc(wire, 1.5)
    sql = "SELECT n_name, count(*) FROM customer JOIN nation ON c_nationkey = n_nationkey GROUP BY n_name"
    with closing(client.connect("UseDeclareFetch=1;Fetch=10")) as connection:
        assert len(connection.cursor().execute(sql).fetchall()) == 25
    assert client.left() == 0.5
