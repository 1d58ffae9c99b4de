SELECT
  CAST("t_0"."k3" AS BIGINT) AS "o0",
  CAST("t_0"."k1" AS TEXT) AS "k0",
  CAST("t_0"."k2" AS TEXT) AS "k1",
  CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w0",
  CAST(LEAST(
    SUM(
      CAST(GREATEST(
        0,
        LEAST(
          1073741824,
          COALESCE(
            FLOOR(
              CAST(CASE
                WHEN "t_0"."a4" BETWEEN 0 AND 524288
                THEN "t_0"."a4"
                WHEN "t_0"."a4" < 0
                THEN 0
                WHEN "t_0"."a4" > 524288
                THEN 524288
              END AS DOUBLE PRECISION) * 2048 + 0.5
            ),
            0
          )
        )
      ) AS BIGINT)
    ),
    4611686018427387904
  ) AS BIGINT) AS "w1"
FROM (
  SELECT
    "nation_2"."n_name" AS "k1",
    "region_3"."r_name" AS "k2",
    "customer_0"."c_custkey" AS "k3",
    COUNT(CASE WHEN NOT (
      "orders_1"."o_orderkey" IS NULL
    ) THEN 1 END) AS "a4"
  FROM "public"."customer" AS "customer_0"
  LEFT JOIN "public"."orders" AS "orders_1"
    ON "orders_1"."o_custkey" = "customer_0"."c_custkey"
  INNER JOIN "public"."nation" AS "nation_2"
    ON "customer_0"."c_nationkey" = "nation_2"."n_nationkey"
  LEFT JOIN "public"."region" AS "region_3"
    ON "region_3"."r_regionkey" = "nation_2"."n_regionkey" AND "region_3"."r_name" > 'B'
  GROUP BY
    1,
    2,
    3
) AS "t_0"
GROUP BY
  1,
  2,
  3;

SELECT DISTINCT
  CAST("i0"."n_name" AS TEXT) AS "k0"
FROM "public"."nation" AS "i0"
ORDER BY
  1
LIMIT 100001;

SELECT DISTINCT
  CAST("i1"."r_name" AS TEXT) AS "k0"
FROM (
  SELECT
    "v0"."v" AS "there"
  FROM (VALUES
    (0),
    (1)) AS "v0"("v")
) AS "there"
LEFT JOIN "public"."region" AS "i1"
  ON "there"."there" = 1
ORDER BY
  1
LIMIT 100001;
