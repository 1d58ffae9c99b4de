SELECT
  CAST("t_0"."k1" AS BIGINT) AS "o0",
  CAST(1073741824 AS BIGINT) AS "w0",
  CAST(GREATEST(
    0,
    LEAST(
      1073741824,
      COALESCE(
        FLOOR(
          CAST(CASE
            WHEN "t_0"."a2" BETWEEN 2 AND 524288
            THEN "t_0"."a2"
            WHEN "t_0"."a2" < 2
            THEN 2
            WHEN "t_0"."a2" > 524288
            THEN 524288
          END AS DOUBLE PRECISION) * 2048 + 0.5
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
            WHEN "t_0"."a2" BETWEEN 2 AND 524288
            THEN "t_0"."a2"
            WHEN "t_0"."a2" < 2
            THEN 2
            WHEN "t_0"."a2" > 524288
            THEN 524288
          END AS DOUBLE PRECISION) * 2048 + 0.5
        ),
        0
      )
    )
  ) AS BIGINT) AS "w2",
  CAST(1073741824 AS BIGINT) AS "w3"
FROM (
  SELECT
    "orders_0"."o_custkey" AS "k1",
    COUNT(*) AS "a2"
  FROM "public"."orders" AS "orders_0"
  GROUP BY
    1
) AS "t_0"
WHERE
  "t_0"."a2" > 1;
