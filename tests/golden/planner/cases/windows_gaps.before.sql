WITH ordered AS (
    SELECT o_custkey, o_totalprice, o_orderdate - lag(o_orderdate) OVER w AS days, row_number() OVER w AS place,
        sum(o_totalprice) OVER (w ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS recent
    FROM orders WINDOW w AS (PARTITION BY o_custkey ORDER BY o_orderdate, o_orderkey)
)
SELECT n_name, count(*) AS orders, avg(days) AS gap, sum(recent) AS recent
FROM ordered JOIN customer ON c_custkey = o_custkey JOIN nation ON n_nationkey = c_nationkey
WHERE place BETWEEN 2 AND 9
GROUP BY n_name
