SELECT
  CAST("posts_1"."owneruserid" AS BIGINT) AS "o0",
  CAST("comments_0"."userid" AS BIGINT) AS "o1",
  CAST(DATE_TRUNC(
    'MONTH',
    CASE
      WHEN "comments_0"."creationdate" BETWEEN CAST('2011-01-01' AS TIMESTAMP) AND CAST('2017-12-31 23:59:59.999999' AS TIMESTAMP)
      THEN "comments_0"."creationdate"
    END
  ) AS TEXT) AS "k0",
  CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w0"
FROM "public"."comments" AS "comments_0"
LEFT JOIN "public"."posts" AS "posts_1"
  ON "comments_0"."postid" = "posts_1"."id"
WHERE
  "comments_0"."creationdate" >= CAST('2016-01-01 00:00:00' AS TIMESTAMP)
  AND "comments_0"."creationdate" < CAST('2017-01-01 00:00:00' AS TIMESTAMP)
  AND "posts_1"."id" IS NOT NULL
GROUP BY
  1,
  2,
  3;

SELECT DISTINCT
  CAST(DATE_TRUNC(
    'MONTH',
    CASE
      WHEN "comments_0"."creationdate" BETWEEN CAST('2011-01-01' AS TIMESTAMP) AND CAST('2017-12-31 23:59:59.999999' AS TIMESTAMP)
      THEN "comments_0"."creationdate"
    END
  ) AS TEXT) AS "k0"
FROM (
  SELECT
    CAST('2016-01-01' AS TIMESTAMP) + "v0"."v" * INTERVAL '1 DAY' AS "creationdate"
  FROM (
    SELECT
      "s"."v"
    FROM GENERATE_SERIES(0, 365) AS "s"("v")
  ) AS "v0"("v")
) AS "comments_0"
ORDER BY
  1
LIMIT 100001;
