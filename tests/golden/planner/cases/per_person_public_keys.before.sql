SELECT nation, region, count(*) AS customers, sum(n) AS orders FROM (
  SELECT n_name AS nation, r_name AS region, c_custkey, count(o_orderkey) AS n
  FROM customer LEFT JOIN orders ON o_custkey = c_custkey
  JOIN nation ON n_nationkey = c_nationkey LEFT JOIN region ON r_regionkey = n_regionkey AND r_name > 'B'
  GROUP BY n_name, r_name, c_custkey
) AS per_customer
GROUP BY nation, region
HAVING count(*) > 2
