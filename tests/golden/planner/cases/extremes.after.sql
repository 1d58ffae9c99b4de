SELECT
  CAST("orders_1"."o_custkey" AS BIGINT) AS "o0",
  CAST(FLOOR(
    CASE
      WHEN "lineitem_0"."l_extendedprice" <> 'NaN'
      THEN CAST(LEAST(GREATEST(CAST("lineitem_0"."l_extendedprice" * 100 AS BIGINT), 0), 10500000) AS DOUBLE PRECISION) / 100
    END * CAST(10.0 AS DOUBLE PRECISION) + CAST(0.5 AS DOUBLE PRECISION)
  ) AS BIGINT) AS "v",
  CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w0"
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
  CAST(FLOOR(
    CASE
      WHEN "lineitem_0"."l_quantity" <> 'NaN'
      THEN CAST(LEAST(GREATEST(CAST("lineitem_0"."l_quantity" * 100 AS BIGINT), 0), 5000) AS DOUBLE PRECISION) / 100
    END * CAST(100.0 AS DOUBLE PRECISION) + CAST(0.5 AS DOUBLE PRECISION)
  ) AS BIGINT) AS "v",
  CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w0"
FROM "public"."lineitem" AS "lineitem_0"
LEFT JOIN "public"."orders" AS "orders_1"
  ON "lineitem_0"."l_orderkey" = "orders_1"."o_orderkey"
WHERE
  "orders_1"."o_orderkey" IS NOT NULL
GROUP BY
  1,
  2;
