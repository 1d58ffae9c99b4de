SELECT count(*) FROM customer c
WHERE NOT EXISTS (SELECT 1 FROM orders WHERE o_custkey = c.c_custkey AND o_orderstatus = 'O')
  AND c_custkey NOT IN (SELECT o_custkey FROM orders WHERE o_totalprice > 300000)
