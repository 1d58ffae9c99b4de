"""SQLAlchemy 2: reflection, queries in Core, and pandas on top of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from server.demo.demonstration import QUERIES
from tests.e2e.clients.contract import COUNT_ABOVE, NEVER_ENDS, RUNNING_S, Client, Contract, installed
from tests.support.wire_proxy import WireProxy

pytestmark = installed("sqlalchemy")


class SqlAlchemy(Client):
    """SQLAlchemy through psycopg."""

    @contextmanager
    def engine(self) -> Iterator[Any]:
        import sqlalchemy

        arguments = {"sslmode": "verify-full", "sslrootcert": str(self.proxy.authority)}
        address = f"postgresql+psycopg://{self.name}:{self.key}@localhost:{self.proxy.port}/demo"
        engine = sqlalchemy.create_engine(address, connect_args=arguments)
        try:
            yield engine
        finally:
            engine.dispose()

    @contextmanager
    def connect(self) -> Iterator[Any]:
        with self.engine() as engine, engine.connect() as connection:
            yield connection

    def tables(self) -> set[str]:
        import sqlalchemy

        with self.engine() as engine:
            return set(sqlalchemy.inspect(engine).get_table_names())

    def rows(self, statements: Sequence[str]) -> list[list[Sequence[object]]]:
        from sqlalchemy import text

        with self.connect() as connection:
            return [list(connection.execute(text(sql))) for sql in statements]

    def prepared(self, values: Sequence[float]) -> list[object]:
        from sqlalchemy import text

        statement = text(COUNT_ABOVE.format(":price"))
        with self.connect() as connection:
            return [connection.execute(statement, {"price": value}).scalar_one() for value in values]

    def refusal(self, sql: str) -> str:
        from sqlalchemy import text
        from sqlalchemy.exc import DBAPIError

        with self.connect() as connection:
            with pytest.raises(DBAPIError) as refused:
                connection.execute(text(sql))
            connection.rollback()
            return str(refused.value.orig.sqlstate)

    def cancelled(self) -> str:
        from sqlalchemy import text
        from sqlalchemy.exc import DBAPIError

        with self.connect() as connection:
            threading.Timer(RUNNING_S, connection.connection.dbapi_connection.cancel_safe).start()
            with pytest.raises(DBAPIError) as refused:
                connection.execute(text(NEVER_ENDS))
            connection.rollback()
            assert connection.execute(text("SELECT 1")).scalar_one() == 1
            return str(refused.value.orig.sqlstate)


class TestSqlAlchemy(Contract):
    """The contract."""

    client = SqlAlchemy


def test_reflection(wire: WireProxy) -> None:
    import sqlalchemy

    client = SqlAlchemy(wire, 1.0)
    with client.engine() as engine:
        known = sqlalchemy.MetaData()
        known.reflect(engine)
        orders = known.tables["orders"]
        assert [column.name for column in orders.primary_key] == ["o_orderkey"]
        assert {key.target_fullname for key in orders.foreign_keys} == {"customer.c_custkey"}
        assert isinstance(orders.c.o_orderdate.type, sqlalchemy.Date)
        assert sqlalchemy.inspect(engine).get_schema_names() == ["information_schema", "public"]
    assert client.left() == 1.0


def test_a_question_built_from_reflected_tables(wire: WireProxy) -> None:
    import sqlalchemy
    from sqlalchemy import func, select

    client = SqlAlchemy(wire, 1.5)
    with client.engine() as engine:
        known = sqlalchemy.MetaData()
        known.reflect(engine, only=["orders", "customer"])
        orders, customer = known.tables["orders"], known.tables["customer"]
        asked = select(func.count()).select_from(orders.join(customer)).where(orders.c.o_totalprice > 1000)
        with engine.connect() as connection:
            assert connection.execute(asked).scalar_one() == connection.execute(asked).scalar_one()
    assert client.left() == 0.5


@installed("pandas")
def test_pandas_reads_a_frame(wire: WireProxy) -> None:
    import pandas

    client = SqlAlchemy(wire, 1.5)
    with client.engine() as engine:
        first, second = (pandas.read_sql(QUERIES[-1].sql, engine) for _ in range(2))
    assert list(first.columns) == ["n_name", "revenue"]
    assert len(first) == 25
    assert first.equals(second)
    assert client.left() == 0.5
