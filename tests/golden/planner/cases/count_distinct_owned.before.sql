SELECT o_orderpriority, count(DISTINCT l_orderkey) AS orders, count(DISTINCT o_orderkey) FILTER (WHERE l_quantity > 40)
FROM lineitem JOIN orders ON l_orderkey = o_orderkey
WHERE o_orderpriority IN ('1-URGENT', '5-LOW')
GROUP BY o_orderpriority
