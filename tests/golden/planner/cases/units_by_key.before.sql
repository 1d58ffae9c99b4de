-- mechanism: lpa
SELECT o_orderpriority, count(DISTINCT c_custkey) AS customers, count(DISTINCT o_custkey) FILTER (WHERE l_quantity > 40)
FROM lineitem JOIN orders ON l_orderkey = o_orderkey JOIN customer ON o_custkey = c_custkey
WHERE o_orderpriority IN ('1-URGENT', '5-LOW')
GROUP BY o_orderpriority
