SELECT count(*), sum(l_quantity) FROM lineitem
WHERE l_orderkey IN (SELECT o_orderkey FROM orders WHERE o_orderpriority = '1-URGENT')
  AND EXISTS (SELECT * FROM lineitem other WHERE other.l_orderkey = lineitem.l_orderkey AND other.l_quantity > 45)
