SELECT date_trunc('month', o_orderdate) AS month, count(*)
FROM orders
WHERE o_orderdate >= date_trunc('month', date '1998-03-15') - interval '2 months'
    AND o_orderdate < date_trunc('month', date '1998-03-15') - interval '1 millisecond'
GROUP BY 1
