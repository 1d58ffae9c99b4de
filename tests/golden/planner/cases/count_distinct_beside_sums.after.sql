SELECT
  CAST("orders_0"."o_custkey" AS BIGINT) AS "o0",
  CAST("nation_2"."n_name" AS TEXT) AS "k0",
  CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w0"
FROM "public"."orders" AS "orders_0"
INNER JOIN "public"."customer" AS "customer_1"
  ON "customer_1"."c_custkey" = "orders_0"."o_custkey"
INNER JOIN "public"."nation" AS "nation_2"
  ON "customer_1"."c_nationkey" = "nation_2"."n_nationkey"
GROUP BY
  1,
  2;

SELECT
  CAST("orders_0"."o_custkey" AS BIGINT) AS "o0",
  CAST("nation_2"."n_name" AS TEXT) AS "k0",
  CAST("orders_0"."o_clerk" AS TEXT) AS "v",
  MAX(CAST(1073741824 AS BIGINT)) AS "w0"
FROM "public"."orders" AS "orders_0"
INNER JOIN "public"."customer" AS "customer_1"
  ON "customer_1"."c_custkey" = "orders_0"."o_custkey"
INNER JOIN "public"."nation" AS "nation_2"
  ON "customer_1"."c_nationkey" = "nation_2"."n_nationkey"
GROUP BY
  1,
  2,
  3;

SELECT
  CAST("orders_0"."o_custkey" AS BIGINT) AS "o0",
  CAST("nation_2"."n_name" AS TEXT) AS "k0",
  CAST("customer_1"."c_custkey" AS BIGINT) AS "v",
  MAX(
    CAST(CASE WHEN "orders_0"."o_orderpriority" = '1-URGENT' THEN 1073741824 ELSE 0 END AS BIGINT)
  ) AS "w0"
FROM "public"."orders" AS "orders_0"
INNER JOIN "public"."customer" AS "customer_1"
  ON "customer_1"."c_custkey" = "orders_0"."o_custkey"
INNER JOIN "public"."nation" AS "nation_2"
  ON "customer_1"."c_nationkey" = "nation_2"."n_nationkey"
GROUP BY
  1,
  2,
  3;

SELECT DISTINCT
  CAST("nation_2"."n_name" AS TEXT) AS "k0"
FROM "public"."nation" AS "nation_2"
ORDER BY
  1
LIMIT 100001;
