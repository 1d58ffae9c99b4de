SELECT
  CAST("posts_0"."owneruserid" AS BIGINT) AS "o0",
  CAST(LEAST(
    SUM(
      CAST(CASE WHEN NOT (
        "posts_0"."acceptedanswerid" IS NULL
      ) THEN 1073741824 ELSE 0 END AS BIGINT)
    ),
    4611686018427387904
  ) AS BIGINT) AS "w0",
  CAST(LEAST(SUM(CAST(1073741824 AS BIGINT)), 4611686018427387904) AS BIGINT) AS "w1"
FROM "public"."posts" AS "posts_0"
WHERE
  "posts_0"."posttypeid" = 1
GROUP BY
  1;
