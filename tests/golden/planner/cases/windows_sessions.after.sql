SELECT
  CAST("t_0"."k1" AS BIGINT) AS "o0",
  CAST(LEAST("t_0"."a3", 5) AS BIGINT) AS "k0",
  CAST(1073741824 AS BIGINT) AS "w0"
FROM (
  SELECT
    "t_0"."k1" AS "k1",
    "t_0"."a2" AS "k2",
    COUNT(*) AS "a3"
  FROM (
    SELECT
      "t_0"."k1" AS "k1",
      CAST(SUM(
        CAST(CASE
          WHEN CAST(CASE
            WHEN "t_0"."k3" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
            THEN "t_0"."k3"
          END - CASE
            WHEN "t_0"."a4" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
            THEN "t_0"."a4"
          END AS BIGINT) <= 60
          THEN CAST(0 AS DOUBLE PRECISION)
          ELSE CAST(1 AS DOUBLE PRECISION)
        END AS BIGINT)
      ) OVER (PARTITION BY "t_0"."k1" ORDER BY "t_0"."k3", "t_0"."k2") AS BIGINT) AS "a2",
      "t_0"."k2" AS "r1"
    FROM (
      SELECT
        "orders_0"."o_custkey" AS "k1",
        "orders_0"."o_orderkey" AS "k2",
        "orders_0"."o_orderdate" AS "k3",
        LAG("orders_0"."o_orderdate") OVER (
          PARTITION BY "orders_0"."o_custkey"
          ORDER BY "orders_0"."o_orderdate", "orders_0"."o_orderkey", "orders_0"."o_orderkey" ASC, "orders_0"."o_orderkey" ASC
        ) AS "a4"
      FROM "public"."orders" AS "orders_0"
    ) AS "t_0"
  ) AS "t_0"
  GROUP BY
    1,
    2
) AS "t_0";

SELECT DISTINCT
  CAST(LEAST("t_0"."a3", 5) AS BIGINT) AS "k0"
FROM (
  SELECT
    1 + CAST("v0"."v" AS BIGINT) * 1 AS "a3"
  FROM (
    SELECT
      "s"."v"
    FROM GENERATE_SERIES(0, 524287) AS "s"("v")
  ) AS "v0"("v")
) AS "t_0"
ORDER BY
  1
LIMIT 100001;
