SELECT
  CAST("posts_0"."owneruserid" AS BIGINT) AS "o0",
  CAST("posttypes_1"."name" AS TEXT) AS "k0",
  CAST(1073741824 AS BIGINT) AS "w0"
FROM "public"."posts" AS "posts_0"
INNER JOIN "public"."posttypes" AS "posttypes_1"
  ON "posts_0"."posttypeid" = "posttypes_1"."id";

SELECT DISTINCT
  CAST("posttypes_1"."name" AS TEXT) AS "k0"
FROM "public"."posttypes" AS "posttypes_1"
ORDER BY
  1
LIMIT 100001;
