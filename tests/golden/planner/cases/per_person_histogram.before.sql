SELECT coalesce(least(n, 20), 0) AS n, count(*) AS customers
FROM customer
LEFT JOIN (SELECT o_custkey, count(*) AS n FROM orders GROUP BY o_custkey) AS per_customer ON o_custkey = c_custkey
GROUP BY 1
