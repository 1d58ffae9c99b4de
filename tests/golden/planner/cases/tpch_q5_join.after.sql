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
                CAST(CASE
                  WHEN "lineitem_2"."l_extendedprice" BETWEEN 0 AND 105000
                  THEN "lineitem_2"."l_extendedprice"
                  WHEN "lineitem_2"."l_extendedprice" < 0
                  THEN 0
                  WHEN "lineitem_2"."l_extendedprice" <> 'NaN'
                  THEN 105000
                END AS DOUBLE PRECISION) * (
                  CAST(1 AS DOUBLE PRECISION) - CAST(CASE
                    WHEN "lineitem_2"."l_discount" BETWEEN 0 AND 0.1
                    THEN "lineitem_2"."l_discount"
                    WHEN "lineitem_2"."l_discount" < 0
                    THEN 0
                    WHEN "lineitem_2"."l_discount" <> 'NaN'
                    THEN 0.1
                  END AS DOUBLE PRECISION)
                )
              ) / 105000 * 1073741824
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
