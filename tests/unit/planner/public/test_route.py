from __future__ import annotations

from planner.parsing.parse import read
from planner.public.route import lists_people, names_private_table
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

LISTS = [
    "SELECT o_totalprice, rank() OVER (ORDER BY o_totalprice) FROM orders",
    "SELECT n_name, f(c_name) FROM nation FULL JOIN customer ON c_nationkey = n_nationkey",
    "WITH r AS (SELECT *, row_number() OVER (PARTITION BY o_custkey) n FROM orders) SELECT * FROM r WHERE n = 1",
    "SELECT DISTINCT ON (o_custkey) o_custkey, o_orderdate FROM orders",
    "SELECT o_custkey FROM orders EXCEPT SELECT c_custkey FROM customer",
    "SELECT n_name FROM nation UNION ALL (SELECT c_name FROM customer)",
    "SELECT DISTINCT c_custkey AS who, f(1) FROM customer",
    "SELECT c_name, x.n FROM nation, LATERAL (SELECT * FROM customer WHERE c_nationkey = n_nationkey LIMIT 1) AS x",
    "SELECT o_custkey, array_agg(o_orderkey) FROM orders GROUP BY o_custkey",
    "SELECT o.o_custkey AS who, string_agg(o_comment, ',') FROM orders AS o GROUP BY 1",
    "WITH m AS (SELECT c_custkey, count(*) n FROM customer GROUP BY 1) SELECT *, rank() OVER (ORDER BY n) FROM m",
    "SELECT c_name, (SELECT count(*) FROM orders WHERE o_custkey = c_custkey) FROM customer",
]
LISTS_NOT = [
    "SELECT count(*) OVER (), count(*) FROM orders",
    "SELECT array_agg(c_name) FROM customer",
    "SELECT o_orderstatus, array_agg(o_orderkey) FROM orders GROUP BY o_orderstatus",
    "SELECT sum(n) OVER () FROM (SELECT o_orderstatus, count(*) n FROM orders GROUP BY 1) AS t",
    "SELECT DISTINCT o_orderstatus, f(1) FROM orders",
    "SELECT o_orderstatus FROM orders UNION SELECT c_mktsegment FROM customer",
    "SELECT 1 FROM orders HAVING f(count(*))",
    "SELECT n_name, rank() OVER (ORDER BY n_name) FROM nation",
    "WITH customer AS (SELECT * FROM nation) SELECT f(n_name) FROM customer",
    "SELECT avg(n) FROM (SELECT o_custkey, count(*) n FROM orders GROUP BY o_custkey) AS p",
]


def test_an_answer_of_people_is_seen_whatever_else_is_refused() -> None:
    for sql in LISTS:
        assert lists_people(read(sql).tree, tpch_schema(), demo_policy()) is not None, sql
    for sql in LISTS_NOT:
        assert lists_people(read(sql).tree, tpch_schema(), demo_policy()) is None, sql


def test_a_private_table_is_seen_wherever_it_stands() -> None:
    for sql in PRIVATE:
        assert names_private_table(read(sql).tree, tpch_schema(), demo_policy())


def test_public_tables_and_ctes_are_not_private() -> None:
    for sql in PUBLIC:
        assert not names_private_table(read(sql).tree, tpch_schema(), demo_policy())
