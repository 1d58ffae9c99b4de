SELECT
  CAST("orders_0"."o_custkey" AS BIGINT) AS "o0",
  CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w0"
FROM "public"."orders" AS "orders_0"
WHERE
  NOT (
    (
      "orders_0"."o_orderpriority" ILIKE '1-%'
    )
    OR (
      "orders_0"."o_orderpriority" ILIKE '2-%'
    )
  )
  AND (
    (
      "orders_0"."o_comment" LIKE '%special%requests'
    )
    OR (
      "orders_0"."o_comment" LIKE '%pending%requests'
    )
  )
  AND (
    (
      "orders_0"."o_comment" LIKE '%the_final%'
    )
    OR (
      "orders_0"."o_comment" LIKE '%the_bold%'
    )
  )
GROUP BY
  1;
