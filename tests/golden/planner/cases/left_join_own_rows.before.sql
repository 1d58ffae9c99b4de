SELECT n_name, count(*), count(o_orderkey), sum(l_quantity)
FROM customer LEFT JOIN orders ON o_custkey = c_custkey AND o_orderstatus = 'F'
LEFT JOIN lineitem ON l_orderkey = o_orderkey JOIN nation ON n_nationkey = c_nationkey
GROUP BY n_name
