SELECT
  CAST("t_0"."k3" AS BIGINT) AS "o0",
  CAST("t_0"."k1" AS TEXT) AS "k0",
  CAST("t_0"."a4" AS BIGINT) AS "k1",
  CAST(1073741824 AS BIGINT) AS "w0"
FROM (
  SELECT
    "nation_2"."n_name" AS "k1",
    "orders_1"."o_totalprice" AS "k2",
    "customer_0"."c_custkey" AS "k3",
    NTILE(2) OVER (
      PARTITION BY "customer_0"."c_custkey"
      ORDER BY "orders_1"."o_totalprice", "orders_1"."o_orderkey", "customer_0"."c_custkey" ASC, "orders_1"."o_orderkey" ASC, "nation_2"."n_nationkey" ASC, "customer_0"."c_custkey" ASC, "orders_1"."o_orderkey" ASC, "nation_2"."n_nationkey" ASC
    ) AS "a4",
    COUNT(*) OVER (
      PARTITION BY "customer_0"."c_custkey"
      ORDER BY CASE
        WHEN "orders_1"."o_orderdate" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
        THEN "orders_1"."o_orderdate"
      END
      RANGE BETWEEN INTERVAL '90 DAYS' PRECEDING AND CURRENT ROW
    ) AS "a5",
    "orders_1"."o_orderkey" AS "r1",
    "nation_2"."n_nationkey" AS "r2"
  FROM "public"."customer" AS "customer_0"
  INNER JOIN "public"."orders" AS "orders_1"
    ON "customer_0"."c_custkey" = "orders_1"."o_custkey"
  INNER JOIN "public"."nation" AS "nation_2"
    ON "customer_0"."c_nationkey" = "nation_2"."n_nationkey"
) AS "t_0"
WHERE
  "t_0"."a5" > 1;

SELECT DISTINCT
  CAST("i0"."n_name" AS TEXT) AS "k0"
FROM "public"."nation" AS "i0"
ORDER BY
  1
LIMIT 100001;
