WITH starts AS (
    SELECT o_custkey, o_orderkey, o_orderdate,
        CASE WHEN o_orderdate - lag(o_orderdate) OVER (PARTITION BY o_custkey ORDER BY o_orderdate, o_orderkey) <= 60
            THEN 0 ELSE 1 END AS starts
    FROM orders
), numbered AS (
    SELECT o_custkey, sum(starts) OVER (PARTITION BY o_custkey ORDER BY o_orderdate, o_orderkey) AS session FROM starts
)
SELECT LEAST(n, 5) AS orders, count(*) AS sessions
FROM (SELECT o_custkey, session, count(*) AS n FROM numbered GROUP BY o_custkey, session) AS s
GROUP BY 1
