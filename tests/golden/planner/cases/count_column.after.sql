SELECT
  CAST("orders_1"."o_custkey" AS BIGINT) AS "o0",
  CAST(LEAST(SUM(CAST(1073741824 AS BIGINT)), 4611686018427387904) AS BIGINT) AS "w0"
FROM "public"."lineitem" AS "lineitem_0"
INNER JOIN "public"."orders" AS "orders_1"
  ON "lineitem_0"."l_orderkey" = "orders_1"."o_orderkey"
GROUP BY
  1;
