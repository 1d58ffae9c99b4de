SELECT
  CAST("orders_0"."o_custkey" AS BIGINT) AS "o0",
  COALESCE(
    CAST(LENGTH(CAST("orders_0"."o_orderpriority" AS TEXT)) AS TEXT) || ':' || LEFT(CAST("orders_0"."o_orderpriority" AS TEXT), 1048576),
    '-'
  ) || COALESCE(
    CAST(LENGTH(CAST("orders_0"."o_clerk" AS TEXT)) AS TEXT) || ':' || LEFT(CAST("orders_0"."o_clerk" AS TEXT), 1048576),
    '-'
  ) AS "v",
  MAX(CAST(1073741824 AS BIGINT)) AS "w0"
FROM "public"."orders" AS "orders_0"
GROUP BY
  1,
  2;

SELECT
  CAST("orders_0"."o_custkey" AS BIGINT) AS "o0",
  CAST("orders_0"."o_clerk" AS TEXT) AS "v",
  MAX(CAST(1073741824 AS BIGINT)) AS "w0"
FROM "public"."orders" AS "orders_0"
GROUP BY
  1,
  2;
