-- pushdown
SELECT
  CAST("orders_1"."o_custkey" AS BIGINT) AS "o0",
  CAST("nation_3"."n_name" AS TEXT) AS "k0",
  CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w0"
FROM "public"."lineitem" AS "lineitem_0" TABLESAMPLE BERNOULLI (12.5)
INNER JOIN "public"."orders" AS "orders_1"
  ON "lineitem_0"."l_orderkey" = "orders_1"."o_orderkey"
INNER JOIN "public"."customer" AS "customer_2"
  ON "customer_2"."c_custkey" = "orders_1"."o_custkey"
INNER JOIN "public"."nation" AS "nation_3"
  ON "customer_2"."c_nationkey" = "nation_3"."n_nationkey"
GROUP BY
  1,
  2;
