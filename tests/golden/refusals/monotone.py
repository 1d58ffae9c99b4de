"""What is not monotone in one person's rows: outer joins, subqueries, set operations, cuts."""

from __future__ import annotations

from planner.errors import UnsupportedSQL
from tests.golden.refusals.refusal import Refusal

_ORDERS = "SELECT count(*) FROM orders"
_JOINED = "SELECT count(*) FROM customer JOIN orders ON c_custkey = o_custkey"

NOT_MONOTONE = (
    Refusal(f"{_ORDERS} WHERE o_orderkey = 1 OR ^EXISTS (SELECT 1 FROM lineitem WHERE l_orderkey = o_orderkey)",
     UnsupportedSQL, "EXISTS", "COUNT(DISTINCT",
     "SELECT count(DISTINCT o_orderkey) FROM orders JOIN lineitem ON l_orderkey = o_orderkey"),
    Refusal("SELECT count(*) FILTER (WHERE ^EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey)) FROM customer",
     UnsupportedSQL, "EXISTS", "condition of WHERE",
     "SELECT count(*) FROM customer WHERE EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey)"),
    Refusal(f"{_ORDERS} WHERE NOT (o_orderkey = 1 AND ^EXISTS (SELECT 1 FROM lineitem WHERE l_orderkey ="
     " o_orderkey))",
     UnsupportedSQL, "EXISTS"),
    Refusal("SELECT count(*) FROM customer WHERE NOT EXISTS (^SELECT 1 FROM orders WHERE o_custkey < c_custkey)",
     UnsupportedSQL, "NOT EXISTS over rows of other owners", "no equality connects orders.o_custkey with",
     "SELECT count(*) FROM customer WHERE NOT EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey)"),
    Refusal("SELECT count(*) FROM nation WHERE EXISTS (^SELECT 1 FROM customer WHERE c_nationkey = n_nationkey)",
     UnsupportedSQL, "EXISTS over rows of other owners", "COUNT(DISTINCT",
     "SELECT count(DISTINCT n_nationkey) FROM nation JOIN customer ON c_nationkey = n_nationkey"),
    Refusal("SELECT count(*) FROM customer WHERE EXISTS (^SELECT 1 FROM lineitem, supplier WHERE l_suppkey ="
     " s_suppkey"
     " AND l_orderkey = c_custkey)", UnsupportedSQL, "EXISTS over rows of other owners",
     "lineitem is owned through orders"),
    Refusal(f"{_ORDERS} WHERE ^o_custkey NOT IN (SELECT src FROM knows)", UnsupportedSQL,
     "NOT IN over rows of other owners", "no equality connects knows.dst with the customer"),
    Refusal(f"{_ORDERS} WHERE o_custkey IN (SELECT c_custkey FROM customer ^LIMIT 5)", UnsupportedSQL,
     "LIMIT inside IN", "leave LIMIT out", f"{_ORDERS} WHERE o_custkey IN (SELECT c_custkey FROM customer)"),
    Refusal(f"{_ORDERS} WHERE o_custkey IN (SELECT ^max(c_custkey) FROM customer)", UnsupportedSQL, "aggregate"),
    Refusal(f"{_ORDERS} WHERE EXISTS (SELECT 1 FROM lineitem WHERE l_orderkey = o_orderkey AND"
     " NOT EXISTS (^SELECT 1 FROM part WHERE p_partkey = l_partkey))", UnsupportedSQL,
     "NOT EXISTS or NOT IN inside another subquery", "beside the other one"),
    Refusal("SELECT count(*) FROM lineitem WHERE l_quantity < (^SELECT avg(l_quantity) FROM lineitem)",
     UnsupportedSQL, "subquery", "literal", "SELECT count(*) FROM lineitem WHERE l_quantity < 25.5"),
    Refusal(f"{_ORDERS} WHERE o_custkey = ^ANY (SELECT c_custkey FROM customer)", UnsupportedSQL, "ANY", "join",
     _JOINED),
    Refusal(f"{_ORDERS} WHERE o_totalprice > ^ALL (SELECT c_acctbal FROM customer)", UnsupportedSQL, "ALL"),
    Refusal("SELECT count(*) FROM customer ^LEFT JOIN orders ON c_nationkey = o_custkey", UnsupportedSQL,
     "LEFT JOIN", "no equality connects orders.o_custkey with the customer", _JOINED),
    Refusal("SELECT count(*) FROM customer ^LEFT JOIN knows ON c_custkey = src", UnsupportedSQL, "LEFT JOIN",
     "no equality connects knows.dst with the customer",
     "SELECT count(*) FROM customer LEFT JOIN knows ON c_custkey = src AND c_custkey = dst"),
    Refusal("SELECT count(*) FROM customer ^LEFT JOIN orders ON c_nationkey = o_custkey WHERE o_custkey = c_custkey",
     UnsupportedSQL, "LEFT JOIN", "inner JOIN", _JOINED),
    Refusal("SELECT count(*) FROM customer LEFT JOIN orders ON c_custkey = o_custkey ^RIGHT JOIN nation ON true",
     UnsupportedSQL, "RIGHT JOIN after other joins", "LEFT JOIN"),
    Refusal("SELECT count(*) FROM customer ^FULL JOIN orders ON c_custkey = o_custkey", UnsupportedSQL, "FULL JOIN",
     "LEFT JOIN both tables", "SELECT count(*) FROM customer LEFT JOIN orders ON c_custkey = o_custkey"),
    Refusal("SELECT count(*) FROM orders ^UNION ALL SELECT count(*) FROM lineitem", UnsupportedSQL, "UNION",
     "one after the other", _ORDERS),
    Refusal("SELECT count(*) FROM orders ^INTERSECT SELECT count(*) FROM lineitem", UnsupportedSQL, "INTERSECT"),
    Refusal("SELECT count(*) FROM orders ^EXCEPT SELECT count(*) FROM lineitem", UnsupportedSQL, "EXCEPT"),
    Refusal("SELECT count(*), sum(o_totalprice) FROM (SELECT ^DISTINCT o_clerk, o_totalprice FROM orders) AS buyers",
     UnsupportedSQL, "DISTINCT", "COUNT(DISTINCT",
     "SELECT count(*) FROM (SELECT DISTINCT o_custkey FROM orders) AS buyers"),
    Refusal("SELECT ^DISTINCT count(*) FROM orders GROUP BY o_orderpriority", UnsupportedSQL, "DISTINCT",
     "group key", "SELECT o_orderpriority, count(*) FROM orders GROUP BY o_orderpriority"),
    Refusal("SELECT count(*) FROM (SELECT o_clerk FROM orders ^GROUP BY o_clerk) AS x JOIN customer ON c_name ="
     " o_clerk",
     UnsupportedSQL, "GROUP BY"),
    Refusal("WITH x AS (SELECT o_orderkey FROM orders ^LIMIT 10) SELECT count(*) FROM x", UnsupportedSQL, "LIMIT"),
    Refusal("SELECT count(*) FROM (SELECT o_orderkey FROM orders ^OFFSET 10) AS x", UnsupportedSQL, "OFFSET"),
    Refusal("SELECT ^count(*) OVER () FROM orders", UnsupportedSQL, "window"),
    Refusal("WITH ^RECURSIVE x AS (SELECT src FROM knows) SELECT count(*) FROM x", UnsupportedSQL, "RECURSIVE",
     "as many times as the path is long", "SELECT count(*) FROM knows a JOIN knows b ON a.dst = b.src"),
    Refusal("SELECT count(*) FROM customer, ^LATERAL (SELECT o_orderkey FROM orders WHERE o_custkey = c_custkey) AS"
     " x",
     UnsupportedSQL, "LATERAL", "join", _JOINED),
    Refusal("SELECT count(*) FROM ^generate_series(1, 10)", UnsupportedSQL, "generate_series"),
    Refusal("SELECT count(*) FROM orders, (^VALUES (1), (2)) AS v(x)", UnsupportedSQL, "VALUES"),
)  # fmt: skip
