SELECT
  CAST("t_0"."k1" AS BIGINT) AS "o0",
  CAST("nation_2"."n_name" AS TEXT) AS "k0",
  CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w0",
  CAST(LEAST(COUNT(CASE WHEN NOT (
    "t_0"."a4" IS NULL
  ) THEN 1 END), 4294967296) * 1073741824 AS BIGINT) AS "w1",
  CAST(LEAST(
    SUM(
      CAST(GREATEST(
        0,
        LEAST(
          1073741824,
          COALESCE(
            FLOOR(
              CAST(CAST(CASE
                WHEN "t_0"."k3" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
                THEN "t_0"."k3"
              END - CASE
                WHEN "t_0"."a4" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
                THEN "t_0"."a4"
              END AS BIGINT) AS DOUBLE PRECISION) * 294 + 0.5
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
              CAST(CAST(CASE
                WHEN "t_0"."k3" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
                THEN "t_0"."k3"
              END - CASE
                WHEN "t_0"."a4" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
                THEN "t_0"."a4"
              END AS BIGINT) AS DOUBLE PRECISION) * 294 + 0.5
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
              CAST(CASE
                WHEN CAST("t_0"."a6" AS DOUBLE PRECISION) BETWEEN 0 AND 3276800000
                THEN CASE
                  WHEN ABS(CAST("t_0"."a6" AS DOUBLE PRECISION)) < 0.000000000000000000000000000000000000000000000000000000000001
                  THEN 0
                  ELSE CAST("t_0"."a6" AS DOUBLE PRECISION)
                END
                WHEN CAST("t_0"."a6" AS DOUBLE PRECISION) < 0
                THEN 0
                WHEN CAST("t_0"."a6" AS DOUBLE PRECISION) <> 'NaN'
                THEN 3276800000
              END AS DOUBLE PRECISION) / 3276800000 * 1073741824 + CAST(COALESCE(ABS((
                CAST("t_0"."r1" AS BIGINT) % 2147483647 * 1327217885
              ) % 2147483647), 0) AS DOUBLE PRECISION) / 2147483647
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
                -CAST(CAST(CASE
                  WHEN "t_0"."k3" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
                  THEN "t_0"."k3"
                END - CASE
                  WHEN "t_0"."a4" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
                  THEN "t_0"."a4"
                END AS BIGINT) AS DOUBLE PRECISION)
              ) * 294 + 0.5
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
              (
                -CAST(CAST(CASE
                  WHEN "t_0"."k3" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
                  THEN "t_0"."k3"
                END - CASE
                  WHEN "t_0"."a4" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
                  THEN "t_0"."a4"
                END AS BIGINT) AS DOUBLE PRECISION)
              ) * 294 + 0.5
            ),
            0
          )
        )
      ) AS BIGINT)
    ),
    4611686018427387904
  ) AS BIGINT) AS "w6"
FROM (
  SELECT
    "orders_0"."o_custkey" AS "k1",
    "orders_0"."o_totalprice" AS "k2",
    "orders_0"."o_orderdate" AS "k3",
    LAG("orders_0"."o_orderdate") OVER (
      PARTITION BY "orders_0"."o_custkey"
      ORDER BY "orders_0"."o_orderdate", "orders_0"."o_orderkey", "orders_0"."o_orderkey" ASC, "orders_0"."o_orderkey" ASC
    ) AS "a4",
    ROW_NUMBER() OVER (
      PARTITION BY "orders_0"."o_custkey"
      ORDER BY "orders_0"."o_orderdate", "orders_0"."o_orderkey", "orders_0"."o_orderkey" ASC, "orders_0"."o_orderkey" ASC
    ) AS "a5",
    CAST(CAST(SUM(
      CAST(FLOOR(
        CASE
          WHEN "orders_0"."o_totalprice" <> 'NaN'
          THEN CAST(LEAST(GREATEST(CAST("orders_0"."o_totalprice" * 100 AS BIGINT), 0), 80000000) AS DOUBLE PRECISION) / 100
        END * CAST(100 AS DOUBLE PRECISION) + CAST(0.5 AS DOUBLE PRECISION)
      ) AS BIGINT)
    ) OVER (
      PARTITION BY "orders_0"."o_custkey"
      ORDER BY "orders_0"."o_orderdate", "orders_0"."o_orderkey", "orders_0"."o_orderkey" ASC
      ROWS BETWEEN 2 PRECEDING AND CURRENT ROW
    ) AS DOUBLE PRECISION) / CAST(100 AS DOUBLE PRECISION) AS DOUBLE PRECISION) AS "a6",
    "orders_0"."o_orderkey" AS "r1"
  FROM "public"."orders" AS "orders_0"
) AS "t_0"
INNER JOIN "public"."customer" AS "customer_1"
  ON "customer_1"."c_custkey" = "t_0"."k1"
INNER JOIN "public"."nation" AS "nation_2"
  ON "customer_1"."c_nationkey" = "nation_2"."n_nationkey"
WHERE
  "t_0"."a5" BETWEEN 2 AND 9
GROUP BY
  1,
  2;

SELECT DISTINCT
  CAST("nation_2"."n_name" AS TEXT) AS "k0"
FROM "public"."nation" AS "nation_2"
ORDER BY
  1
LIMIT 100001;
