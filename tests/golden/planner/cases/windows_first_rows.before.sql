SELECT o_orderstatus, count(*) AS customers
FROM (SELECT DISTINCT ON (o_custkey) o_orderstatus FROM orders ORDER BY o_custkey, o_orderdate DESC, o_orderkey) AS latest
WHERE o_orderstatus IN ('F', 'O', 'P')
GROUP BY o_orderstatus
