SELECT count(*)
FROM orders
WHERE o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1994-01-31' + INTERVAL '1' MONTH
  AND (o_comment NOT LIKE '%special%' OR o_orderpriority IN ('1-URGENT', '2-HIGH'))
  AND NOT o_totalprice * 2 - 1 BETWEEN 100 AND 1000.50
  AND o_clerk IS NOT NULL;
