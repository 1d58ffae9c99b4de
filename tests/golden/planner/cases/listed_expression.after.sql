SELECT
  CAST("customer_0"."c_custkey" AS BIGINT) AS "o0",
  CAST(LEFT(CAST("customer_0"."c_phone" AS TEXT), 2) AS TEXT) AS "k0",
  CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w0"
FROM "public"."customer" AS "customer_0"
INNER JOIN "public"."orders" AS "orders_1"
  ON "customer_0"."c_custkey" = "orders_1"."o_custkey"
WHERE
  LEFT(CAST("customer_0"."c_phone" AS TEXT), 2) IN ('13', '31')
GROUP BY
  1,
  2;
