-- join tree
-- part 1.c0 = part 0.c0
-- a tuple shows part 0.c1, 1073741824, part 0.c2
SELECT
  CAST("lineitem_0"."l_orderkey" AS BIGINT) AS "c0",
  CAST("orders_2"."o_custkey" AS BIGINT) AS "c1",
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
  ) AS BIGINT) AS "c2"
FROM "public"."lineitem" AS "lineitem_0"
LEFT JOIN "public"."orders" AS "orders_2"
  ON "lineitem_0"."l_orderkey" = "orders_2"."o_orderkey"
WHERE
  "orders_2"."o_orderkey" IS NOT NULL;

SELECT
  CAST("lineitem_1"."l_orderkey" AS BIGINT) AS "c0"
FROM "public"."lineitem" AS "lineitem_1";
