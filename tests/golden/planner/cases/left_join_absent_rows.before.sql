SELECT n_name, count(*)
FROM customer LEFT JOIN orders ON o_custkey = c_custkey AND o_orderstatus = 'O'
JOIN nation ON n_nationkey = c_nationkey
WHERE o_orderkey IS NULL
GROUP BY n_name
