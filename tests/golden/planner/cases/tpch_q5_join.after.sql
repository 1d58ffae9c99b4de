SELECT
  CAST("customer_0"."c_custkey" AS BIGINT) AS "o0",
  CAST("supplier_3"."s_suppkey" AS BIGINT) AS "o1",
  CAST(LEAST(
    SUM(
      CAST(GREATEST(
        0,
        LEAST(
          1073741824,
          COALESCE(
            FLOOR(
              (
                CASE
                  WHEN "lineitem_2"."l_extendedprice" <> 'NaN'
                  THEN CAST(LEAST(GREATEST(CAST("lineitem_2"."l_extendedprice" * 100 AS BIGINT), 0), 10500000) AS DOUBLE PRECISION) / 100
                END * (
                  CAST(1 AS DOUBLE PRECISION) - CASE
                    WHEN "lineitem_2"."l_discount" <> 'NaN'
                    THEN CAST(LEAST(GREATEST(CAST("lineitem_2"."l_discount" * 100 AS BIGINT), 0), 10) AS DOUBLE PRECISION) / 100
                  END
                )
              ) * 10000 + 0.5
            ),
            0
          )
        )
      ) AS BIGINT)
    ),
    4611686018427387904
  ) AS BIGINT) AS "w0"
FROM "public"."customer" AS "customer_0"
INNER JOIN "public"."orders" AS "orders_1"
  ON "customer_0"."c_custkey" = "orders_1"."o_custkey"
INNER JOIN "public"."lineitem" AS "lineitem_2"
  ON "lineitem_2"."l_orderkey" = "orders_1"."o_orderkey"
INNER JOIN "public"."supplier" AS "supplier_3"
  ON "customer_0"."c_nationkey" = "supplier_3"."s_nationkey"
  AND "lineitem_2"."l_suppkey" = "supplier_3"."s_suppkey"
GROUP BY
  1,
  2;
