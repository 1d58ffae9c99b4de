"""What is not monotone in one person's rows: outer joins, subqueries, set operations, cuts."""

from __future__ import annotations

from planner.errors import UnsupportedSQL
from tests.golden.refusals.refusal import Refusal

_ORDERS = "SELECT count(*) FROM orders"
_JOINED = "SELECT count(*) FROM customer JOIN orders ON c_custkey = o_custkey"

NOT_MONOTONE = (
    Refusal(
        f"{_ORDERS} WHERE ^EXISTS (SELECT 1 FROM lineitem WHERE l_orderkey = o_orderkey)",
        UnsupportedSQL,
        "EXISTS",
        "COUNT(DISTINCT",
        "SELECT count(DISTINCT o_orderkey) FROM orders JOIN lineitem ON l_orderkey = o_orderkey",
    ),
    Refusal(
        "SELECT count(*) FROM customer WHERE NOT ^EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey)",
        UnsupportedSQL,
        "EXISTS",
    ),
    Refusal(
        f"{_ORDERS} WHERE o_custkey IN (^SELECT c_custkey FROM customer WHERE c_nationkey = 1)",
        UnsupportedSQL,
        "subquery in IN",
        "join",
        f"{_JOINED} WHERE c_nationkey = 1",
    ),
    Refusal(f"{_ORDERS} WHERE o_custkey NOT IN (^SELECT c_custkey FROM customer)", UnsupportedSQL, "subquery in IN"),
    Refusal(
        "SELECT count(*) FROM lineitem WHERE l_quantity < (^SELECT avg(l_quantity) FROM lineitem)",
        UnsupportedSQL,
        "subquery",
        "literal",
        "SELECT count(*) FROM lineitem WHERE l_quantity < 25.5",
    ),
    Refusal(
        f"{_ORDERS} WHERE o_custkey = ^ANY (SELECT c_custkey FROM customer)", UnsupportedSQL, "ANY", "join", _JOINED
    ),
    Refusal(f"{_ORDERS} WHERE o_totalprice > ^ALL (SELECT c_acctbal FROM customer)", UnsupportedSQL, "ALL"),
    Refusal(
        "SELECT count(*) FROM customer ^LEFT JOIN orders ON c_custkey = o_custkey",
        UnsupportedSQL,
        "LEFT JOIN",
        "inner JOIN",
        _JOINED,
    ),
    Refusal(
        "SELECT count(*) FROM orders ^RIGHT JOIN customer ON c_custkey = o_custkey",
        UnsupportedSQL,
        "RIGHT JOIN",
        "inner JOIN",
        _JOINED,
    ),
    Refusal(
        "SELECT count(*) FROM customer ^FULL JOIN orders ON c_custkey = o_custkey",
        UnsupportedSQL,
        "FULL JOIN",
        "inner JOIN",
        _JOINED,
    ),
    Refusal(
        "SELECT count(*) FROM orders ^UNION ALL SELECT count(*) FROM lineitem",
        UnsupportedSQL,
        "UNION",
        "one after the other",
        _ORDERS,
    ),
    Refusal("SELECT count(*) FROM orders ^INTERSECT SELECT count(*) FROM lineitem", UnsupportedSQL, "INTERSECT"),
    Refusal("SELECT count(*) FROM orders ^EXCEPT SELECT count(*) FROM lineitem", UnsupportedSQL, "EXCEPT"),
    Refusal(
        "SELECT count(*) FROM (SELECT ^DISTINCT o_custkey FROM orders) AS buyers",
        UnsupportedSQL,
        "DISTINCT",
        "COUNT(DISTINCT",
        "SELECT count(DISTINCT o_custkey) FROM orders",
    ),
    Refusal(
        "SELECT ^DISTINCT count(*) FROM orders GROUP BY o_orderpriority",
        UnsupportedSQL,
        "DISTINCT",
        "group key",
        "SELECT o_orderpriority, count(*) FROM orders GROUP BY o_orderpriority",
    ),
    Refusal("SELECT count(*) FROM (SELECT ^count(*) AS n FROM orders) AS x", UnsupportedSQL, "aggregate"),
    Refusal(
        "SELECT count(*) FROM (SELECT o_custkey FROM orders ^GROUP BY o_custkey) AS x",
        UnsupportedSQL,
        "GROUP BY",
    ),
    Refusal("WITH x AS (SELECT o_orderkey FROM orders ^LIMIT 10) SELECT count(*) FROM x", UnsupportedSQL, "LIMIT"),
    Refusal("SELECT count(*) FROM (SELECT o_orderkey FROM orders ^OFFSET 10) AS x", UnsupportedSQL, "OFFSET"),
    Refusal("SELECT ^count(*) OVER () FROM orders", UnsupportedSQL, "window"),
    Refusal(
        "WITH ^RECURSIVE x AS (SELECT src FROM knows) SELECT count(*) FROM x",
        UnsupportedSQL,
        "RECURSIVE",
        "as many times as the path is long",
        "SELECT count(*) FROM knows a JOIN knows b ON a.dst = b.src",
    ),
    Refusal(
        "SELECT count(*) FROM customer, ^LATERAL (SELECT o_orderkey FROM orders WHERE o_custkey = c_custkey) AS x",
        UnsupportedSQL,
        "LATERAL",
        "join",
        _JOINED,
    ),
    Refusal("SELECT count(*) FROM ^generate_series(1, 10)", UnsupportedSQL, "generate_series"),
    Refusal("SELECT count(*) FROM orders, (^VALUES (1), (2)) AS v(x)", UnsupportedSQL, "VALUES"),
)
