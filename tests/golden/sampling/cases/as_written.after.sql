-- as written
SELECT
  CAST("orders_0"."o_custkey" AS BIGINT) AS "o0",
  CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w0"
FROM "public"."orders" AS "orders_0" TABLESAMPLE BERNOULLI (10)
INNER JOIN "public"."lineitem" AS "lineitem_1"
  ON "lineitem_1"."l_orderkey" = "orders_0"."o_orderkey"
GROUP BY
  1;
