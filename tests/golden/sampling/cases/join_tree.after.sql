-- join tree
-- part 1.c0 = part 0.c0
-- a tuple shows part 0.c1, part 0.c0, part 1.c1, 1073741824
SELECT
  CAST("knows_0"."dst" AS BIGINT) AS "c0",
  CAST("knows_0"."src" AS BIGINT) AS "c1"
FROM "public"."knows" AS "knows_0";

SELECT
  CAST("knows_1"."src" AS BIGINT) AS "c0",
  CAST("knows_1"."dst" AS BIGINT) AS "c1"
FROM "public"."knows" AS "knows_1";
