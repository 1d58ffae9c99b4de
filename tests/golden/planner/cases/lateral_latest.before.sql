SELECT n_name, avg(latest.o_totalprice) AS price, sum(years) AS years
FROM customer
JOIN nation ON n_nationkey = c_nationkey
LEFT JOIN LATERAL (
    SELECT o_totalprice FROM orders WHERE o_custkey = c_custkey ORDER BY o_orderdate DESC, o_orderkey LIMIT 2
) AS latest ON true
CROSS JOIN LATERAL (
    SELECT count(DISTINCT extract(year FROM o_orderdate)) AS years FROM orders WHERE o_custkey = c_custkey
) AS counted
GROUP BY n_name
