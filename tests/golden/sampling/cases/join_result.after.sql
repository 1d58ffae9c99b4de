-- join result
SELECT
  CAST("orders_2"."o_custkey" AS BIGINT) AS "o0",
  CAST(1073741824 AS BIGINT) AS "w0",
  CAST(GREATEST(
    0,
    LEAST(
      1073741824,
      COALESCE(
        FLOOR(
          CASE
            WHEN "lineitem_0"."l_quantity" <> 'NaN'
            THEN CAST(LEAST(GREATEST(CAST("lineitem_0"."l_quantity" * 100 AS BIGINT), 0), 5000) AS DOUBLE PRECISION) / 100
          END * 21474800 + 0.5
        ),
        0
      )
    )
  ) AS BIGINT) AS "w1",
  CAST(LEAST(COUNT(*), 4294967296) AS BIGINT) AS "w2"
FROM "public"."lineitem" AS "lineitem_0"
INNER JOIN "public"."lineitem" AS "lineitem_1"
  ON "lineitem_0"."l_orderkey" = "lineitem_1"."l_orderkey"
  AND "lineitem_0"."l_quantity" < "lineitem_1"."l_quantity"
LEFT JOIN "public"."orders" AS "orders_2"
  ON "lineitem_0"."l_orderkey" = "orders_2"."o_orderkey"
WHERE
  "orders_2"."o_orderkey" IS NOT NULL
GROUP BY
  1,
  3;
