SELECT o.o_orderdate, count(*)
FROM orders o
WHERE o.o_orderdate BETWEEN DATE '1995-01-01' AND DATE '1995-01-20'
GROUP BY o.o_orderdate
