SELECT
  CAST("orders_1"."o_custkey" AS BIGINT) AS "o0",
  CAST(LEAST(COUNT(CASE WHEN NOT (
    "t_0"."a2" IS NULL
  ) THEN 1 END), 4294967296) * 1073741824 AS BIGINT) AS "w0",
  CAST(LEAST(
    SUM(
      CAST(GREATEST(
        0,
        LEAST(
          1073741824,
          COALESCE(
            FLOOR(
              CAST(CASE
                WHEN CAST("t_0"."a2" AS DOUBLE PRECISION) BETWEEN 0 AND 430080000
                THEN CASE
                  WHEN ABS(CAST("t_0"."a2" AS DOUBLE PRECISION)) < 0.000000000000000000000000000000000000000000000000000000000001
                  THEN 0
                  ELSE CAST("t_0"."a2" AS DOUBLE PRECISION)
                END
                WHEN CAST("t_0"."a2" AS DOUBLE PRECISION) < 0
                THEN 0
                WHEN CAST("t_0"."a2" AS DOUBLE PRECISION) <> 'NaN'
                THEN 430080000
              END AS DOUBLE PRECISION) / 430080000 * 1073741824 + CAST(COALESCE(ABS((
                CAST("t_0"."k1" AS BIGINT) % 2147483647 * 1327217885
              ) % 2147483647), 0) AS DOUBLE PRECISION) / 2147483647
            ),
            0
          )
        )
      ) AS BIGINT)
    ),
    4611686018427387904
  ) AS BIGINT) AS "w1",
  CAST(LEAST(
    SUM(
      CAST(GREATEST(
        0,
        LEAST(
          1073741824,
          COALESCE(
            FLOOR(
              CAST(CASE
                WHEN CAST("t_0"."a2" AS DOUBLE PRECISION) BETWEEN 0 AND 430080000
                THEN CASE
                  WHEN ABS(CAST("t_0"."a2" AS DOUBLE PRECISION)) < 0.000000000000000000000000000000000000000000000000000000000001
                  THEN 0
                  ELSE CAST("t_0"."a2" AS DOUBLE PRECISION)
                END
                WHEN CAST("t_0"."a2" AS DOUBLE PRECISION) < 0
                THEN 0
                WHEN CAST("t_0"."a2" AS DOUBLE PRECISION) <> 'NaN'
                THEN 430080000
              END AS DOUBLE PRECISION) / 430080000 * 1073741824 + CAST(COALESCE(ABS((
                CAST("t_0"."k1" AS BIGINT) % 2147483647 * 1327217885
              ) % 2147483647), 0) AS DOUBLE PRECISION) / 2147483647
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
              CASE
                WHEN "t_0"."a3" <> 'NaN'
                THEN CAST(LEAST(GREATEST(CAST("t_0"."a3" * 100 AS BIGINT), 0), 5000) AS DOUBLE PRECISION) / 100
              END * 21474800 + 0.5
            ),
            0
          )
        )
      ) AS BIGINT)
    ),
    4611686018427387904
  ) AS BIGINT) AS "w3",
  CAST(LEAST(COUNT(CASE WHEN NOT (
    "t_0"."a4" IS NULL
  ) THEN 1 END), 4294967296) * 1073741824 AS BIGINT) AS "w4",
  CAST(LEAST(
    SUM(
      CAST(GREATEST(
        0,
        LEAST(
          1073741824,
          COALESCE(
            FLOOR(
              CAST(CASE
                WHEN CAST("t_0"."a4" AS DOUBLE PRECISION) BETWEEN 0 AND 0.08
                THEN CASE
                  WHEN ABS(CAST("t_0"."a4" AS DOUBLE PRECISION)) < 0.000000000000000000000000000000000000000000000000000000000001
                  THEN 0
                  ELSE CAST("t_0"."a4" AS DOUBLE PRECISION)
                END
                WHEN CAST("t_0"."a4" AS DOUBLE PRECISION) < 0
                THEN 0
                WHEN CAST("t_0"."a4" AS DOUBLE PRECISION) <> 'NaN'
                THEN 0.08
              END AS DOUBLE PRECISION) / 0.08 * 1073741824 + CAST(COALESCE(ABS((
                CAST("t_0"."k1" AS BIGINT) % 2147483647 * 1327217885
              ) % 2147483647), 0) AS DOUBLE PRECISION) / 2147483647
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
        LEAST(
          1073741824,
          COALESCE(
            FLOOR(
              CAST(CASE
                WHEN CAST("t_0"."a4" AS DOUBLE PRECISION) BETWEEN 0 AND 0.08
                THEN CASE
                  WHEN ABS(CAST("t_0"."a4" AS DOUBLE PRECISION)) < 0.000000000000000000000000000000000000000000000000000000000001
                  THEN 0
                  ELSE CAST("t_0"."a4" AS DOUBLE PRECISION)
                END
                WHEN CAST("t_0"."a4" AS DOUBLE PRECISION) < 0
                THEN 0
                WHEN CAST("t_0"."a4" AS DOUBLE PRECISION) <> 'NaN'
                THEN 0.08
              END AS DOUBLE PRECISION) / 0.08 * 1073741824 + CAST(COALESCE(ABS((
                CAST("t_0"."k1" AS BIGINT) % 2147483647 * 1327217885
              ) % 2147483647), 0) AS DOUBLE PRECISION) / 2147483647
            ),
            0
          )
        )
      ) AS BIGINT)
    ),
    4611686018427387904
  ) AS BIGINT) AS "w6",
  CAST(LEAST(COUNT(CASE WHEN "t_0"."a5" > 3 THEN 1 END), 4294967296) * 1073741824 AS BIGINT) AS "w7"
FROM (
  SELECT
    "lineitem_0"."l_orderkey" AS "k1",
    CAST(CAST(SUM(
      CAST(FLOOR(
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
        ) * CAST(10000 AS DOUBLE PRECISION) + CAST(0.5 AS DOUBLE PRECISION)
      ) AS BIGINT)
    ) AS DOUBLE PRECISION) / CAST(10000 AS DOUBLE PRECISION) AS DOUBLE PRECISION) AS "a2",
    MAX("lineitem_0"."l_quantity") AS "a3",
    CAST(CAST(SUM(
      CAST(FLOOR(
        CASE
          WHEN "lineitem_0"."l_quantity" > 10
          THEN CASE
            WHEN "lineitem_0"."l_tax" <> 'NaN'
            THEN CAST(LEAST(GREATEST(CAST("lineitem_0"."l_tax" * 100 AS BIGINT), 0), 8) AS DOUBLE PRECISION) / 100
          END
        END * CAST(100 AS DOUBLE PRECISION) + CAST(0.5 AS DOUBLE PRECISION)
      ) AS BIGINT)
    ) AS DOUBLE PRECISION) / NULLIF(
      CAST(COUNT(CASE WHEN "lineitem_0"."l_quantity" > 10 THEN 1 END) AS DOUBLE PRECISION) * CAST(100 AS DOUBLE PRECISION),
      0
    ) AS DOUBLE PRECISION) AS "a4",
    COUNT(DISTINCT CAST("lineitem_0"."l_suppkey" AS BIGINT)) AS "a5"
  FROM "public"."lineitem" AS "lineitem_0"
  LEFT JOIN "public"."orders" AS "orders_1"
    ON "lineitem_0"."l_orderkey" = "orders_1"."o_orderkey"
  WHERE
    "orders_1"."o_orderkey" IS NOT NULL
  GROUP BY
    1
) AS "t_0"
LEFT JOIN "public"."orders" AS "orders_1"
  ON "t_0"."k1" = "orders_1"."o_orderkey"
WHERE
  "orders_1"."o_orderkey" IS NOT NULL
GROUP BY
  1;
