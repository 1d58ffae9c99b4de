"""psycopg 3: the contract, and each of its ways to send a statement."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import psycopg
import pytest
from psycopg import Connection, ServerCursor

from tests.e2e.clients.contract import COUNT, COUNT_ABOVE, NEVER_ENDS, RUNNING_S, Client, Contract
from tests.support.wire_proxy import WireProxy

BY_NATION = "SELECT n_name, count(*) FROM customer JOIN nation ON c_nationkey = n_nationkey GROUP BY n_name"
TABLES_SQL = "SELECT table_name FROM information_schema.tables WHERE table_schema = %s"


class Psycopg(Client):
    """psycopg 3 with its C or Python implementation, whichever is installed."""

    def connect(self, *, autocommit: bool = True) -> Connection:
        return psycopg.connect(self.proxy.conninfo(self.name, self.key), autocommit=autocommit)

    def tables(self) -> set[str]:
        with self.connect() as connection:
            return {name for (name,) in connection.execute(TABLES_SQL, ("public",))}

    def rows(self, statements: Sequence[str]) -> list[list[Sequence[object]]]:
        with self.connect() as connection:
            return [list(connection.execute(sql.encode())) for sql in statements]

    def prepared(self, values: Sequence[float]) -> list[object]:
        with self.connect() as connection:
            sql = COUNT_ABOVE.format("%s").encode()
            found = [connection.execute(sql, (value,), prepare=True).fetchone() for value in values]
        return [row[0] for row in found if row is not None]

    def refusal(self, sql: str) -> str:
        with self.connect() as connection:
            try:
                connection.execute(sql.encode())
            except psycopg.Error as error:
                return error.sqlstate or ""
        return ""

    def cancelled(self) -> str:
        with self.connect() as connection:
            threading.Timer(RUNNING_S, connection.cancel_safe).start()
            try:
                connection.execute(NEVER_ENDS)
            except psycopg.Error as error:
                assert connection.execute("SELECT 1").fetchone() == (1,)
                return error.sqlstate or ""
        return ""


class TestPsycopg(Contract):
    """The contract."""

    client = Psycopg


def test_text_and_binary_say_the_same(wire: WireProxy) -> None:
    with Psycopg(wire, 1.5).connect() as connection:
        with connection.cursor(binary=False) as cursor:
            text = cursor.execute(BY_NATION).fetchall()
        with connection.cursor(binary=True) as cursor:
            binary = cursor.execute(BY_NATION).fetchall()
    assert text == binary
    assert len(text) == 25


def test_catalogs_in_binary_with_parameters(wire: WireProxy) -> None:
    client = Psycopg(wire, 1.0)
    with client.connect() as connection, connection.cursor(binary=True) as cursor:
        assert ("orders",) in cursor.execute(TABLES_SQL, ("public",)).fetchall()


def test_parameters_in_binary(wire: WireProxy) -> None:
    client = Psycopg(wire, 2.5)
    with client.connect() as connection:
        spelled = connection.execute("SELECT count(*) FROM orders WHERE o_orderkey > %t", (100,)).fetchone()
        packed = connection.execute("SELECT count(*) FROM orders WHERE o_orderkey > %b", (100,)).fetchone()
    assert spelled == packed
    assert client.left() == 1.5


@pytest.mark.clients  # after a while by the clock
def test_a_session_ends_what_another_of_its_analyst_does(wire: WireProxy) -> None:
    """As dbt does at Ctrl-C, and Superset at Stop."""
    client = Psycopg(wire, 2.0)
    with client.connect() as running, client.connect() as other, Psycopg(wire, 1.0).connect() as stranger:
        number = running.info.backend_pid
        assert running.execute("SELECT pg_backend_pid()").fetchone() == (number,)
        end = b"SELECT pg_terminate_backend(%d)" % number
        assert stranger.execute(end).fetchone() == (False,)
        threading.Timer(RUNNING_S, other.execute, (end,)).start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            running.execute(NEVER_ENDS)
        with pytest.raises(psycopg.OperationalError):
            running.execute("SELECT 1")


def test_a_pipeline_pays_for_what_is_new(wire: WireProxy) -> None:
    client = Psycopg(wire, 2.0)
    with client.connect() as connection, connection.pipeline():
        cursors = [connection.execute(COUNT) for _ in range(5)]
        assert len({cursor.fetchone() for cursor in cursors}) == 1
    assert client.left() == 1.0


def test_a_pipeline_stops_at_a_refusal(wire: WireProxy) -> None:
    client = Psycopg(wire, 2.0)
    with client.connect() as connection:
        try:
            with connection.pipeline():
                connection.execute("SELECT count(*) FROM nowhere")
                connection.execute(COUNT)
        except psycopg.errors.UndefinedTable:
            pass
        else:
            raise AssertionError("the refusal was not seen")
        assert connection.execute("SELECT 1").fetchone() == (1,)
    assert client.left() == 2.0


def test_asynchronously(wire: WireProxy) -> None:
    client = Psycopg(wire, 1.5)

    async def asked() -> list[tuple[object, ...] | None]:
        made = psycopg.AsyncConnection.connect(wire.conninfo(client.name, client.key))
        async with await made as connection:
            return [await (await connection.execute(COUNT)).fetchone() for _ in range(2)]

    first, second = asyncio.run(asked())
    assert first == second
    assert client.left() == 0.5


def test_a_server_cursor(wire: WireProxy) -> None:
    client = Psycopg(wire, 1.5)
    with client.connect(autocommit=False) as connection, ServerCursor(connection, "nations") as cursor:
        cursor.execute(BY_NATION)
        assert len(cursor.fetchmany(10)) == 10
        assert len(cursor.fetchall()) == 15
    assert client.left() == 0.5


def test_copy_gives_rows(wire: WireProxy) -> None:
    client = Psycopg(wire, 1.5)
    with client.connect() as connection, connection.cursor().copy(f"COPY ({BY_NATION}) TO STDOUT") as copy:
        assert len(list(copy.rows())) == 25


def test_transactions_and_errors_inside_them(wire: WireProxy) -> None:
    client = Psycopg(wire, 1.0)
    with client.connect(autocommit=False) as connection:
        with connection.transaction():
            try:
                with connection.transaction():
                    connection.execute("SELECT count(*) FROM nowhere")
            except psycopg.errors.UndefinedTable:
                pass
            assert connection.execute("SELECT 1").fetchone() == (1,)
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
