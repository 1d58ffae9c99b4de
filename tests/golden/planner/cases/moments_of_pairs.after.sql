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
              CAST(CASE
                WHEN "lineitem_0"."l_extendedprice" BETWEEN 0 AND 105000
                THEN "lineitem_0"."l_extendedprice"
                WHEN "lineitem_0"."l_extendedprice" < 0
                THEN 0
                WHEN "lineitem_0"."l_extendedprice" <> 'NaN'
                THEN 105000
              END AS DOUBLE PRECISION) / 105000 * 1073741824
            ),
            0
          )
        )
      ) AS BIGINT)
    ),
    4611686018427387904
  ) AS BIGINT) AS "w0",
  CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w1",
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
                  WHEN "lineitem_0"."l_extendedprice" BETWEEN 0 AND 105000
                  THEN "lineitem_0"."l_extendedprice"
                  WHEN "lineitem_0"."l_extendedprice" < 0
                  THEN 0
                  WHEN "lineitem_0"."l_extendedprice" <> 'NaN'
                  THEN 105000
                END AS DOUBLE PRECISION) * CAST(CASE
                  WHEN "lineitem_0"."l_extendedprice" BETWEEN 0 AND 105000
                  THEN "lineitem_0"."l_extendedprice"
                  WHEN "lineitem_0"."l_extendedprice" < 0
                  THEN 0
                  WHEN "lineitem_0"."l_extendedprice" <> 'NaN'
                  THEN 105000
                END AS DOUBLE PRECISION)
              ) / 11025000000 * 1073741824
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
              CAST(CASE
                WHEN "lineitem_0"."l_quantity" BETWEEN 0 AND 50
                THEN "lineitem_0"."l_quantity"
                WHEN "lineitem_0"."l_quantity" < 0
                THEN 0
                WHEN "lineitem_0"."l_quantity" <> 'NaN'
                THEN 50
              END AS DOUBLE PRECISION) / 50 * 1073741824
            ),
            0
          )
        )
      ) AS BIGINT)
    ),
    4611686018427387904
  ) AS BIGINT) AS "w3",
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
                  WHEN "lineitem_0"."l_quantity" BETWEEN 0 AND 50
                  THEN "lineitem_0"."l_quantity"
                  WHEN "lineitem_0"."l_quantity" < 0
                  THEN 0
                  WHEN "lineitem_0"."l_quantity" <> 'NaN'
                  THEN 50
                END AS DOUBLE PRECISION) * CAST(CASE
                  WHEN "lineitem_0"."l_quantity" BETWEEN 0 AND 50
                  THEN "lineitem_0"."l_quantity"
                  WHEN "lineitem_0"."l_quantity" < 0
                  THEN 0
                  WHEN "lineitem_0"."l_quantity" <> 'NaN'
                  THEN 50
                END AS DOUBLE PRECISION)
              ) / 2500 * 1073741824
            ),
            0
          )
        )
      ) AS BIGINT)
    ),
    4611686018427387904
  ) AS BIGINT) AS "w4",
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
                  WHEN "lineitem_0"."l_extendedprice" BETWEEN 0 AND 105000
                  THEN "lineitem_0"."l_extendedprice"
                  WHEN "lineitem_0"."l_extendedprice" < 0
                  THEN 0
                  WHEN "lineitem_0"."l_extendedprice" <> 'NaN'
                  THEN 105000
                END AS DOUBLE PRECISION) * CAST(CASE
                  WHEN "lineitem_0"."l_quantity" BETWEEN 0 AND 50
                  THEN "lineitem_0"."l_quantity"
                  WHEN "lineitem_0"."l_quantity" < 0
                  THEN 0
                  WHEN "lineitem_0"."l_quantity" <> 'NaN'
                  THEN 50
                END AS DOUBLE PRECISION)
              ) / 5250000 * 1073741824
            ),
            0
          )
        )
      ) AS BIGINT)
    ),
    4611686018427387904
  ) AS BIGINT) AS "w5",
  CAST(LEAST(
    SUM(
      CAST(GREATEST(
        0,
        LEAST(1073741824, COALESCE(FLOOR(CAST(0 AS DOUBLE PRECISION) / 5250000 * 1073741824), 0))
      ) AS BIGINT)
    ),
    4611686018427387904
  ) AS BIGINT) AS "w6"
FROM "public"."lineitem" AS "lineitem_0"
LEFT JOIN "public"."orders" AS "orders_1"
  ON "lineitem_0"."l_orderkey" = "orders_1"."o_orderkey"
WHERE
  "orders_1"."o_orderkey" IS NOT NULL
GROUP BY
  1;
