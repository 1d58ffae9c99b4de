SELECT
  CAST("posts_0"."owneruserid" AS BIGINT) AS "o0",
  CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w0"
FROM "public"."posts" AS "posts_0"
INNER JOIN "public"."posts" AS "posts_1"
  ON "posts_0"."id" = "posts_1"."parentid"
  AND "posts_0"."owneruserid" = "posts_1"."owneruserid"
GROUP BY
  1;
