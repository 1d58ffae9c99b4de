SELECT
  CAST("posts_0"."owneruserid" AS BIGINT) AS "o0",
  CAST(EXTRACT(YEAR FROM CASE
    WHEN "posts_0"."creationdate" BETWEEN CAST('2011-01-01' AS TIMESTAMP) AND CAST('2017-12-31 23:59:59.999999' AS TIMESTAMP)
    THEN "posts_0"."creationdate"
  END) AS BIGINT) AS "k0",
  CAST(1073741824 AS BIGINT) AS "w0"
FROM "public"."posts" AS "posts_0"
WHERE
  "posts_0"."posttypeid" = 1
  AND (
    "posts_0"."creationdate" BETWEEN CAST('2011-01-01 00:00:00' AS TIMESTAMP) AND CAST('2017-12-31 23:59:59.999999' AS TIMESTAMP)
    OR "posts_0"."creationdate" IS NULL
  );

SELECT DISTINCT
  CAST(EXTRACT(YEAR FROM CASE
    WHEN "posts_0"."creationdate" BETWEEN CAST('2011-01-01' AS TIMESTAMP) AND CAST('2017-12-31 23:59:59.999999' AS TIMESTAMP)
    THEN "posts_0"."creationdate"
  END) AS BIGINT) AS "k0"
FROM (
  SELECT
    CAST('2011-01-01' AS TIMESTAMP) + "v0"."v" * INTERVAL '1 DAY' AS "creationdate"
  FROM (
    SELECT
      "s"."v"
    FROM GENERATE_SERIES(0, 2556) AS "s"("v")
  ) AS "v0"("v")
) AS "posts_0"
ORDER BY
  1
LIMIT 100001;
