SELECT count(*), count(o_orderkey), count(DISTINCT c_nationkey)
FROM orders RIGHT JOIN customer ON o_custkey = c_custkey WHERE o_orderkey IS NULL
