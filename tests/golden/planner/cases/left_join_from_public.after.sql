SELECT
  CAST("customer_1"."c_custkey" AS BIGINT) AS "o0",
  CAST("nation_0"."n_name" AS TEXT) AS "k0",
  CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w0"
FROM "public"."nation" AS "nation_0"
INNER JOIN "public"."customer" AS "customer_1"
  ON "customer_1"."c_nationkey" = "nation_0"."n_nationkey"
WHERE
  "customer_1"."c_custkey" > 700
GROUP BY
  1,
  2;

SELECT
  CAST("customer_1"."c_custkey" AS BIGINT) AS "o0",
  CAST("nation_0"."n_name" AS TEXT) AS "k0",
  CAST("customer_1"."c_mktsegment" AS TEXT) AS "v",
  MAX(CAST(1073741824 AS BIGINT)) AS "w0"
FROM "public"."nation" AS "nation_0"
INNER JOIN "public"."customer" AS "customer_1"
  ON "customer_1"."c_nationkey" = "nation_0"."n_nationkey"
WHERE
  "customer_1"."c_custkey" > 700
GROUP BY
  1,
  2,
  3;

SELECT DISTINCT
  CAST("nation_0"."n_name" AS TEXT) AS "k0"
FROM "public"."nation" AS "nation_0"
ORDER BY
  1
LIMIT 100001;
