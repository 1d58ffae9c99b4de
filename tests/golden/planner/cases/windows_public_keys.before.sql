SELECT n_name, place, count(*) AS orders
FROM (
    SELECT n_name, o_totalprice, ntile(2) OVER (PARTITION BY c_custkey ORDER BY o_totalprice, o_orderkey) AS place,
        count(*) OVER (PARTITION BY c_custkey ORDER BY o_orderdate RANGE BETWEEN INTERVAL '90 days' PRECEDING AND CURRENT ROW)
            AS recent
    FROM customer JOIN orders ON o_custkey = c_custkey JOIN nation ON n_nationkey = c_nationkey
) AS placed
WHERE recent > 1
GROUP BY n_name, place
