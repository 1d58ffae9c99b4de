SELECT
  CAST("posts_0"."owneruserid" AS BIGINT) AS "o0",
  CAST("posts_0"."posttypeid" AS BIGINT) AS "k0",
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
                WHEN "posts_0"."score" BETWEEN -50 AND 500
                THEN "posts_0"."score"
                WHEN "posts_0"."score" < -50
                THEN -50
                WHEN "posts_0"."score" > 500
                THEN 500
              END AS DOUBLE PRECISION) * 2147483 + 0.5
            ),
            0
          )
        )
      ) AS BIGINT)
    ),
    4611686018427387904
  ) AS BIGINT) AS "w1",
  CAST(LEAST(
    SUM(
      CAST(GREATEST(
        0,
        LEAST(
          1073741824,
          COALESCE(
            FLOOR(
              CAST(CASE
                WHEN "posts_0"."score" BETWEEN -50 AND 500
                THEN "posts_0"."score"
                WHEN "posts_0"."score" < -50
                THEN -50
                WHEN "posts_0"."score" > 500
                THEN 500
              END AS DOUBLE PRECISION) * 2147483 + 0.5
            ),
            0
          )
        )
      ) AS BIGINT)
    ),
    4611686018427387904
  ) AS BIGINT) AS "w2",
  CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w3",
  CAST(LEAST(
    SUM(
      CAST(GREATEST(
        0,
        LEAST(
          1073741824,
          COALESCE(
            FLOOR(
              (
                -CAST(CASE
                  WHEN "posts_0"."score" BETWEEN -50 AND 500
                  THEN "posts_0"."score"
                  WHEN "posts_0"."score" < -50
                  THEN -50
                  WHEN "posts_0"."score" > 500
                  THEN 500
                END AS DOUBLE PRECISION)
              ) * 2147483 + 0.5
            ),
            0
          )
        )
      ) AS BIGINT)
    ),
    4611686018427387904
  ) AS BIGINT) AS "w4",
  CAST(LEAST(
    SUM(
      CAST(GREATEST(
        0,
        LEAST(
          1073741824,
          COALESCE(
            FLOOR(
              (
                -CAST(CASE
                  WHEN "posts_0"."score" BETWEEN -50 AND 500
                  THEN "posts_0"."score"
                  WHEN "posts_0"."score" < -50
                  THEN -50
                  WHEN "posts_0"."score" > 500
                  THEN 500
                END AS DOUBLE PRECISION)
              ) * 2147483 + 0.5
            ),
            0
          )
        )
      ) AS BIGINT)
    ),
    4611686018427387904
  ) AS BIGINT) AS "w5"
FROM "public"."posts" AS "posts_0"
WHERE
  "posts_0"."posttypeid" IN (1, 2)
GROUP BY
  1,
  2;

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
  "posts_0"."posttypeid" IN (1, 2)
ORDER BY
  1
LIMIT 100001;
