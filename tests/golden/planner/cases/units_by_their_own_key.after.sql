SELECT
  CAST("customer_0"."c_custkey" AS BIGINT) AS "o0",
  CAST("nation_1"."n_name" AS TEXT) AS "k0",
  CAST(1073741824 AS BIGINT) AS "w0"
FROM "public"."customer" AS "customer_0"
INNER JOIN "public"."nation" AS "nation_1"
  ON "customer_0"."c_nationkey" = "nation_1"."n_nationkey";

SELECT DISTINCT
  CAST("nation_1"."n_name" AS TEXT) AS "k0"
FROM "public"."nation" AS "nation_1"
ORDER BY
  1
LIMIT 100001;
