SELECT
  CAST("orders_1"."o_custkey" AS BIGINT) AS "o0",
  CAST(CASE
    WHEN (
      10 * FLOOR("lineitem_0"."l_quantity" / 10)
    ) BETWEEN 0 AND 50
    THEN CAST(10 * FLOOR("lineitem_0"."l_quantity" / 10) AS BIGINT)
  END AS BIGINT) AS "k0",
  CAST(LEAST(SUM(CAST(1073741824 AS BIGINT)), 4611686018427387904) AS BIGINT) AS "w0"
FROM "public"."lineitem" AS "lineitem_0"
LEFT JOIN "public"."orders" AS "orders_1"
  ON "lineitem_0"."l_orderkey" = "orders_1"."o_orderkey"
WHERE
  "orders_1"."o_orderkey" IS NOT NULL
GROUP BY
  1,
  2;
