SELECT
  CAST("customer_0"."c_custkey" AS BIGINT) AS "o0",
  CAST("nation_2"."n_name" AS TEXT) AS "k0",
  CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w0"
FROM "public"."customer" AS "customer_0"
INNER JOIN "public"."nation" AS "nation_2"
  ON "customer_0"."c_nationkey" = "nation_2"."n_nationkey"
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM "public"."orders" AS "orders_1_none"
    WHERE
      "customer_0"."c_custkey" = "orders_1_none"."o_custkey"
      AND "orders_1_none"."o_orderstatus" = 'O'
  )
GROUP BY
  1,
  2;

SELECT DISTINCT
  CAST("nation_2"."n_name" AS TEXT) AS "k0"
FROM "public"."nation" AS "nation_2"
ORDER BY
  1
LIMIT 100001;
