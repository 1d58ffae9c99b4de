SELECT
  CAST("customer_0"."c_custkey" AS BIGINT) AS "o0",
  CAST(COALESCE(LEAST("t_1"."a2", 20), 0) AS BIGINT) AS "k0",
  CAST(1073741824 AS BIGINT) AS "w0"
FROM "public"."customer" AS "customer_0"
LEFT JOIN (
  SELECT
    "orders_0"."o_custkey" AS "k1",
    COUNT(*) AS "a2"
  FROM "public"."orders" AS "orders_0"
  GROUP BY
    1
) AS "t_1"
  ON "t_1"."k1" = "customer_0"."c_custkey";

SELECT DISTINCT
  CAST(COALESCE(LEAST("t_1"."a2", 20), 0) AS BIGINT) AS "k0"
FROM (
  SELECT
    1 + CAST("v0"."v" AS BIGINT) * 1 AS "a2"
  FROM (
    SELECT
      "s"."v"
    FROM GENERATE_SERIES(0, 524287) AS "s"("v")
    UNION ALL
    SELECT
      NULL
  ) AS "v0"("v")
) AS "t_1"
WHERE
  (
    CAST(COALESCE(LEAST("t_1"."a2", 20), 0) AS BIGINT) IS NOT NULL
    OR "t_1"."a2" IS NOT NULL
  )
ORDER BY
  1
LIMIT 100001;
