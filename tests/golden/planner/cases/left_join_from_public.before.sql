SELECT n_name, count(c_custkey), count(DISTINCT c_mktsegment)
FROM nation LEFT JOIN customer ON c_nationkey = n_nationkey AND c_custkey > 700
GROUP BY n_name
