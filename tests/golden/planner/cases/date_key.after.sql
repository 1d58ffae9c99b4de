SELECT
  CAST("orders_0"."o_custkey" AS BIGINT) AS "o0",
  CAST("orders_0"."o_orderdate" AS TEXT) AS "k0",
  CAST(1073741824 AS BIGINT) AS "w0"
FROM "public"."orders" AS "orders_0"
WHERE
  "orders_0"."o_orderdate" BETWEEN CAST('1995-01-01' AS DATE) AND CAST('1995-01-20' AS DATE);

SELECT DISTINCT
  CAST("orders_0"."o_orderdate" AS TEXT) AS "k0"
FROM (
  SELECT
    CAST('1995-01-01' AS DATE) + CAST("v0"."v" AS INT) AS "o_orderdate"
  FROM (
    SELECT
      "s"."v"
    FROM GENERATE_SERIES(0, 19) AS "s"("v")
  ) AS "v0"("v")
) AS "orders_0"
WHERE
  "orders_0"."o_orderdate" BETWEEN CAST('1995-01-01' AS DATE) AND CAST('1995-01-20' AS DATE)
ORDER BY
  1
LIMIT 100001;
