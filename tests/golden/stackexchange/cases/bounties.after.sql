SELECT
  CAST("votes_0"."userid" AS BIGINT) AS "o0",
  CAST("posts_1"."owneruserid" AS BIGINT) AS "o1",
  CAST(LEAST(
    SUM(
      CAST(GREATEST(
        0,
        LEAST(
          1073741824,
          COALESCE(
            FLOOR(
              CAST(CASE
                WHEN "votes_0"."bountyamount" BETWEEN 0 AND 500
                THEN "votes_0"."bountyamount"
                WHEN "votes_0"."bountyamount" < 0
                THEN 0
                WHEN "votes_0"."bountyamount" > 500
                THEN 500
              END AS DOUBLE PRECISION) * 2147483 + 0.5
            ),
            0
          )
        )
      ) AS BIGINT)
    ),
    4611686018427387904
  ) AS BIGINT) AS "w0",
  CAST(LEAST(COUNT(CASE WHEN NOT (
    "votes_0"."bountyamount" IS NULL
  ) THEN 1 END), 4294967296) * 1073741824 AS BIGINT) AS "w1"
FROM "public"."votes" AS "votes_0"
LEFT JOIN "public"."posts" AS "posts_1"
  ON "votes_0"."postid" = "posts_1"."id"
WHERE
  "votes_0"."votetypeid" = 8 AND "posts_1"."id" IS NOT NULL
GROUP BY
  1,
  2;
