SELECT
  CAST("orders_1"."o_custkey" AS BIGINT) AS "o0",
  CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w0"
FROM "public"."lineitem" AS "lineitem_0"
LEFT JOIN "public"."orders" AS "orders_1"
  ON "lineitem_0"."l_orderkey" = "orders_1"."o_orderkey"
WHERE
  "orders_1"."o_orderkey" IS NOT NULL
GROUP BY
  1;
