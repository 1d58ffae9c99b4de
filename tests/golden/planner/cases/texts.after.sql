SELECT
  CAST("orders_0"."o_custkey" AS BIGINT) AS "o0",
  CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w0"
FROM "public"."orders" AS "orders_0"
WHERE
  (
    (
      SUBSTRING(COALESCE('/' || RPAD(CAST("orders_0"."o_orderpriority" AS TEXT), 15, ' '), '') || COALESCE('/' || RPAD(CAST("orders_0"."o_orderstatus" AS TEXT), 1, ' '), '') || COALESCE(
        '/' || CAST(CASE
          WHEN "orders_0"."o_orderdate" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
          THEN "orders_0"."o_orderdate"
        END AS TEXT),
        ''
      ) FROM 2) LIKE '1-URGENT%/F/1994%'
    )
    OR (
      (
        SPLIT_PART(CAST("orders_0"."o_orderpriority" AS TEXT), '-', 2) = 'HIGH'
      )
      AND (
        LPAD(CAST("orders_0"."o_orderkey" AS TEXT), 8, '0') < '00001000'
      )
    )
    OR (
      (
        COALESCE(LEFT(CAST("orders_0"."o_clerk" AS TEXT), 5), '') || COALESCE(CAST("orders_0"."o_shippriority" AS TEXT), '') = 'Clerk0'
      )
      AND (
        CAST(CASE
          WHEN "orders_0"."o_orderdate" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
          THEN "orders_0"."o_orderdate"
        END AS TEXT) > '1998'
      )
    )
    OR (
      REPLACE(CAST("orders_0"."o_clerk" AS TEXT), 'Clerk#', '') > '000000900'
    )
  )
GROUP BY
  1;
