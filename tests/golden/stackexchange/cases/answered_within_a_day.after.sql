SELECT
  CAST("posts_0"."owneruserid" AS BIGINT) AS "o0",
  CAST("posts_1"."owneruserid" AS BIGINT) AS "o1",
  CAST(LEAST(
    COUNT(
      CASE
        WHEN "posts_1"."creationdate" < CASE
          WHEN "posts_0"."creationdate" BETWEEN CAST('0001-01-01' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
          THEN "posts_0"."creationdate"
        END + INTERVAL '1 DAY'
        THEN 1
      END
    ),
    4294967296
  ) * 1073741824 AS BIGINT) AS "w0",
  CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w1"
FROM "public"."posts" AS "posts_0"
INNER JOIN "public"."posts" AS "posts_1"
  ON "posts_0"."id" = "posts_1"."parentid"
GROUP BY
  1,
  2;
