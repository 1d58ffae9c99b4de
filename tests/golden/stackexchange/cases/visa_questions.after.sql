SELECT
  CAST("posts_0"."owneruserid" AS BIGINT) AS "o0",
  CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w0",
  CAST(LEAST(COUNT(CASE WHEN NOT (
    "posts_0"."viewcount" IS NULL
  ) THEN 1 END), 4294967296) * 1073741824 AS BIGINT) AS "w1",
  CAST(LEAST(
    SUM(
      CAST(GREATEST(
        0,
        LEAST(
          1073741824,
          COALESCE(
            FLOOR(
              CAST(CASE
                WHEN "posts_0"."viewcount" BETWEEN 0 AND 300000
                THEN "posts_0"."viewcount"
                WHEN "posts_0"."viewcount" < 0
                THEN 0
                WHEN "posts_0"."viewcount" > 300000
                THEN 300000
              END AS DOUBLE PRECISION) * 3579 + 0.5
            ),
            0
          )
        )
      ) AS BIGINT)
    ),
    4611686018427387904
  ) AS BIGINT) AS "w2",
  CAST(LEAST(
    SUM(
      CAST(GREATEST(
        0,
        LEAST(
          1073741824,
          COALESCE(
            FLOOR(
              CAST(CASE
                WHEN "posts_0"."viewcount" BETWEEN 0 AND 300000
                THEN "posts_0"."viewcount"
                WHEN "posts_0"."viewcount" < 0
                THEN 0
                WHEN "posts_0"."viewcount" > 300000
                THEN 300000
              END AS DOUBLE PRECISION) * 3579 + 0.5
            ),
            0
          )
        )
      ) AS BIGINT)
    ),
    4611686018427387904
  ) AS BIGINT) AS "w3"
FROM "public"."posts" AS "posts_0"
WHERE
  "posts_0"."closeddate" IS NULL AND "posts_0"."title" LIKE '%visa%'
GROUP BY
  1;
