"""Aggregates, group keys and what is done with released values."""

from __future__ import annotations

from planner.errors import InvalidSyntax, RowsNotShown, SensitivityUnbounded, UnsupportedSQL
from tests.golden.refusals.refusal import Refusal

_ORDERS = "SELECT count(*) FROM orders"

AGGREGATES = (
    Refusal("SELECT ^max(l_quantity, l_tax) FROM lineitem", UnsupportedSQL, "MAX", "greatest(x, y)"),
    Refusal("SELECT ^median(DISTINCT l_quantity) FROM lineitem", UnsupportedSQL, "distinct", "GROUP BY x"),
    Refusal("SELECT abs(percentile_cont(ARRAY[^0.25, 0.75]) WITHIN GROUP (ORDER BY l_quantity)) FROM lineitem",
     UnsupportedSQL, "array", "for each"),
    Refusal("SELECT ^percentile_cont(7) WITHIN GROUP (ORDER BY l_quantity) FROM lineitem", UnsupportedSQL,
     "percentile_cont"),
    Refusal("SELECT ^array_agg(o_custkey) FROM orders", UnsupportedSQL, "array_agg"),
    Refusal("SELECT ^string_agg(o_clerk, ',') FROM orders", UnsupportedSQL, "string_agg"),
    Refusal("SELECT variance(^DISTINCT l_quantity) FROM lineitem", UnsupportedSQL, "DISTINCT"),
    Refusal("SELECT ^percentile_cont(l_quantity, 0.5) FROM lineitem", UnsupportedSQL, "two arguments",
     "percentile_cont(0.5) WITHIN GROUP (ORDER BY x)",
     "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY l_quantity) FROM lineitem"),
    Refusal("SELECT ^count(o_clerk, o_orderkey) FROM orders", UnsupportedSQL, "several columns",
     "count(DISTINCT (x, y))",
     "SELECT count(DISTINCT (o_clerk, o_orderkey)) FROM orders"),
    Refusal("SELECT ^cuont(*) FROM orders", UnsupportedSQL, "cuont", "did you mean count?", _ORDERS),
    Refusal("SELECT avg(^o_orderdate) FROM orders", UnsupportedSQL, "not a number", "median(x)",
     "SELECT median(o_orderdate), avg(extract(epoch FROM o_orderdate)) FROM orders"),
    Refusal("SELECT o_orderstatus, count(*) FROM orders GROUP BY 1, ^2", UnsupportedSQL, "aggregate in GROUP BY",
     "group by columns", "SELECT o_orderstatus, count(*) FROM orders GROUP BY 1"),
    Refusal(f"{_ORDERS} WHERE o_totalprice > ^avg(o_totalprice)", UnsupportedSQL, "aggregate", "as a literal",
     f"{_ORDERS} WHERE o_totalprice > 150000"),
    Refusal("SELECT sum(^count(*)) FROM lineitem", UnsupportedSQL, "aggregate"),
    Refusal(f"{_ORDERS} WHERE ^count(*) > 1", UnsupportedSQL, "aggregate", "HAVING",
     f"{_ORDERS} HAVING count(*) > 1"),
    Refusal("SELECT sum(^o_clerk) FROM orders", UnsupportedSQL, "o_clerk"),
    Refusal("SELECT ^o_clerk FROM orders", RowsNotShown, "aggregate", "COUNT", _ORDERS),
    Refusal("SELECT ^* FROM orders", RowsNotShown, "aggregate", "COUNT", _ORDERS),
    Refusal("SELECT ^o_orderpriority, count(*) FROM orders", UnsupportedSQL, "o_orderpriority", "group by",
     "SELECT o_orderpriority, count(*) FROM orders GROUP BY o_orderpriority"),
    Refusal("SELECT o_orderstatus, count(*) FROM orders GROUP BY ^ROLLUP (o_orderpriority, o_orderstatus)",
     UnsupportedSQL, "ROLLUP", "level by level",
     "SELECT o_orderstatus, count(*) FROM orders GROUP BY o_orderpriority, o_orderstatus"),
    Refusal("SELECT count(*) FROM orders GROUP BY ^2", InvalidSyntax, "position"),
    Refusal("SELECT count(*) FROM orders HAVING ^o_totalprice > 5", UnsupportedSQL, "o_totalprice"),
    Refusal("SELECT count(*) FROM orders ORDER BY ^o_totalprice", UnsupportedSQL, "o_totalprice"),
    Refusal("SELECT count(*) FROM orders HAVING count(*) > (^SELECT count(*) FROM customer)", UnsupportedSQL,
     "subquery", "literal", "SELECT count(*) FROM orders HAVING count(*) > 1500"),
)  # fmt: skip

POLICY = (
    Refusal("SELECT o_totalprice, count(*) FROM orders GROUP BY ^o_totalprice", SensitivityUnbounded,
     "orders.o_totalprice", "width_bucket(x, 0, 100, 10)",
     "SELECT width_bucket(o_totalprice, 0, 600000, 10), count(*) FROM orders GROUP BY 1"),
    Refusal("SELECT count(*) FROM orders GROUP BY ^floor(o_orderkey / 10)",
     SensitivityUnbounded, "computed from orders.o_orderkey", "narrow it in WHERE",
     "SELECT count(*) FROM orders WHERE o_orderkey BETWEEN 0 AND 100 GROUP BY floor(o_orderkey / 10)"),
    Refusal("SELECT count(*) FROM knows a JOIN customer c ON a.src = c.c_custkey JOIN customer d ON"
     " d.c_custkey = a.dst GROUP BY ^c.c_custkey", SensitivityUnbounded, "no group of customer",
     "count(DISTINCT c.c_custkey)", "SELECT count(DISTINCT c.c_custkey) FROM knows a JOIN customer c"
     " ON a.src = c.c_custkey JOIN customer d ON d.c_custkey = a.dst"),
    Refusal("SELECT c_custkey, count(*) FROM customer JOIN orders ON o_custkey = c_custkey GROUP BY ^c_custkey",
     SensitivityUnbounded, "no group of customer can be shown", "count(DISTINCT c_custkey)",
     "SELECT count(DISTINCT c_custkey) FROM customer JOIN orders ON o_custkey = c_custkey"),
    Refusal("SELECT count(*) FROM orders GROUP BY ^o_custkey", SensitivityUnbounded,
     "no group of customer can be shown", "count(DISTINCT o_custkey)",
     "SELECT count(DISTINCT o_custkey) FROM orders"),
    Refusal("SELECT o_orderstatus, count(*) FROM orders GROUP BY o_orderstatus, ^o_orderkey", SensitivityUnbounded,
     "no group of orders can be shown", "count(DISTINCT o_orderkey)",
     "SELECT o_orderstatus, count(DISTINCT o_orderkey) FROM orders GROUP BY o_orderstatus"),
    Refusal("SELECT o_clerk, count(*) FROM orders GROUP BY ^o_clerk", SensitivityUnbounded, "orders.o_clerk",
     "domain", "SELECT o_orderpriority, count(*) FROM orders GROUP BY o_orderpriority"),
    Refusal("SELECT sum(^o_shippriority * 2) FROM orders", SensitivityUnbounded, "orders.o_shippriority", "range",
     "SELECT sum(o_totalprice * 2) FROM orders"),
    Refusal("SELECT avg(^o_shippriority) FROM orders", SensitivityUnbounded, "orders.o_shippriority",
     "LEAST(GREATEST(o_shippriority, 0), 100)", "SELECT avg(LEAST(GREATEST(o_shippriority, 0), 100)) FROM orders"),
    Refusal("SELECT sum(LEAST(GREATEST(^o_shippriority, o_custkey), 100)) FROM orders", SensitivityUnbounded,
     "orders.o_shippriority", "LEAST(GREATEST(o_shippriority, 0), 100)",
     "SELECT sum(GREATEST(LEAST(o_shippriority, 100), 0)) FROM orders"),
    Refusal("SELECT sum(LEAST(GREATEST(^o_shippriority, 7), 5)) FROM orders", SensitivityUnbounded,
     "orders.o_shippriority", "LEAST(GREATEST(o_shippriority, 0), 100)",
     "SELECT sum(LEAST(GREATEST(o_shippriority, 5), 7)) FROM orders"),
)  # fmt: skip
