SELECT
  CAST("orders_1"."o_custkey" AS BIGINT) AS "o0",
  CAST("orders_1"."o_orderpriority" AS TEXT) AS "k0",
  CAST("lineitem_0"."l_orderkey" AS BIGINT) AS "v",
  MAX(CAST(1073741824 AS BIGINT)) AS "w0"
FROM "public"."lineitem" AS "lineitem_0"
INNER JOIN "public"."orders" AS "orders_1"
  ON "lineitem_0"."l_orderkey" = "orders_1"."o_orderkey"
WHERE
  "orders_1"."o_orderpriority" IN ('1-URGENT', '5-LOW')
GROUP BY
  1,
  2,
  3;

SELECT
  CAST("orders_1"."o_custkey" AS BIGINT) AS "o0",
  CAST("orders_1"."o_orderpriority" AS TEXT) AS "k0",
  CAST("orders_1"."o_orderkey" AS BIGINT) AS "v",
  MAX(
    CAST(CASE WHEN "lineitem_0"."l_quantity" > 40 THEN 1073741824 ELSE 0 END AS BIGINT)
  ) AS "w0"
FROM "public"."lineitem" AS "lineitem_0"
INNER JOIN "public"."orders" AS "orders_1"
  ON "lineitem_0"."l_orderkey" = "orders_1"."o_orderkey"
WHERE
  "orders_1"."o_orderpriority" IN ('1-URGENT', '5-LOW')
GROUP BY
  1,
  2,
  3;

SELECT DISTINCT
  CAST("orders_1"."o_orderpriority" AS TEXT) AS "k0"
FROM (
  SELECT
    CAST("v0"."v" AS CHAR(15)) AS "o_orderpriority"
  FROM (VALUES
    ('1-URGENT'),
    ('5-LOW')) AS "v0"("v")
) AS "orders_1"
WHERE
  "orders_1"."o_orderpriority" IN ('1-URGENT', '5-LOW')
ORDER BY
  1
LIMIT 100001;
