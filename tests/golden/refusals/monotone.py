"""What is not monotone in one person's rows: outer joins, subqueries, set operations, cuts."""

from __future__ import annotations

from planner.errors import UnsupportedSQL
from tests.golden.refusals.refusal import Refusal

_ORDERS = "SELECT count(*) FROM orders"
_JOINED = "SELECT count(*) FROM customer JOIN orders ON c_custkey = o_custkey"

NOT_MONOTONE = (
    Refusal(f"{_ORDERS} WHERE o_orderkey = 1 OR EXISTS (^SELECT 1 FROM customer WHERE c_acctbal = o_totalprice)",
     UnsupportedSQL, "EXISTS over rows of other owners", "equate the key of the person",
     f"{_ORDERS} WHERE o_orderkey = 1 OR EXISTS (SELECT 1 FROM customer WHERE c_custkey = o_custkey)"),
    Refusal("SELECT count(*) FILTER (WHERE ^c_custkey IN (SELECT o_orderkey FROM orders)) FROM customer",
     UnsupportedSQL, "IN over rows of other owners", "equate the key of the person",
     "SELECT count(*) FILTER (WHERE c_custkey IN (SELECT o_custkey FROM orders)) FROM customer"),
    Refusal("SELECT count(*) FROM customer WHERE NOT EXISTS (^SELECT 1 FROM orders WHERE o_custkey < c_custkey)",
     UnsupportedSQL, "NOT EXISTS over rows of other owners", "no equality connects orders.o_custkey with",
     "SELECT count(*) FROM customer WHERE NOT EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey)"),
    Refusal("SELECT max(LEAST(GREATEST(n_regionkey, 0), 4)) FROM nation WHERE EXISTS (^SELECT 1 FROM customer"
     " WHERE c_nationkey = n_nationkey)",
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
    Refusal(f"{_ORDERS} WHERE o_totalprice > ^ANY (SELECT p_retailprice FROM part)", UnsupportedSQL, "ANY",
     "EXISTS (SELECT 1 FROM t WHERE x > y)",
     f"{_ORDERS} WHERE EXISTS (SELECT 1 FROM part WHERE o_totalprice > p_retailprice)"),
    Refusal(f"{_ORDERS} WHERE o_orderstatus ILIKE ^ANY (ARRAY['f', 'o'])", UnsupportedSQL, "ANY", "LIKE 'a%' OR",
     f"{_ORDERS} WHERE o_orderstatus ILIKE 'f' OR o_orderstatus ILIKE 'o'"),
    Refusal("SELECT avg((^SELECT count(*) FROM orders WHERE o_custkey = c_custkey GROUP BY o_orderdate))"
     " FROM customer", UnsupportedSQL, "may have several rows", "max(x)",
     "SELECT avg((SELECT count(*) FROM orders WHERE o_custkey = c_custkey)) FROM customer"),
    Refusal(f"{_ORDERS} WHERE o_totalprice > ^ALL (SELECT c_acctbal FROM customer)", UnsupportedSQL, "ALL"),
    Refusal("SELECT count(*) FROM customer ^LEFT JOIN orders ON c_nationkey = o_custkey", UnsupportedSQL,
     "LEFT JOIN", "no equality connects orders.o_custkey with the customer", _JOINED),
    Refusal("SELECT count(*) FROM customer ^LEFT JOIN knows ON c_custkey = src", UnsupportedSQL, "LEFT JOIN",
     "no equality connects knows.dst with the customer",
     "SELECT count(*) FROM customer LEFT JOIN knows ON c_custkey = src AND c_custkey = dst"),
    Refusal("SELECT count(*) FROM customer ^LEFT JOIN orders ON c_nationkey = o_custkey"
     " WHERE coalesce(o_custkey, 1) = c_custkey",
     UnsupportedSQL, "LEFT JOIN", "inner JOIN", _JOINED),
    Refusal("SELECT count(*) FROM customer LEFT JOIN orders ON c_custkey = o_custkey ^RIGHT JOIN nation ON true",
     UnsupportedSQL, "one person's row would replace", "inner JOIN"),
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
    Refusal("SELECT sum(o_totalprice) FROM (SELECT o_totalprice, ^row_number() OVER (PARTITION BY o_clerk"
     " ORDER BY o_orderdate) AS n FROM orders) x WHERE n = 1", UnsupportedSQL, "other people's rows", "PARTITION BY",
     "SELECT sum(o_totalprice) FROM (SELECT o_totalprice, row_number() OVER (PARTITION BY o_custkey, o_clerk"
     " ORDER BY o_orderdate) AS n FROM orders) x WHERE n = 1"),
    Refusal("SELECT o_custkey, ^row_number() OVER (PARTITION BY o_custkey ORDER BY o_orderdate) FROM orders",
     UnsupportedSQL, "window", "in a subquery of FROM", "SELECT sum(n) FROM (SELECT o_custkey, row_number() OVER"
     " (PARTITION BY o_custkey ORDER BY o_orderdate) AS n FROM orders) x"),
    Refusal("SELECT count(*) FROM (SELECT ^DISTINCT ON (o_clerk) o_orderstatus FROM orders) x", UnsupportedSQL,
     "DISTINCT ON", "DISTINCT ON",
     "SELECT count(*) FROM (SELECT DISTINCT ON (o_clerk, o_custkey) o_orderstatus FROM orders) x"),
    Refusal("SELECT ^DISTINCT ON (o_custkey) o_orderstatus FROM orders", UnsupportedSQL, "DISTINCT ON",
     "in a subquery of FROM",
     "SELECT count(*) FROM (SELECT DISTINCT ON (o_custkey) o_orderstatus FROM orders) x"),
    Refusal("WITH ^RECURSIVE x AS (SELECT src FROM knows UNION SELECT src FROM x) SELECT count(*) FROM x",
     UnsupportedSQL, "RECURSIVE",
     "as many times as the path is long", "SELECT count(*) FROM knows a JOIN knows b ON a.dst = b.src"),
    Refusal("SELECT count(*) FROM (SELECT ^max(o_shippriority) OVER (PARTITION BY o_custkey ORDER BY o_orderkey"
     " ROWS BETWEEN 10000 PRECEDING AND CURRENT ROW) AS m FROM orders) q WHERE m = 3", UnsupportedSQL, "moving frame",
     "UNBOUNDED PRECEDING", "SELECT count(*) FROM (SELECT max(o_shippriority) OVER (PARTITION BY o_custkey ORDER BY"
     " o_orderkey ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS m FROM orders) q WHERE m = 3"),
    Refusal("SELECT avg(x.o_totalprice) FROM orders a, LATERAL (SELECT o_totalprice FROM orders o WHERE o.o_custkey ="
     " a.o_custkey AND ^o.o_orderdate > a.o_orderdate ORDER BY o_orderdate LIMIT 1) AS x", UnsupportedSQL, "LATERAL",
     "window function", "SELECT avg(x) FROM (SELECT lead(o_totalprice) OVER (PARTITION BY o_custkey"
     " ORDER BY o_orderdate) AS x FROM orders) AS o"),
    Refusal("SELECT count(*) FROM (^SELECT o_clerk FROM orders INTERSECT SELECT c_name FROM customer) x",
     UnsupportedSQL, "INTERSECT of values", "the person's key",
     "SELECT count(*) FROM (SELECT o_custkey FROM orders INTERSECT SELECT c_custkey FROM customer) x"),
    Refusal("SELECT count(*) FROM (^SELECT c_custkey FROM customer EXCEPT ALL SELECT o_custkey FROM orders) x",
     UnsupportedSQL, "EXCEPT ALL", "leave ALL out",
     "SELECT count(*) FROM (SELECT c_custkey FROM customer EXCEPT SELECT o_custkey FROM orders) x"),
    Refusal("SELECT count(*) FROM orders, ^generate_series(1, o_custkey)", UnsupportedSQL, "generate_series",
     "write constants", "SELECT n, count(o_orderkey) FROM generate_series(1, 9) AS n LEFT JOIN orders ON"
     " o_custkey = n GROUP BY n"),
)  # fmt: skip
