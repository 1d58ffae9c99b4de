from __future__ import annotations

from planner.parsing.parse import read
from planner.public.route import names_private_table
from tests.support.planning import demo_policy
from tests.support.tpch_schema import tpch_schema

PRIVATE = [
    "SELECT count(*) FROM orders", 'SELECT count(*) FROM "orders"', "SELECT count(*) FROM ORDERS",
    "SELECT count(*) FROM public.orders", "SELECT count(*) FROM nation, customer WHERE c_nationkey = n_nationkey",
    "SELECT n_name FROM nation WHERE EXISTS (SELECT 1 FROM customer)", "SELECT (SELECT count(*) FROM customer)",
    "SELECT 1 UNION SELECT c_custkey FROM customer", "WITH a AS (SELECT * FROM customer) SELECT count(*) FROM a",
    "WITH customer AS (SELECT * FROM customer) SELECT count(*) FROM customer",
    "WITH customer AS (SELECT * FROM nation) SELECT count(*) FROM public.customer",
    "SELECT 1 FROM (WITH customer AS (SELECT 1) SELECT 1) AS q, customer",
    "WITH a AS (SELECT * FROM customer), customer AS (SELECT 1) SELECT * FROM a",
]  # fmt: skip
PUBLIC = [
    "SELECT 1", "SELECT n_name FROM nation", "SELECT 1 FROM nowhere", 'SELECT 1 FROM "ORDERS"',
    "WITH customer AS (SELECT * FROM nation) SELECT count(*) FROM customer",
    "WITH customer AS (SELECT 1), a AS (SELECT * FROM customer) SELECT * FROM a",
    "WITH customer AS (SELECT 1) SELECT 1 FROM (SELECT * FROM customer) AS q",
    "WITH customer AS (SELECT 1) SELECT 1 WHERE EXISTS (SELECT * FROM customer) UNION SELECT * FROM customer",
]  # fmt: skip


def test_a_private_table_is_seen_wherever_it_stands() -> None:
    for sql in PRIVATE:
        assert names_private_table(read(sql).tree, tpch_schema(), demo_policy())


def test_public_tables_and_ctes_are_not_private() -> None:
    for sql in PUBLIC:
        assert not names_private_table(read(sql).tree, tpch_schema(), demo_policy())
