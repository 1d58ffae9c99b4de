SELECT
  CAST("users_0"."id" AS BIGINT) AS "o0",
  CAST(1073741824 AS BIGINT) AS "w0",
  CAST(GREATEST(
    0,
    LEAST(
      1073741824,
      COALESCE(
        FLOOR(
          CAST(CASE
            WHEN "users_0"."reputation" BETWEEN 0 AND 100000
            THEN "users_0"."reputation"
            WHEN "users_0"."reputation" < 0
            THEN 0
            WHEN "users_0"."reputation" > 100000
            THEN 100000
          END AS DOUBLE PRECISION) * 10737 + 0.5
        ),
        0
      )
    )
  ) AS BIGINT) AS "w1",
  CAST(GREATEST(
    0,
    LEAST(
      1073741824,
      COALESCE(
        FLOOR(
          CAST(CASE
            WHEN "users_0"."reputation" BETWEEN 0 AND 100000
            THEN "users_0"."reputation"
            WHEN "users_0"."reputation" < 0
            THEN 0
            WHEN "users_0"."reputation" > 100000
            THEN 100000
          END AS DOUBLE PRECISION) * 10737 + 0.5
        ),
        0
      )
    )
  ) AS BIGINT) AS "w2",
  CAST(1073741824 AS BIGINT) AS "w3"
FROM "public"."users" AS "users_0"
WHERE
  "users_0"."age" BETWEEN 20 AND 29;
