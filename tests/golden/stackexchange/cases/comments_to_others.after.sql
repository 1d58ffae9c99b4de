SELECT
  CAST("comments_0"."userid" AS BIGINT) AS "o0",
  CAST("posts_1"."owneruserid" AS BIGINT) AS "o1",
  CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w0",
  CAST(LEAST(
    SUM(
      CAST(GREATEST(
        0,
        LEAST(
          1073741824,
          COALESCE(
            FLOOR(
              CAST(CASE
                WHEN "comments_0"."score" BETWEEN 0 AND 200
                THEN "comments_0"."score"
                WHEN "comments_0"."score" < 0
                THEN 0
                WHEN "comments_0"."score" > 200
                THEN 200
              END AS DOUBLE PRECISION) * 5368709 + 0.5
            ),
            0
          )
        )
      ) AS BIGINT)
    ),
    4611686018427387904
  ) AS BIGINT) AS "w1"
FROM "public"."comments" AS "comments_0"
INNER JOIN "public"."posts" AS "posts_1"
  ON "comments_0"."postid" = "posts_1"."id"
  AND "comments_0"."userid" <> "posts_1"."owneruserid"
GROUP BY
  1,
  2;
