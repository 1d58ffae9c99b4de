"""Aggregates, group keys and what is done with released values."""

from __future__ import annotations

from planner.errors import InvalidSyntax, RowsNotShown, SensitivityUnbounded, UnsupportedSQL
from tests.golden.refusals.refusal import Refusal

_ORDERS = "SELECT count(*) FROM orders"

AGGREGATES = (
    Refusal("SELECT ^max(l_quantity, l_tax) FROM lineitem", UnsupportedSQL, "MAX", "greatest(x, y)"),
    Refusal("SELECT ^median(DISTINCT l_quantity) FROM lineitem", UnsupportedSQL, "distinct", "GROUP BY x"),
    Refusal("SELECT percentile_cont(ARRAY[^0.25, 0.75]) WITHIN GROUP (ORDER BY l_quantity) FROM lineitem",
     UnsupportedSQL, "array", "for each"),
    Refusal("SELECT ^percentile_cont(7) WITHIN GROUP (ORDER BY l_quantity) FROM lineitem", UnsupportedSQL,
     "percentile_cont"),
    Refusal("SELECT ^array_agg(o_custkey) FROM orders", UnsupportedSQL, "array_agg"),
    Refusal("SELECT ^string_agg(o_clerk, ',') FROM orders", UnsupportedSQL, "string_agg"),
    Refusal("SELECT sum(^DISTINCT l_quantity) FROM lineitem", UnsupportedSQL, "DISTINCT"),
    Refusal("SELECT sum(^count(*)) FROM lineitem", UnsupportedSQL, "aggregate"),
    Refusal(f"{_ORDERS} WHERE ^count(*) > 1", UnsupportedSQL, "aggregate", "HAVING",
     f"{_ORDERS} HAVING count(*) > 1"),
    Refusal("SELECT sum(^o_clerk) FROM orders", UnsupportedSQL, "o_clerk"),
    Refusal("SELECT ^o_clerk FROM orders", RowsNotShown, "aggregate", "COUNT", _ORDERS),
    Refusal("SELECT ^* FROM orders", RowsNotShown, "aggregate", "COUNT", _ORDERS),
    Refusal("SELECT ^o_orderpriority, count(*) FROM orders", UnsupportedSQL, "o_orderpriority", "group by",
     "SELECT o_orderpriority, count(*) FROM orders GROUP BY o_orderpriority"),
    Refusal("SELECT o_orderstatus, count(*) FROM orders GROUP BY ^ROLLUP (o_orderpriority, o_orderstatus)",
     UnsupportedSQL, "ROLLUP", "plain columns",
     "SELECT o_orderstatus, count(*) FROM orders GROUP BY o_orderpriority, o_orderstatus"),
    Refusal("SELECT count(*) FROM orders GROUP BY ^2", InvalidSyntax, "position"),
    Refusal("SELECT count(*) FROM orders HAVING ^o_totalprice > 5", UnsupportedSQL, "o_totalprice"),
    Refusal("SELECT count(*) FROM orders ORDER BY ^o_totalprice", UnsupportedSQL, "o_totalprice"),
    Refusal("SELECT count(*) FROM orders HAVING count(*) > (^SELECT count(*) FROM customer)", UnsupportedSQL,
     "subquery", "literal", "SELECT count(*) FROM orders HAVING count(*) > 1500"),
)  # fmt: skip

POLICY = (
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
