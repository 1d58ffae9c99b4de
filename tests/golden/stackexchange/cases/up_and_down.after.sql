SELECT
  CAST("votes_0"."userid" AS BIGINT) AS "o0",
  CAST("posts_1"."owneruserid" AS BIGINT) AS "o1",
  CAST(LEAST(COUNT(CASE WHEN "votes_0"."votetypeid" = 2 THEN 1 END), 4294967296) * 1073741824 AS BIGINT) AS "w0",
  CAST(LEAST(COUNT(CASE WHEN "votes_0"."votetypeid" = 3 THEN 1 END), 4294967296) * 1073741824 AS BIGINT) AS "w1"
FROM "public"."votes" AS "votes_0"
LEFT JOIN "public"."posts" AS "posts_1"
  ON "votes_0"."postid" = "posts_1"."id"
WHERE
  "votes_0"."creationdate" >= CAST('2016-01-01' AS DATE)
  AND "posts_1"."id" IS NOT NULL
GROUP BY
  1,
  2;
