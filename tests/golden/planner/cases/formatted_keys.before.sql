SELECT to_char(date_trunc('month', o_orderdate), 'YYYY-MM') AS month, count(*)
FROM orders
WHERE o_orderdate >= date '1998-01-01' AND o_orderdate < date '1998-03-01'
GROUP BY date_trunc('month', o_orderdate)
ORDER BY to_char(date_trunc('month', o_orderdate), 'YYYY-MM') DESC
