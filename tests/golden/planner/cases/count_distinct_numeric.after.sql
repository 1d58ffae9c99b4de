SELECT
  CAST("orders_1"."o_custkey" AS BIGINT) AS "o0",
  CAST("lineitem_0"."l_discount" AS TEXT) AS "v",
  MAX(CAST(1073741824 AS BIGINT)) AS "w0"
FROM "public"."lineitem" AS "lineitem_0"
LEFT JOIN "public"."orders" AS "orders_1"
  ON "lineitem_0"."l_orderkey" = "orders_1"."o_orderkey"
WHERE
  "orders_1"."o_orderkey" IS NOT NULL
GROUP BY
  1,
  2;

SELECT
  CAST("orders_1"."o_custkey" AS BIGINT) AS "o0",
  CAST(ROUND(NULLIF("lineitem_0"."l_quantity", 'NaN'), 0) AS BIGINT) AS "v",
  MAX(CAST(1073741824 AS BIGINT)) AS "w0"
FROM "public"."lineitem" AS "lineitem_0"
LEFT JOIN "public"."orders" AS "orders_1"
  ON "lineitem_0"."l_orderkey" = "orders_1"."o_orderkey"
WHERE
  "orders_1"."o_orderkey" IS NOT NULL
GROUP BY
  1,
  2;
