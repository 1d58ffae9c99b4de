"""The types of answers' columns are those of PostgreSQL for the same statement, and so are the values' forms."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg.pq import ExecStatus

from tests.support.wire_proxy import WireProxy

PUBLIC = [
    "SELECT * FROM nation",
    "SELECT p_size, p_retailprice, p_name, p_size + 1, p_size / 2, p_retailprice * 2, p_size::int2 FROM part LIMIT 9",
    "SELECT count(*), sum(p_size), avg(p_size), sum(p_retailprice), max(p_retailprice), min(p_size) FROM part",
    "SELECT sum(n_nationkey), avg(n_nationkey::float8), count(*)::int, n_regionkey::numeric(8,3) FROM nation"
    " GROUP BY 4",
    "SELECT 1 AS one, 2.50, 'text', true, DATE '2024-01-31', TIMESTAMP '2024-01-31 01:02:03' FROM region LIMIT 1",
    "SELECT r_name::varchar(10), r_regionkey::real / 3, extract(year FROM DATE '2024-01-31') FROM region",
]
NATION, PRIORITY = "LEAST(GREATEST(c_nationkey, 0), 25)", "LEAST(GREATEST(o_shippriority, 0), 25)"
NOISY = [
    f"SELECT count(*), sum({NATION}), avg({NATION}), count(*)::int, count(DISTINCT c_nationkey) FROM customer",
    f"SELECT c_nationkey, count(*) + 1, round(avg({NATION}), 2) FROM customer WHERE c_nationkey IN (1, 2) GROUP BY 1",
    f"SELECT sum({PRIORITY} * 1.5), avg({PRIORITY}), sum({PRIORITY}::float8), sum({PRIORITY})::int2 FROM orders",
    "SELECT extract(year FROM o_orderdate) AS y, date_trunc('month', o_orderdate) AS m, count(*) FROM orders"
    " WHERE o_orderdate BETWEEN '1995-01-01' AND '1995-12-31' GROUP BY 1, 2",
    "SELECT n_name, r_regionkey, sum(l_quantity) AS q, sum(l_quantity)::numeric(12,2) FROM customer"
    " JOIN orders ON o_custkey = c_custkey JOIN lineitem ON l_orderkey = o_orderkey"
    " JOIN nation ON c_nationkey = n_nationkey JOIN region ON n_regionkey = r_regionkey GROUP BY 1, 2",
    "SELECT count(*)::text, count(*)::int2, count(*)::numeric(8, 1) FROM customer",
    "SELECT n, n * 2 AS m FROM (SELECT count(*) AS n FROM customer) t",
]


@pytest.fixture(scope="module")
def proxy(wire: WireProxy) -> Iterator[psycopg.Connection]:
    with psycopg.connect(wire.conninfo(*wire.analyst(1000.0)), autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def database(tpch_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(tpch_url, autocommit=True) as connection:
        yield connection


def described(connection: psycopg.Connection, sql: str) -> list[tuple[str, int, int, int]]:
    connection.pgconn.prepare(b"", sql.encode())
    found = connection.pgconn.describe_prepared(b"")
    assert found.status == ExecStatus.COMMAND_OK, found.error_message
    return [
        ((found.fname(at) or b"").decode(), found.ftype(at), found.fmod(at), found.fsize(at))
        for at in range(found.nfields)
    ]


@pytest.mark.parametrize("sql", [*PUBLIC, *NOISY])
def test_columns_have_postgresqls_types(proxy: psycopg.Connection, database: psycopg.Connection, sql: str) -> None:
    assert described(proxy, sql) == described(database, sql)


@pytest.mark.parametrize("sql", PUBLIC)
def test_public_rows_read_as_postgresqls(proxy: psycopg.Connection, database: psycopg.Connection, sql: str) -> None:
    for binary in (False, True):
        ours, theirs = (sorted(one.execute(sql.encode(), binary=binary)) for one in (proxy, database))
        assert ours == theirs
        assert [list(map(type, row)) for row in ours] == [list(map(type, row)) for row in theirs]


@pytest.mark.parametrize("sql", NOISY)
def test_noisy_rows_have_the_same_types(proxy: psycopg.Connection, database: psycopg.Connection, sql: str) -> None:
    for binary in (False, True):
        (ours, *_), (theirs, *_) = (one.execute(sql.encode(), binary=binary).fetchall() for one in (proxy, database))
        assert list(map(type, ours)) == list(map(type, theirs))


def test_duckdb_reads_a_public_table(proxy: psycopg.Connection, database: psycopg.Connection) -> None:
    """Byte for byte: its extension copies in binary, and reads each column as the type that the catalog says."""
    for columns in (
        '"n_nationkey", "n_name", "n_regionkey" FROM nation',
        '"p_size", "p_retailprice" FROM "public"."part"',
    ):
        sql = f'COPY (SELECT {columns} ORDER BY 1) TO STDOUT (FORMAT "binary")'.encode()
        copies = []
        for connection in (proxy, database):
            with connection.cursor().copy(sql) as copy:
                copies.append(b"".join(map(bytes, copy)))
        assert copies[0] == copies[1]
