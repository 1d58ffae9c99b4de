SELECT
  CAST("orders_0"."o_custkey" AS BIGINT) AS "o0",
  CAST(LEAST(
    SUM(
      CAST(GREATEST(
        0,
        LEAST(
          1073741824,
          COALESCE(
            FLOOR(
              (
                LEAST(
                  GREATEST(
                    CASE
                      WHEN "orders_0"."o_totalprice" <> 'NaN'
                      THEN CAST(LEAST(GREATEST(CAST("orders_0"."o_totalprice" * 100 AS BIGINT), 0), 80000000) AS DOUBLE PRECISION) / 100
                    END,
                    CAST(0 AS DOUBLE PRECISION)
                  ),
                  CAST(100000 AS DOUBLE PRECISION)
                )
              ) * 10700 + 0.5
            ),
            0
          )
        )
      ) AS BIGINT)
    ),
    4611686018427387904
  ) AS BIGINT) AS "w0",
  CAST(LEAST(
    COUNT(
      CASE
        WHEN NOT (
          GREATEST(LEAST("orders_0"."o_shippriority", 5), 0.5) IS NULL
        )
        THEN 1
      END
    ),
    4294967296
  ) * 1073741824 AS BIGINT) AS "w1",
  CAST(LEAST(
    SUM(
      CAST(GREATEST(
        0,
        LEAST(
          1073741824,
          COALESCE(
            FLOOR(
              (
                GREATEST(
                  LEAST(
                    CAST(CASE
                      WHEN "orders_0"."o_shippriority" BETWEEN 0 AND 5
                      THEN "orders_0"."o_shippriority"
                      WHEN "orders_0"."o_shippriority" < 0
                      THEN 0
                      WHEN "orders_0"."o_shippriority" > 5
                      THEN 5
                    END AS DOUBLE PRECISION),
                    CAST(5 AS DOUBLE PRECISION)
                  ),
                  CAST(0.5 AS DOUBLE PRECISION)
                )
              ) * 214748360 + 0.5
            ),
            0
          )
        )
      ) AS BIGINT)
    ),
    4611686018427387904
  ) AS BIGINT) AS "w2",
  CAST(LEAST(
    SUM(
      CAST(GREATEST(
        0,
        LEAST(
          1073741824,
          COALESCE(
            FLOOR(
              (
                GREATEST(
                  LEAST(
                    CAST(CASE
                      WHEN "orders_0"."o_shippriority" BETWEEN 0 AND 5
                      THEN "orders_0"."o_shippriority"
                      WHEN "orders_0"."o_shippriority" < 0
                      THEN 0
                      WHEN "orders_0"."o_shippriority" > 5
                      THEN 5
                    END AS DOUBLE PRECISION),
                    CAST(5 AS DOUBLE PRECISION)
                  ),
                  CAST(0.5 AS DOUBLE PRECISION)
                )
              ) * 214748360 + 0.5
            ),
            0
          )
        )
      ) AS BIGINT)
    ),
    4611686018427387904
  ) AS BIGINT) AS "w3"
FROM "public"."orders" AS "orders_0"
GROUP BY
  1;
