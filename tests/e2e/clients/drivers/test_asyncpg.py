"""asyncpg: the extended protocol only, binary only, statements prepared by themselves."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import pytest

from tests.e2e.clients.contract import COUNT, COUNT_ABOVE, NEVER_ENDS, RUNNING_S, Client, Contract, installed
from tests.support.wire_proxy import WireProxy

pytestmark = installed("asyncpg")

T = TypeVar("T")
TABLES_SQL = "SELECT table_name FROM information_schema.tables WHERE table_schema = $1"


class Asyncpg(Client):
    """asyncpg."""

    @property
    def place(self) -> dict[str, Any]:
        tls = ssl.create_default_context(cafile=str(self.proxy.authority))
        return {
            "host": "localhost",
            "port": self.proxy.port,
            "user": self.name,
            "password": self.key,
            "database": "demo",
            "ssl": tls,
        }

    def within(self, work: Callable[[Any], Awaitable[T]]) -> T:
        """What `work` makes of a connection."""
        import asyncpg

        async def connected() -> T:
            connection = await asyncpg.connect(**self.place)
            try:
                return await work(connection)
            finally:
                await connection.close()

        return asyncio.run(connected())

    def tables(self) -> set[str]:
        async def listed(connection: Any) -> set[str]:
            return {row[0] for row in await connection.fetch(TABLES_SQL, "public")}

        return self.within(listed)

    def rows(self, statements: Sequence[str]) -> list[list[Sequence[object]]]:
        async def asked(connection: Any) -> list[list[Sequence[object]]]:
            return [[tuple(row) for row in await connection.fetch(sql)] for sql in statements]

        return self.within(asked)

    def prepared(self, values: Sequence[float]) -> list[object]:
        async def asked(connection: Any) -> list[object]:
            statement = await connection.prepare(COUNT_ABOVE.format("$1"))
            return [await statement.fetchval(value) for value in values]

        return self.within(asked)

    def refusal(self, sql: str) -> str:
        import asyncpg

        async def refused(connection: Any) -> str:
            with pytest.raises(asyncpg.PostgresError) as said:
                await connection.fetch(sql)
            return str(said.value.sqlstate)

        return self.within(refused)

    def cancelled(self) -> str:
        """It cancels when its own timeout is over, and does not tell its caller the SQLSTATE."""

        async def ended(connection: Any) -> None:
            with pytest.raises(asyncio.TimeoutError):
                await connection.fetch(NEVER_ENDS, timeout=RUNNING_S)
            assert await connection.fetchval("SELECT 1", timeout=20) == 1

        self.within(ended)
        (code,) = self.refused_with()
        return code


class TestAsyncpg(Contract):
    """The contract."""

    client = Asyncpg


def test_the_sessions_own_timeout(wire: WireProxy) -> None:
    import asyncpg

    async def ended(connection: Any) -> None:
        await connection.execute("SET statement_timeout = '1s'")
        with pytest.raises(asyncpg.QueryCanceledError):
            await connection.fetch(NEVER_ENDS)

    Asyncpg(wire, 2.0).within(ended)


def test_a_pool_resets_its_sessions(wire: WireProxy) -> None:
    import asyncpg

    client = Asyncpg(wire, 1.5)

    async def asked() -> list[int]:
        async with asyncpg.create_pool(min_size=1, max_size=2, **client.place) as pool:
            return [await pool.fetchval(COUNT) for _ in range(3)]

    assert len(set(asyncio.run(asked()))) == 1
    assert client.left() == 0.5


def test_cursors_transactions_and_copy(wire: WireProxy) -> None:
    client = Asyncpg(wire, 1.5)
    sql = "SELECT n_name, count(*) FROM customer JOIN nation ON c_nationkey = n_nationkey GROUP BY n_name"

    async def asked(connection: Any) -> tuple[int, bytes]:
        import io

        async with connection.transaction(readonly=True):
            rows = [row async for row in connection.cursor(sql, prefetch=10)]
        written = io.BytesIO()
        await connection.copy_from_query(sql, output=written, format="csv")
        return len(rows), written.getvalue()

    count, written = client.within(asked)
    assert count == len(written.splitlines()) == 25


def test_it_learns_the_types_of_catalogs(wire: WireProxy) -> None:
    """Types that it does not know, it asks the catalog for: a recursive query with a parameter."""
    client = Asyncpg(wire, 1.0)

    async def asked(connection: Any) -> Any:
        await connection.fetchval("SELECT relacl FROM pg_class WHERE relname = $1", "orders")
        return await connection.fetchval("SELECT typname FROM pg_type WHERE oid = $1", 20)

    assert client.within(asked) == "int8"
