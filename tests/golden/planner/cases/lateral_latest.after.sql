SELECT
  CAST("customer_0"."c_custkey" AS BIGINT) AS "o0",
  CAST("nation_1"."n_name" AS TEXT) AS "k0",
  CAST(LEAST(COUNT(CASE WHEN NOT (
    "t_2"."k1" IS NULL
  ) THEN 1 END), 4294967296) * 1073741824 AS BIGINT) AS "w0",
  CAST(LEAST(
    SUM(
      CAST(GREATEST(
        0,
        LEAST(
          1073741824,
          COALESCE(
            FLOOR(
              CASE
                WHEN "t_2"."k1" <> 'NaN'
                THEN CAST(LEAST(GREATEST(CAST("t_2"."k1" * 100 AS BIGINT), 0), 80000000) AS DOUBLE PRECISION) / 100
              END * 1300 + 0.5
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
              CASE
                WHEN "t_2"."k1" <> 'NaN'
                THEN CAST(LEAST(GREATEST(CAST("t_2"."k1" * 100 AS BIGINT), 0), 80000000) AS DOUBLE PRECISION) / 100
              END * 1300 + 0.5
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
                COALESCE(
                  CAST(CASE
                    WHEN "t_3"."a2" BETWEEN 0 AND 524288
                    THEN "t_3"."a2"
                    WHEN "t_3"."a2" < 0
                    THEN 0
                    WHEN "t_3"."a2" > 524288
                    THEN 524288
                  END AS DOUBLE PRECISION),
                  CAST(0 AS DOUBLE PRECISION)
                )
              ) * 2048 + 0.5
            ),
            0
          )
        )
      ) AS BIGINT)
    ),
    4611686018427387904
  ) AS BIGINT) AS "w3"
FROM "public"."customer" AS "customer_0"
INNER JOIN "public"."nation" AS "nation_1"
  ON "customer_0"."c_nationkey" = "nation_1"."n_nationkey"
LEFT JOIN (
  SELECT
    "orders_0"."o_totalprice" AS "k1",
    "orders_0"."o_custkey" AS "k2",
    ROW_NUMBER() OVER (
      PARTITION BY "orders_0"."o_custkey"
      ORDER BY "orders_0"."o_orderdate" DESC, "orders_0"."o_orderkey", "orders_0"."o_orderkey" ASC, "orders_0"."o_orderkey" ASC
    ) AS "a3",
    "orders_0"."o_orderkey" AS "r1"
  FROM "public"."orders" AS "orders_0"
) AS "t_2"
  ON TRUE AND "t_2"."k2" = "customer_0"."c_custkey" AND "t_2"."a3" <= 2
LEFT JOIN (
  SELECT
    "orders_0"."o_custkey" AS "k1",
    COUNT(
      DISTINCT CAST(EXTRACT(YEAR FROM CASE
        WHEN "orders_0"."o_orderdate" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
        THEN "orders_0"."o_orderdate"
      END) AS BIGINT)
    ) AS "a2"
  FROM "public"."orders" AS "orders_0"
  GROUP BY
    1
) AS "t_3"
  ON "t_3"."k1" = "customer_0"."c_custkey"
GROUP BY
  1,
  2;

SELECT DISTINCT
  CAST("nation_1"."n_name" AS TEXT) AS "k0"
FROM "public"."nation" AS "nation_1"
ORDER BY
  1
LIMIT 100001;
