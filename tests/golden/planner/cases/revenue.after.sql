SELECT
  CAST("orders_1"."o_custkey" AS BIGINT) AS "o0",
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
                  WHEN "lineitem_0"."l_extendedprice" <> 'NaN'
                  THEN CAST(LEAST(GREATEST(CAST("lineitem_0"."l_extendedprice" * 100 AS BIGINT), 0), 10500000) AS DOUBLE PRECISION) / 100
                END * (
                  CAST(1 AS DOUBLE PRECISION) - CASE
                    WHEN "lineitem_0"."l_discount" <> 'NaN'
                    THEN CAST(LEAST(GREATEST(CAST("lineitem_0"."l_discount" * 100 AS BIGINT), 0), 10) AS DOUBLE PRECISION) / 100
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
FROM "public"."lineitem" AS "lineitem_0"
INNER JOIN "public"."orders" AS "orders_1"
  ON "lineitem_0"."l_orderkey" = "orders_1"."o_orderkey"
INNER JOIN "public"."customer" AS "customer_2"
  ON "customer_2"."c_custkey" = "orders_1"."o_custkey"
GROUP BY
  1;
