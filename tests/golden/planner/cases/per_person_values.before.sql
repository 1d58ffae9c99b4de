WITH per_order AS (
  SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS price, max(l_quantity) AS most,
    avg(l_tax) FILTER (WHERE l_quantity > 10) AS tax, count(DISTINCT l_suppkey) AS suppliers
  FROM lineitem
  GROUP BY l_orderkey
)
SELECT avg(price), sum(most), avg(tax), count(*) FILTER (WHERE suppliers > 3) FROM per_order
