SELECT
  CAST("orders_0"."o_custkey" AS BIGINT) AS "o0",
  CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w0"
FROM "public"."orders" AS "orders_0"
WHERE
  "orders_0"."o_orderdate" >= CAST('1994-01-01' AS DATE)
  AND "orders_0"."o_clerk" IS NOT NULL
  AND "orders_0"."o_orderdate" < CAST('1994-02-28' AS DATE)
  AND NOT (
    (
      "orders_0"."o_totalprice" * 2
    ) - 1 BETWEEN 100 AND 1000.5
  )
  AND (
    (
      "orders_0"."o_comment" NOT LIKE '%special%'
    )
    OR (
      "orders_0"."o_orderpriority" IN ('1-URGENT', '2-HIGH')
    )
  )
GROUP BY
  1;
