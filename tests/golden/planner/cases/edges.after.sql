SELECT
  CAST("knows_0"."src" AS BIGINT) AS "o0",
  CAST("knows_0"."dst" AS BIGINT) AS "o1",
  CAST(1073741824 AS BIGINT) AS "w0"
FROM "public"."knows" AS "knows_0"
INNER JOIN "public"."customer" AS "customer_1"
  ON "customer_1"."c_custkey" = "knows_0"."src"
INNER JOIN "public"."customer" AS "customer_2"
  ON "customer_2"."c_custkey" = "knows_0"."dst";
