SELECT
  CAST("posts_0"."owneruserid" AS BIGINT) AS "o0",
  CAST("posts_0"."posttypeid" AS BIGINT) AS "k0",
  CAST(1073741824 AS BIGINT) AS "w0"
FROM "public"."posts" AS "posts_0"
INNER JOIN "public"."badges" AS "badges_1"
  ON "badges_1"."userid" = "posts_0"."owneruserid"
WHERE
  "badges_1"."name" = 'Teacher' AND "posts_0"."posttypeid" < 3;

SELECT DISTINCT
  CAST("posts_0"."posttypeid" AS BIGINT) AS "k0"
FROM (
  SELECT
    CAST("v0"."v" AS BIGINT) AS "posttypeid"
  FROM (VALUES
    (1),
    (2),
    (3),
    (4),
    (5),
    (6),
    (7),
    (8)) AS "v0"("v")
) AS "posts_0"
WHERE
  "posts_0"."posttypeid" < 3
ORDER BY
  1
LIMIT 100001;
