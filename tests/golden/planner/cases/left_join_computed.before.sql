SELECT count(DISTINCT o.o_custkey), count(l.k)
FROM orders o LEFT JOIN (SELECT o_custkey AS who, date_trunc('month', o_orderdate) AS k FROM orders WHERE o_orderstatus = 'F') l
  ON l.who = o.o_custkey AND l.k = date_trunc('month', o.o_orderdate) + INTERVAL '1 month'
