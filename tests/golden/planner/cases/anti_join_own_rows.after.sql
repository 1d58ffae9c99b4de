SELECT
  CAST("customer_0"."c_custkey" AS BIGINT) AS "o0",
  CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w0"
FROM "public"."customer" AS "customer_0"
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM "public"."orders" AS "orders_0_s0"
    WHERE
      "customer_0"."c_custkey" = "orders_0_s0"."o_custkey"
      AND "orders_0_s0"."o_orderstatus" = 'O'
  )
  AND NOT EXISTS(
    SELECT
      1
    FROM "public"."orders" AS "orders_0_s1"
    WHERE
      "customer_0"."c_custkey" = "orders_0_s1"."o_custkey"
      AND "orders_0_s1"."o_totalprice" > 300000
  )
GROUP BY
  1;
