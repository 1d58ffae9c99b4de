SELECT
  CAST("posts_0"."owneruserid" AS BIGINT) AS "o0",
  CAST("posts_1"."owneruserid" AS BIGINT) AS "o1",
  CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w0"
FROM "public"."posts" AS "posts_0"
INNER JOIN "public"."posts" AS "posts_1"
  ON "posts_0"."id" = "posts_1"."parentid"
INNER JOIN "public"."posts" AS "posts_2"
  ON "posts_1"."owneruserid" = "posts_2"."owneruserid"
  AND "posts_0"."owneruserid" < "posts_2"."owneruserid"
INNER JOIN "public"."posts" AS "posts_3"
  ON "posts_0"."owneruserid" = "posts_3"."owneruserid"
  AND "posts_2"."id" = "posts_3"."parentid"
GROUP BY
  1,
  2;
