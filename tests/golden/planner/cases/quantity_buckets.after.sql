SELECT
  CAST("orders_1"."o_custkey" AS BIGINT) AS "o0",
  CAST(CASE
    WHEN (
      CAST(10 AS DOUBLE PRECISION) * FLOOR(
        CASE
          WHEN "lineitem_0"."l_quantity" <> 'NaN'
          THEN CAST(LEAST(GREATEST(CAST("lineitem_0"."l_quantity" * 100 AS BIGINT), 0), 5000) AS DOUBLE PRECISION) / 100
        END / 10
      )
    ) BETWEEN 0 AND 50
    THEN CAST(CAST(10 AS DOUBLE PRECISION) * FLOOR(
      CASE
        WHEN "lineitem_0"."l_quantity" <> 'NaN'
        THEN CAST(LEAST(GREATEST(CAST("lineitem_0"."l_quantity" * 100 AS BIGINT), 0), 5000) AS DOUBLE PRECISION) / 100
      END / 10
    ) AS BIGINT)
  END AS BIGINT) AS "k0",
  CAST(CASE
    WHEN ROUND("lineitem_0"."l_quantity", -1) BETWEEN 0 AND 50
    THEN CAST(ROUND("lineitem_0"."l_quantity", -1) AS BIGINT)
  END AS BIGINT) AS "k1",
  CAST(1073741824 AS BIGINT) AS "w0"
FROM "public"."lineitem" AS "lineitem_0"
LEFT JOIN "public"."orders" AS "orders_1"
  ON "lineitem_0"."l_orderkey" = "orders_1"."o_orderkey"
WHERE
  "orders_1"."o_orderkey" IS NOT NULL
  AND (
    "lineitem_0"."l_quantity" BETWEEN 0 AND 50 OR "lineitem_0"."l_quantity" IS NULL
  );
