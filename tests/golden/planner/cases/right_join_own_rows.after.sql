SELECT
  CAST("customer_0"."c_custkey" AS BIGINT) AS "o0",
  CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w0",
  CAST(LEAST(COUNT(CASE WHEN NOT (
    "orders_1"."o_orderkey" IS NULL
  ) THEN 1 END), 4294967296) * 1073741824 AS BIGINT) AS "w1"
FROM "public"."customer" AS "customer_0"
LEFT JOIN "public"."orders" AS "orders_1"
  ON "orders_1"."o_custkey" = "customer_0"."c_custkey"
WHERE
  "orders_1"."o_orderkey" IS NULL
GROUP BY
  1;

SELECT
  CAST("customer_0"."c_custkey" AS BIGINT) AS "o0",
  CAST("customer_0"."c_nationkey" AS BIGINT) AS "v",
  MAX(CAST(1073741824 AS BIGINT)) AS "w0"
FROM "public"."customer" AS "customer_0"
LEFT JOIN "public"."orders" AS "orders_1"
  ON "orders_1"."o_custkey" = "customer_0"."c_custkey"
WHERE
  "orders_1"."o_orderkey" IS NULL
GROUP BY
  1,
  2;
