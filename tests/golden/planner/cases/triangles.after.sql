SELECT
  CAST("knows_0"."src" AS BIGINT) AS "o0",
  CAST("knows_0"."dst" AS BIGINT) AS "o1",
  CAST("knows_1"."dst" AS BIGINT) AS "o2",
  CAST(1073741824 AS BIGINT) AS "w0"
FROM "public"."knows" AS "knows_0"
INNER JOIN "public"."knows" AS "knows_1"
  ON "knows_0"."dst" = "knows_1"."src"
INNER JOIN "public"."knows" AS "knows_2"
  ON "knows_0"."src" = "knows_2"."src" AND "knows_1"."dst" = "knows_2"."dst";
