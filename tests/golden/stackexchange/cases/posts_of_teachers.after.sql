SELECT
  CAST("posts_0"."owneruserid" AS BIGINT) AS "o0",
  CAST("posts_0"."posttypeid" AS BIGINT) AS "k0",
  CAST(LEAST(SUM(CAST(1073741824 AS BIGINT)), 4611686018427387904) AS BIGINT) AS "w0"
FROM "public"."posts" AS "posts_0"
INNER JOIN "public"."badges" AS "badges_1"
  ON "badges_1"."userid" = "posts_0"."owneruserid"
WHERE
  "badges_1"."name" = 'Teacher' AND "posts_0"."posttypeid" < 3
GROUP BY
  1,
  2;
