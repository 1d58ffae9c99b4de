SELECT
  CAST("posts_0"."owneruserid" AS BIGINT) AS "o0",
  CAST(LEAST(
    COUNT(CASE WHEN NOT (
      "posts_0"."acceptedanswerid" IS NULL
    ) THEN 1 END),
    4294967296
  ) * 1073741824 AS BIGINT) AS "w0",
  CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w1"
FROM "public"."posts" AS "posts_0"
WHERE
  "posts_0"."posttypeid" = 1
GROUP BY
  1;
