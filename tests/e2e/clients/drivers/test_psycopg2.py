"""psycopg2: text, the simple protocol, transactions by itself."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import pytest

from tests.e2e.clients.contract import COUNT_ABOVE, NEVER_ENDS, RUNNING_S, Client, Contract, installed
from tests.support.wire_proxy import WireProxy

pytestmark = installed("psycopg2")


class Psycopg2(Client):
    """psycopg2 in a transaction, as it opens one unless told otherwise."""

    def connect(self) -> Any:
        import psycopg2

        return psycopg2.connect(self.proxy.conninfo(self.name, self.key))

    def tables(self) -> set[str]:
        sql = "SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = 'public'"
        ((*rows,),) = self.rows([sql])
        return {str(name) for (name,) in rows}

    def rows(self, statements: Sequence[str]) -> list[list[Sequence[object]]]:
        with closing(self.connect()) as connection, connection.cursor() as cursor:
            found = []
            for sql in statements:
                cursor.execute(sql)
                found.append(cursor.fetchall())
            return found

    def prepared(self, values: Sequence[float]) -> list[object]:
        """It prepares nothing at the server; its parameters are written into the statement."""
        with closing(self.connect()) as connection, connection.cursor() as cursor:
            found = []
            for value in values:
                cursor.execute(COUNT_ABOVE.format("%s"), (value,))
                found.append(cursor.fetchone()[0])
            return found

    def refusal(self, sql: str) -> str:
        import psycopg2

        with closing(self.connect()) as connection, connection.cursor() as cursor:
            with pytest.raises(psycopg2.Error) as refused:
                cursor.execute(sql)
            connection.rollback()
            return str(refused.value.pgcode)

    def cancelled(self) -> str:
        import psycopg2

        with closing(self.connect()) as connection, connection.cursor() as cursor:
            threading.Timer(RUNNING_S, connection.cancel).start()
            with pytest.raises(psycopg2.Error) as refused:
                cursor.execute(NEVER_ENDS)
            connection.rollback()
            cursor.execute("SELECT 1")
            assert cursor.fetchone() == (1,)
            return str(refused.value.pgcode)


class TestPsycopg2(Contract):
    """The contract."""

    client = Psycopg2


def test_a_named_cursor_and_copy(wire: WireProxy) -> None:
    import io

    client = Psycopg2(wire, 1.5)
    sql = "SELECT n_name, count(*) FROM customer JOIN nation ON c_nationkey = n_nationkey GROUP BY n_name"
    with closing(client.connect()) as connection:
        with connection.cursor("nations") as cursor:
            cursor.itersize = 10
            cursor.execute(sql)
            rows = list(cursor)
        written = io.StringIO()
        with connection.cursor() as cursor:
            cursor.copy_expert(f"COPY ({sql}) TO STDOUT WITH CSV", written)
    assert sorted(f"{name},{count}" for name, count in rows) == sorted(written.getvalue().split("\n")[:-1])
    assert client.left() == 0.5
