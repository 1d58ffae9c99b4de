SELECT
  CAST("comments_0"."userid" AS BIGINT) AS "o0",
  CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w0"
FROM "public"."comments" AS "comments_0"
INNER JOIN "public"."posts" AS "posts_1"
  ON "comments_0"."postid" = "posts_1"."id"
  AND "comments_0"."userid" = "posts_1"."owneruserid"
GROUP BY
  1;
