SELECT n_name, count(*) AS orders, count(DISTINCT o_clerk) AS clerks,
       count(DISTINCT c_custkey) FILTER (WHERE o_orderpriority = '1-URGENT') AS urgent_customers
FROM orders JOIN customer ON o_custkey = c_custkey JOIN nation ON c_nationkey = n_nationkey
GROUP BY n_name
