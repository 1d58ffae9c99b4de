SELECT
  CAST("orders_0"."o_custkey" AS BIGINT) AS "o0",
  CAST(LEAST(
    COUNT(
      CASE
        WHEN NOT (
          DATE_TRUNC(
            'MONTH',
            CAST(CASE
              WHEN "orders_1"."o_orderdate" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
              THEN "orders_1"."o_orderdate"
            END AS TIMESTAMP)
          ) IS NULL
        )
        THEN 1
      END
    ),
    4294967296
  ) * 1073741824 AS BIGINT) AS "w0"
FROM "public"."orders" AS "orders_0"
LEFT JOIN "public"."orders" AS "orders_1"
  ON "orders_1"."o_orderstatus" = 'F'
  AND "orders_1"."o_custkey" = "orders_0"."o_custkey"
  AND DATE_TRUNC(
    'MONTH',
    CAST(CASE
      WHEN "orders_1"."o_orderdate" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
      THEN "orders_1"."o_orderdate"
    END AS TIMESTAMP)
  ) = DATE_TRUNC(
    'MONTH',
    CAST(CASE
      WHEN "orders_0"."o_orderdate" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
      THEN "orders_0"."o_orderdate"
    END AS TIMESTAMP)
  ) + INTERVAL '1 MONTH'
GROUP BY
  1;

SELECT
  CAST("orders_0"."o_custkey" AS BIGINT) AS "o0",
  CAST("orders_0"."o_custkey" AS BIGINT) AS "v",
  MAX(CAST(1073741824 AS BIGINT)) AS "w0"
FROM "public"."orders" AS "orders_0"
LEFT JOIN "public"."orders" AS "orders_1"
  ON "orders_1"."o_orderstatus" = 'F'
  AND "orders_1"."o_custkey" = "orders_0"."o_custkey"
  AND DATE_TRUNC(
    'MONTH',
    CAST(CASE
      WHEN "orders_1"."o_orderdate" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
      THEN "orders_1"."o_orderdate"
    END AS TIMESTAMP)
  ) = DATE_TRUNC(
    'MONTH',
    CAST(CASE
      WHEN "orders_0"."o_orderdate" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
      THEN "orders_0"."o_orderdate"
    END AS TIMESTAMP)
  ) + INTERVAL '1 MONTH'
GROUP BY
  1,
  2;
