SELECT
  CAST("orders_0"."o_custkey" AS BIGINT) AS "o0",
  CAST(DATE_TRUNC(
    'MONTH',
    CAST(CASE
      WHEN "orders_0"."o_orderdate" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
      THEN "orders_0"."o_orderdate"
    END AS TIMESTAMP)
  ) AS TEXT) AS "k0",
  CAST(TO_CHAR(
    DATE_TRUNC(
      'MONTH',
      CAST(CASE
        WHEN "orders_0"."o_orderdate" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
        THEN "orders_0"."o_orderdate"
      END AS TIMESTAMP)
    ),
    'YYYY-MM'
  ) AS TEXT) AS "k1",
  CAST(1073741824 AS BIGINT) AS "w0"
FROM "public"."orders" AS "orders_0"
WHERE
  "orders_0"."o_orderdate" >= CAST('1998-01-01' AS DATE)
  AND "orders_0"."o_orderdate" < CAST('1998-03-01' AS DATE);

SELECT DISTINCT
  CAST(DATE_TRUNC(
    'MONTH',
    CAST(CASE
      WHEN "orders_0"."o_orderdate" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
      THEN "orders_0"."o_orderdate"
    END AS TIMESTAMP)
  ) AS TEXT) AS "k0",
  CAST(TO_CHAR(
    DATE_TRUNC(
      'MONTH',
      CAST(CASE
        WHEN "orders_0"."o_orderdate" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
        THEN "orders_0"."o_orderdate"
      END AS TIMESTAMP)
    ),
    'YYYY-MM'
  ) AS TEXT) AS "k1"
FROM (
  SELECT
    CAST('1998-01-01' AS DATE) + CAST("v0"."v" AS INT) AS "o_orderdate"
  FROM (
    SELECT
      "s"."v"
    FROM GENERATE_SERIES(0, 58) AS "s"("v")
  ) AS "v0"("v")
) AS "orders_0"
WHERE
  "orders_0"."o_orderdate" >= CAST('1998-01-01' AS DATE)
  AND "orders_0"."o_orderdate" < CAST('1998-03-01' AS DATE)
ORDER BY
  1,
  2
LIMIT 100001;
