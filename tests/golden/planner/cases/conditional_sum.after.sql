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
                  WHEN "lineitem_0"."l_returnflag" = 'R'
                  THEN CASE
                    WHEN "lineitem_0"."l_quantity" <> 'NaN'
                    THEN CAST(LEAST(GREATEST(CAST("lineitem_0"."l_quantity" * 100 AS BIGINT), 0), 5000) AS DOUBLE PRECISION) / 100
                  END / 2
                  ELSE CAST(0 AS DOUBLE PRECISION)
                END
              ) / 25 * 1073741824 + CAST(COALESCE(
                ABS(
                  (
                    (
                      CAST("lineitem_0"."l_orderkey" AS BIGINT) % 2147483647 * 1327217885
                    ) % 2147483647 + (
                      CAST("lineitem_0"."l_linenumber" AS BIGINT) % 2147483647 * 888871237
                    ) % 2147483647
                  ) % 2147483647
                ),
                0
              ) AS DOUBLE PRECISION) / 2147483647
            ),
            0
          )
        )
      ) AS BIGINT)
    ),
    4611686018427387904
  ) AS BIGINT) AS "w0"
FROM "public"."lineitem" AS "lineitem_0"
LEFT JOIN "public"."orders" AS "orders_1"
  ON "lineitem_0"."l_orderkey" = "orders_1"."o_orderkey"
WHERE
  "orders_1"."o_orderkey" IS NOT NULL
GROUP BY
  1;
