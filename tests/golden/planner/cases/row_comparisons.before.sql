SELECT count(*), sum(CASE WHEN (o_orderstatus, o_orderpriority) <> ('F', '5-LOW') THEN 1 ELSE 0 END)
FROM orders JOIN customer ON (o_custkey, o_custkey) = (c_custkey, c_custkey)
WHERE (o_orderstatus, o_orderpriority) IN (('F', '1-URGENT'), ('O', '5-LOW'), ('F', '5-LOW'))
  AND (o_orderdate, o_orderkey) >= (DATE '1994-01-31', 3000) AND (c_mktsegment, c_custkey) NOT IN (('BUILDING', 1), ('MACHINERY', 4))
