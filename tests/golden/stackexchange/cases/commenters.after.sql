SELECT
  CAST("posts_1"."owneruserid" AS BIGINT) AS "o0",
  CAST("comments_0"."userid" AS BIGINT) AS "o1",
  CAST("comments_0"."userid" AS BIGINT) AS "v",
  MAX(
    CAST(CASE WHEN NOT (
      "comments_0"."userid" IS NULL
    ) THEN 1073741824 ELSE 0 END AS BIGINT)
  ) AS "w0"
FROM "public"."comments" AS "comments_0"
LEFT JOIN "public"."posts" AS "posts_1"
  ON "comments_0"."postid" = "posts_1"."id"
WHERE
  "posts_1"."id" IS NOT NULL
GROUP BY
  1,
  2,
  3;
